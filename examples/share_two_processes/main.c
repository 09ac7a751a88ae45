// SPDX-License-Identifier: Apache-2.0
// Memory of one process, used by another: export, whitelist, import, write there, read at home.
//
// The program starts itself a second time for the other side. They speak through two pipes, as two programs
// of one's own would through a socket: the number of the shared memory goes one way, pids and "done" the
// other.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acl/acl.h"

#define SIZE ((size_t)2 << 20)

static const char* me = "home  ";

static void check(aclError code, const char* call) {
  if (code == ACL_SUCCESS) return;
  fprintf(stderr, "%s: %s failed with %d: %s\n", me, call, code, aclGetRecentErrMsg());
  exit(1);
}
#define CHECK(call) check(call, #call)

static void give(int fd, const void* bytes, size_t size) {
  if (write(fd, bytes, size) != (ssize_t)size) exit(1);
}
static void take(int fd, void* bytes, size_t size) {
  if (read(fd, bytes, size) != (ssize_t)size) exit(1);
}

// An address for physical memory, whoever allocated it.
static void* map(aclrtDrvMemHandle memory) {
  void* range = NULL;
  CHECK(aclrtReserveMemAddress(&range, SIZE, 0, NULL, 1));
  CHECK(aclrtMapMem(range, SIZE, 0, memory, 0));
  return range;
}

static void unmap(void* range, aclrtDrvMemHandle memory) {
  CHECK(aclrtUnmapMem(range));
  CHECK(aclrtFreePhysical(memory));
  CHECK(aclrtReleaseMemAddress(range));
}

static int guest(int from_home, int to_home) {
  me = "guest ";
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  int32_t pid = 0;
  CHECK(aclrtDeviceGetBareTgid(&pid));
  give(to_home, &pid, sizeof pid);

  uint64_t number = 0;
  take(from_home, &number, sizeof number);
  aclrtDrvMemHandle memory = NULL;
  CHECK(aclrtMemImportFromShareableHandle(number, 0, &memory));
  void* range = map(memory);
  char text[64];
  CHECK(aclrtMemcpy(text, sizeof text, range, sizeof text, ACL_MEMCPY_DEVICE_TO_HOST));
  printf("%s: pid %d imported the memory and reads:  \"%s\"\n", me, pid, text);
  snprintf(text, sizeof text, "Thank you, from pid %d.", pid);
  CHECK(aclrtMemcpy(range, SIZE, text, sizeof text, ACL_MEMCPY_HOST_TO_DEVICE));
  unmap(range, memory);
  fflush(stdout);
  give(to_home, "d", 1);
  CHECK(aclFinalize());
  return 0;
}

static int home(int from_guest, int to_guest) {
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  aclrtPhysicalMemProp prop;
  memset(&prop, 0, sizeof prop);
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  aclrtDrvMemHandle memory = NULL;
  CHECK(aclrtMallocPhysical(&memory, SIZE, &prop, 0));
  void* range = map(memory);
  char text[64] = "Please write here.";
  CHECK(aclrtMemcpy(range, SIZE, text, sizeof text, ACL_MEMCPY_HOST_TO_DEVICE));

  uint64_t number = 0;
  CHECK(aclrtMemExportToShareableHandle(memory, ACL_MEM_HANDLE_TYPE_NONE, 0, &number));
  int32_t guest_pid = 0;
  take(from_guest, &guest_pid, sizeof guest_pid);
  // Only processes on the list may import, whoever knows the number.
  CHECK(aclrtMemSetPidToShareableHandle(number, &guest_pid, 1));
  printf("%s: pid %d exported 2 MiB and lets pid %d import them\n", me, (int)getpid(), guest_pid);
  fflush(stdout);
  give(to_guest, &number, sizeof number);

  char done = 0;
  take(from_guest, &done, 1);
  CHECK(aclrtMemcpy(text, sizeof text, range, sizeof text, ACL_MEMCPY_DEVICE_TO_HOST));
  printf("%s: reads what the other process wrote:  \"%s\"\n", me, text);
  char expected[64];
  snprintf(expected, sizeof expected, "Thank you, from pid %d.", guest_pid);
  unmap(range, memory);
  CHECK(aclFinalize());
  return strcmp(text, expected) == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "guest") == 0) return guest(atoi(argv[2]), atoi(argv[3]));
  int there[2];
  int back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return 1;
  // A process of its own, not just a fork: what a forked child inherits of a device means nothing to it.
  const pid_t child = fork();
  if (child == 0) {
    char read_end[16];
    char write_end[16];
    snprintf(read_end, sizeof read_end, "%d", there[0]);
    snprintf(write_end, sizeof write_end, "%d", back[1]);
    close(there[1]);
    close(back[0]);
    execl("/proc/self/exe", argv[0], "guest", read_end, write_end, (char*)NULL);
    _exit(127);
  }
  close(there[0]);
  close(back[1]);
  const int result = home(back[0], there[1]);
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return 1;
  return result;
}
