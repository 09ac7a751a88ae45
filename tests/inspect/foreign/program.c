// SPDX-License-Identifier: Apache-2.0
// A program that knows ACL from its own declarations, and runs over whichever library it finds. "plain" is
// the same over every one; "files" says what is loaded; "odd" uses what only the foreign one has; "child"
// starts another program, which has nothing to do with ACL.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int aclInit(const char*);
int aclFinalize(void);
int aclrtSetDevice(int);
int aclrtResetDevice(int);
int aclrtCreateStream(void**);
int aclrtDestroyStream(void*);
int aclrtCreateEvent(void**);
int aclrtDestroyEvent(void*);
int aclrtRecordEvent(void*, void*);
int aclrtSynchronizeStream(void*);
int aclrtMalloc(void**, size_t, int);
int aclrtFree(void*);
int aclrtMemcpy(void*, size_t, const void*, size_t, int);
int aclrtMemcpyAsync(void*, size_t, const void*, size_t, int, void*);

static void need(int code, int line) {
  if (code == 0) return;
  fprintf(stderr, "line %d: %d\n", line, code);
  exit(97);
}
#define NEED(call) need(call, __LINE__)

// The files that the process has mapped whose name says Plat.
static void tell_files(void) {
  FILE* const maps = fopen("/proc/self/maps", "r");
  char line[4096];
  while (fgets(line, sizeof line, maps) != NULL)
    if (strstr(line, "r-xp") != NULL &&
        (strstr(line, "libplat") != NULL || strstr(line, "libascendcl") != NULL))
      printf("file %s", strchr(line, '/'));
  fclose(maps);
}

int main(int count, char** words) {
  const char* const how = count > 1 ? words[1] : "plain";
  static char host[8192];
  void *stream, *event, *first, *second, *lost;
  const int policy = strcmp(how, "odd") == 0 ? 4242 : 0, there = strcmp(how, "odd") == 0 ? 77 : 1;
  NEED(aclInit(NULL));
  NEED(aclrtSetDevice(0));
  NEED(aclrtCreateStream(&stream));
  NEED(aclrtCreateEvent(&event));
  NEED(aclrtMalloc(&first, 4096, policy));
  NEED(aclrtMalloc(&second, 3 << 20, policy));
  NEED(aclrtMemcpy(first, 4096, host, 4096, there));
  NEED(aclrtMemcpyAsync(second, 4096, first, 4096, 3, stream));
  NEED(aclrtRecordEvent(event, stream));
  NEED(aclrtSynchronizeStream(stream));
  NEED(aclrtMemcpy(host, 4096, second, 4096, 2));
  NEED(aclrtMalloc(&lost, 1000, policy));
  if (strcmp(how, "odd") == 0) {
    int (*const only)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "aclrtForeignOnly");
    if (only == NULL || only(6) != 7) return 97;
    if (aclrtSetDevice(9) != 990001) return 97;  // its own number comes through
  }
  if (strcmp(how, "child") == 0 && system(words[2]) != 0) return 97;
  NEED(aclrtFree(first));
  NEED(aclrtFree(second));
  NEED(aclrtDestroyEvent(event));
  NEED(aclrtDestroyStream(stream));
  if (strcmp(how, "files") == 0) tell_files();
  return 0;
}
