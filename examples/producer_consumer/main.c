// SPDX-License-Identifier: Apache-2.0
// A producer and a consumer in two processes, with a ring of slots in device memory between them.
//
// The consumer imports the ring by its IPC key. Only slot numbers go through the pipes: the data never leaves
// the device.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acl/acl.h"

#define SLOTS 4
#define SLOT_BYTES ((size_t)64 << 10)
#define MESSAGES 100
#define KEY_BYTES 65

#define CHECK_ACL(call)                                                                               \
  do {                                                                                                \
    const aclError code_ = (call);                                                                    \
    if (code_ != ACL_SUCCESS) {                                                                       \
      fprintf(stderr, "[ERROR] pid %d %s:%d %s: %d %s\n", getpid(), __FILE__, __LINE__, #call, code_, \
              aclGetRecentErrMsg());                                                                  \
      exit(1);                                                                                        \
    }                                                                                                 \
  } while (0)

static void give(int fd, const void* bytes, size_t size) {
  if (write(fd, bytes, size) != (ssize_t)size) exit(1);
}
static void take(int fd, void* bytes, size_t size) {
  if (read(fd, bytes, size) != (ssize_t)size) exit(1);
}

static void fill(uint8_t* data, int message) {
  for (size_t i = 0; i < SLOT_BYTES; ++i) data[i] = (uint8_t)(message * 13 + (int)(i * 7));
}

static int consume(int from_producer, int to_producer) {
  CHECK_ACL(aclInit(NULL));
  CHECK_ACL(aclrtSetDevice(0));
  int32_t pid = 0;
  CHECK_ACL(aclrtDeviceGetBareTgid(&pid));
  give(to_producer, &pid, sizeof pid);
  char key[KEY_BYTES];
  take(from_producer, key, sizeof key);
  void* ring = NULL;
  CHECK_ACL(aclrtIpcMemImportByKey(&ring, key, 0));
  uint8_t* data = malloc(SLOT_BYTES);
  uint8_t* expected = malloc(SLOT_BYTES);
  for (int message = 0; message < MESSAGES; ++message) {
    int slot = 0;
    take(from_producer, &slot, sizeof slot);
    CHECK_ACL(aclrtMemcpy(data, SLOT_BYTES, (char*)ring + (size_t)slot * SLOT_BYTES, SLOT_BYTES,
                          ACL_MEMCPY_DEVICE_TO_HOST));
    fill(expected, message);
    if (memcmp(data, expected, SLOT_BYTES) != 0) {
      fprintf(stderr, "[ERROR] message %d in slot %d is not what was produced\n", message, slot);
      return 1;
    }
    give(to_producer, &slot, sizeof slot);
  }
  free(data);
  free(expected);
  CHECK_ACL(aclrtIpcMemClose(key));
  CHECK_ACL(aclrtResetDevice(0));
  CHECK_ACL(aclFinalize());
  return 0;
}

static int produce(int from_consumer, int to_consumer) {
  CHECK_ACL(aclInit(NULL));
  CHECK_ACL(aclrtSetDevice(0));
  void* ring = NULL;
  CHECK_ACL(aclrtMalloc(&ring, SLOTS * SLOT_BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
  char key[KEY_BYTES];
  CHECK_ACL(
      aclrtIpcMemGetExportKey(ring, SLOTS * SLOT_BYTES, key, sizeof key, ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT));
  int32_t pid = 0;
  take(from_consumer, &pid, sizeof pid);
  CHECK_ACL(aclrtIpcMemSetImportPid(key, &pid, 1));
  give(to_consumer, key, sizeof key);

  uint8_t* data = malloc(SLOT_BYTES);
  for (int message = 0; message < MESSAGES; ++message) {
    int slot = message;
    if (message >= SLOTS) take(from_consumer, &slot, sizeof slot);  // the one that has become free
    fill(data, message);
    CHECK_ACL(aclrtMemcpy((char*)ring + (size_t)slot * SLOT_BYTES, SLOT_BYTES, data, SLOT_BYTES,
                          ACL_MEMCPY_HOST_TO_DEVICE));
    give(to_consumer, &slot, sizeof slot);
  }
  for (int left = 0; left < SLOTS; ++left) {
    int slot = 0;
    take(from_consumer, &slot, sizeof slot);
  }
  free(data);
  int status = 0;
  wait(&status);  // importers close first
  CHECK_ACL(aclrtIpcMemClose(key));
  CHECK_ACL(aclrtFree(ring));
  CHECK_ACL(aclrtResetDevice(0));
  CHECK_ACL(aclFinalize());
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 1;
  printf("%d messages of %zu bytes went through %d slots\n", MESSAGES, SLOT_BYTES, SLOTS);
  return 0;
}

int main(void) {
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return 1;
  // Before the first ACL call: a device does not survive a fork.
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    close(there[1]);
    close(back[0]);
    return consume(there[0], back[1]);
  }
  close(there[0]);
  close(back[1]);
  return produce(back[0], there[1]);
}
