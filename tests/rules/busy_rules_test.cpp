// SPDX-License-Identifier: Apache-2.0
// A copy that is under way keeps its mapping. To hold a copy still, its source is a page that faults; the
// handler of the fault waits until the test has seen what it wants to see.
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>

#include <thread>

#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

sem_t copy_has_begun;
sem_t copy_may_go_on;
void* source_page = nullptr;

void hold_copy(int) {
  sem_post(&copy_has_begun);
  while (sem_wait(&copy_may_go_on) != 0) {
  }
  mprotect(source_page, 4096, PROT_READ | PROT_WRITE);
}

RULE_BROKEN(UnmapBusy) {
  sem_init(&copy_has_begun, 0, 0);
  sem_init(&copy_may_go_on, 0, 0);
  Memory m;
  signal(SIGSEGV, hold_copy);  // after the device is open: in front of the library's own
  m.map();
  source_page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_OK(
      aclrtMemcpy(m.va, 4096, source_page, 4096, ACL_MEMCPY_HOST_TO_DEVICE));  // the device page is there now
  mprotect(source_page, 4096, PROT_NONE);
  std::thread copier([&] {
    EXPECT_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtMemcpy(m.va, 4096, source_page, 4096, ACL_MEMCPY_HOST_TO_DEVICE));
  });
  while (sem_wait(&copy_has_begun) != 0) {
  }
  EXPECT_BREAKS(aclrtUnmapMem(m.va));
  sem_post(&copy_may_go_on);
  copier.join();
  EXPECT_OK(aclrtUnmapMem(m.va));
}
RULE_KEPT(UnmapBusy) {
  Memory m;
  m.map();
  char byte = 1;
  EXPECT_OK(aclrtMemcpy(m.va, 1, &byte, 1, ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_OK(aclrtUnmapMem(m.va));
}

}  // namespace
}  // namespace plat::rule_test
