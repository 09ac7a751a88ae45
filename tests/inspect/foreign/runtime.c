// SPDX-License-Identifier: Apache-2.0
// libacl_rt.so of somebody else: the calls of memory and streams, over plain host memory. It shares no header
// and no habit with Plat: handles are pointers into the middle of nothing, and its errors have numbers of
// their own.
#include <stdlib.h>
#include <string.h>

enum { FOREIGN_NOT_MINE = 990001 };

struct thing {
  int kind;
};
static int make(void** out, int kind) {
  struct thing* const made = malloc(sizeof *made);
  made->kind = kind;
  *out = (char*)made + 1;  // nobody else may look inside
  return 0;
}
static int unmake(void* handle, int kind) {
  struct thing* const made = (struct thing*)((char*)handle - 1);
  if (made->kind != kind) return FOREIGN_NOT_MINE;
  made->kind = 0;
  free(made);
  return 0;
}

int aclrtSetDevice(int device) { return device == 0 ? 0 : FOREIGN_NOT_MINE; }
int aclrtResetDevice(int device) { return device == 0 ? 0 : FOREIGN_NOT_MINE; }
int aclrtCreateStream(void** stream) { return make(stream, 1); }
int aclrtDestroyStream(void* stream) { return unmake(stream, 1); }
int aclrtCreateEvent(void** event) { return make(event, 2); }
int aclrtDestroyEvent(void* event) { return unmake(event, 2); }
int aclrtRecordEvent(void* event, void* stream) { return event == stream ? FOREIGN_NOT_MINE : 0; }
int aclrtSynchronizeStream(void* stream) { return stream == 0 ? FOREIGN_NOT_MINE : 0; }
int aclrtMalloc(void** memory, size_t size, int policy) {
  (void)policy;  // any number will do
  return (*memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096)) == 0 ? FOREIGN_NOT_MINE : 0;
}
int aclrtFree(void* memory) {
  free(memory);
  return 0;
}
int aclrtMemcpy(void* to, size_t room, const void* from, size_t count, int kind) {
  if (count > room) return FOREIGN_NOT_MINE;
  (void)kind;
  memcpy(to, from, count);
  return 0;
}
int aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t count, int kind, void* stream) {
  (void)stream;
  return aclrtMemcpy(to, room, from, count, kind);
}
// A call that Plat lacks.
int aclrtForeignOnly(int number) { return number + 1; }
