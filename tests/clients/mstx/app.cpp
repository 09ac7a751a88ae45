// SPDX-License-Identifier: Apache-2.0
// A program that uses mstx, built in both forms: as header alone, and with the library (MSTX_NO_IMPL). The
// first argument says what to do; what it got goes to stdout.

#include "clients/mstx/app.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "plat/mstx_ext.h"
#include "support/mstx_words.h"

// Found by tools in the dynamic symbols of the program.
extern "C" {
__attribute__((visibility("default"))) std::atomic<int> mstx_test_calling{0};
__attribute__((visibility("default"))) void mstx_test_callback() {
  mstxMarkA("callback", nullptr);
  uint64_t id = 0;
  mstxGetToolId(&id);
  printf("callback %" PRIu64 "\n", id);
}
}

namespace {

const auto kBefore = reinterpret_cast<mstxMemRegionHandle_t>(0x1234);
char g_memory[1024];

mstxMemHeapHandle_t add_heap(mstxDomainHandle_t domain) {
  return mstx_words::heap(g_memory, sizeof(g_memory), domain);
}

mstxMemRegionHandle_t add_region(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  return mstx_words::region(heap, g_memory, 64, domain, kBefore);
}

const char* is(const void* value) { return value != nullptr ? "set" : "null"; }

// Every call once.
void everything() {
  uint64_t id = 99;
  mstxGetToolId(&id);
  mstxGetToolId(nullptr);
  mstxMarkA("hello", reinterpret_cast<aclrtStream>(7));
  mark_from_c("from_c");
  const mstxRangeId range = mstxRangeStartA("work", nullptr);
  mstxRangeEnd(range);
  const mstxDomainHandle_t domain = mstxDomainCreateA("pool");
  mstxDomainMarkA(domain, "inner", nullptr);
  const mstxRangeId inner = mstxDomainRangeStartA(domain, "inner", nullptr);
  mstxDomainRangeEnd(domain, inner);
  const mstxMemHeapHandle_t heap = add_heap(domain);
  const mstxMemRegionHandle_t region = add_region(domain, heap);
  mstx_words::allow(mstx_words::by_handle(region), MSTX_MEM_PERMISSIONS_REGION_FLAGS_READ, domain);
  mstx_words::unregister(mstx_words::by_handle(region), domain);
  mstxMemHeapUnregister(domain, heap);
  mstxDomainDestroy(domain);
  printf("tool %" PRIu64 " range %s domain %s heap %s region %s\n", id, range != 0 ? "set" : "zero",
         is(domain), is(heap), region == kBefore ? "untouched" : is(region));
}

void call_other_images(char** names) {
  for (; *names != nullptr; ++names) {
    void* library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      printf("cannot load %s: %s\n", *names, dlerror());
      exit(2);
    }
    if (void* symbol = dlsym(library, "mark_from_image"))
      reinterpret_cast<void (*)(const char*)>(symbol)("from_image");
    else if (void* other = dlsym(library, "mark_from_foreign"))
      printf("foreign %" PRId64 "\n", reinterpret_cast<int64_t (*)(const char*)>(other)("from_foreign"));
    else if (void* call = dlsym(library, "mstxMarkA"))
      reinterpret_cast<void (*)(const char*, aclrtStream)>(call)("from_library", nullptr);
  }
}

void many_threads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      ++mstx_test_calling;
      for (int n = 0; n < 100; ++n) mstxMarkA("t", nullptr);
    });
  }
  for (auto& thread : threads) thread.join();
}

// Registers, then lets a tool in: it must hear of both.
void late(const char* path) {
  const mstxDomainHandle_t domain = mstxDomainCreateA("pool");
  const mstxMemHeapHandle_t heap = add_heap(domain);
  const mstxMemRegionHandle_t region = add_region(domain, heap);
  printf("name %d\n", platMstxMemHeapName(domain, heap, "arena"));
  platMstxToolId_t id = 0;
  printf("attach %d\n", platMstxAttach(path, &id));
  mstxMarkA("heard", nullptr);
  mstxMemRegionRef_t ref = {};
  ref.refType = MSTX_MEM_REGION_REF_TYPE_HANDLE;
  ref.handle = region;
  const mstxMemRegionsUnregisterBatch_t unregister = {1, &ref};
  mstxMemRegionsUnregister(domain, &unregister);
  printf("detach %d\n", platMstxDetach(id));
  mstxMarkA("unheard", nullptr);
  printf("loaded %s\n", is(dlopen(path, RTLD_LAZY | RTLD_NOLOAD)));
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  alarm(60);  // a hang is a failure, not a wait
  const std::string what = argc > 1 ? argv[1] : "everything";
  if (what == "everything") {
    everything();
  } else if (what == "images") {
    mstxMarkA("from_app", nullptr);
    call_other_images(argv + 2);
    mstxMarkA("from_app_again", nullptr);
  } else if (what == "setenv") {
    mstxMarkA("first", nullptr);
    setenv("MSTX_INJECTION_PATH", argv[2], 1);
    everything();
  } else if (what == "fork") {
    mstxMarkA("parent", nullptr);
    if (fork() == 0) {
      mstxMarkA("child", nullptr);
      _exit(0);
    }
    int status = 0;
    wait(&status);
    printf("child %d\n", status);
  } else if (what == "threads") {
    many_threads();
  } else if (what == "late") {
    late(argv[2]);
  } else {
    return 2;
  }
  return 0;
}
