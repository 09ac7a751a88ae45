// SPDX-License-Identifier: Apache-2.0
// The seven steps of Ascend virtual memory, one after the other, with an account of each.
//
// Memory is made of two things that are had separately: a range of addresses, and physical memory. Mapping
// puts the second behind the first. Here two pieces of physical memory come to stand behind one range of
// addresses, side by side, although each was allocated by itself.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"

#define PIECES 2

// Every call can fail, and the text of the failure says why and what to do.
static void check(aclError code, const char* call) {
  if (code == ACL_SUCCESS) return;
  fprintf(stderr, "%s failed with %d: %s\n", call, code, aclGetRecentErrMsg());
  exit(1);
}
#define CHECK(call) check(call, #call)

static size_t free_bytes(void) {
  size_t free_now = 0;
  size_t total = 0;
  CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total));
  return free_now;
}

static double mib(size_t bytes) { return (double)bytes / (1 << 20); }

static void fill(unsigned char* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes[i] = (unsigned char)(i * 31 + i / 4096);
}

int main(void) {
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  printf("Device 0 is an %s.\n", aclrtGetSocName());

  // Physical memory of device 0, in huge pages. It comes in multiples of a granularity.
  aclrtPhysicalMemProp prop;
  memset(&prop, 0, sizeof prop);
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = 0;
  size_t granularity = 0;
  CHECK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity));
  const size_t piece = 2 * granularity;
  const size_t total = PIECES * piece;
  const size_t free_before = free_bytes();
  printf("Memory comes in multiples of %.0f MiB; %.0f MiB are free.\n\n", mib(granularity), mib(free_before));

  void* range = NULL;
  CHECK(aclrtReserveMemAddress(&range, total, 0, NULL, 1));
  printf("1. Reserved   %3.0f MiB of addresses at %p. No memory is behind them yet: %.0f MiB are free.\n",
         mib(total), range, mib(free_bytes()));

  aclrtDrvMemHandle handles[PIECES];
  for (int i = 0; i < PIECES; ++i) CHECK(aclrtMallocPhysical(&handles[i], piece, &prop, 0));
  printf("2. Allocated  %d x %.0f MiB of physical memory: %.0f MiB are free.\n", PIECES, mib(piece),
         mib(free_bytes()));

  for (int i = 0; i < PIECES; ++i) CHECK(aclrtMapMem((char*)range + i * piece, piece, 0, handles[i], 0));
  printf("3. Mapped     both pieces, side by side: one range, %.0f MiB, contiguous.\n", mib(total));

  // The host cannot touch device memory; it copies.
  unsigned char* sent = malloc(total);
  unsigned char* received = calloc(1, total);
  if (sent == NULL || received == NULL) return 1;
  fill(sent, total);
  CHECK(aclrtMemcpy(range, total, sent, total, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(aclrtMemcpy(received, total, range, total, ACL_MEMCPY_DEVICE_TO_HOST));
  const int same = memcmp(sent, received, total) == 0;
  printf("4. Used       copied %.0f MiB to the device and back, across both pieces: %s.\n", mib(total),
         same ? "the same bytes" : "DIFFERENT BYTES");
  free(sent);
  free(received);
  if (!same) return 1;

  for (int i = 0; i < PIECES; ++i) CHECK(aclrtUnmapMem((char*)range + i * piece));
  printf("5. Unmapped   both; the memory is still allocated: %.0f MiB are free.\n", mib(free_bytes()));

  for (int i = 0; i < PIECES; ++i) CHECK(aclrtFreePhysical(handles[i]));
  printf("6. Freed      the physical memory: %.0f MiB are free.\n", mib(free_bytes()));

  CHECK(aclrtReleaseMemAddress(range));
  printf("7. Released   the addresses.\n\n");

  const size_t free_after = free_bytes();
  // Others may use the device at the same time; what is missing is then theirs.
  printf("%.0f MiB are free, as before: %s.\n", mib(free_after), free_after == free_before ? "yes" : "no");
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return free_after == free_before ? 0 : 1;
}
