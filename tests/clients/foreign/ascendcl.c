// SPDX-License-Identifier: Apache-2.0
// An ACL library of somebody else, as far as tests/clients/client.c needs one: it shares no header, name or
// habit with Plat.
int aclInit(const char* path) { return path != 0; }
int aclFinalize(void) { return 0; }
int aclrtSetDevice(int device) { return device; }
const char* aclrtGetSocName(void) { return "a foreign device"; }

static char g_memory[64];
static int g_handle;

int aclrtReserveMemAddress(void** address, unsigned long size, unsigned long alignment, void* expected,
                           unsigned long flags) {
  *address = g_memory;
  return size == 0 || alignment != 0 || expected != 0 || flags != 1;
}
int aclrtMallocPhysical(void** handle, unsigned long size, const void* properties, unsigned long flags) {
  *handle = &g_handle;
  return size == 0 || properties == 0 || flags != 0;
}
int aclrtMapMem(void* address, unsigned long size, unsigned long offset, void* handle, unsigned long flags) {
  return address != g_memory || size == 0 || offset != 0 || handle != &g_handle || flags != 0;
}
int aclrtUnmapMem(void* address) { return address != g_memory; }
int aclrtFreePhysical(void* handle) { return handle != &g_handle; }
int aclrtReleaseMemAddress(void* address) { return address != g_memory; }
