// SPDX-License-Identifier: Apache-2.0
// Copies against memcpy on the same host buffers: warm, on contiguous and on scattered pages, in one place
// and walking; and cold.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "acl/acl.h"
#include "ratio.h"

using namespace plat::bench;

namespace {

void check(aclError code) {
  if (code != ACL_SUCCESS) std::printf("%d: %s\n", code, aclGetRecentErrMsg()), std::exit(1);
}

constexpr size_t kHuge = 2 << 20;

void* allocate(size_t size) {
  void* block = nullptr;
  check(aclrtMallocAlign32(&block, size, ACL_MEM_MALLOC_HUGE_ONLY));
  return block;
}

// A block whose pages have others between them.
void* allocate_scattered(size_t size) {
  std::vector<void*> pages(size / kHuge * 2 + 2);
  for (void*& page : pages) page = allocate(kHuge);
  for (size_t i = 0; i < pages.size(); i += 2) check(aclrtFree(pages[i]));
  // All that is left in one piece is taken, so that only the gaps remain.
  size_t free_bytes = 0, total = 0;
  check(aclrtGetMemInfo(ACL_HBM_MEM_HUGE, &free_bytes, &total));
  const size_t gaps = pages.size() / 2 * kHuge;
  void* rest = free_bytes > gaps ? allocate(free_bytes - gaps) : nullptr;
  void* block = allocate(size);
  if (rest != nullptr) check(aclrtFree(rest));
  for (size_t i = 1; i < pages.size(); i += 2) check(aclrtFree(pages[i]));
  return block;
}

enum class Pages { Any, Small };

char* host_buffer(size_t size, Pages pages = Pages::Any) {
  const size_t whole = (size + 4095) / 4096 * 4096;
  char* buffer = static_cast<char*>(std::aligned_alloc(4096, whole));
  if (pages == Pages::Small) madvise(buffer, whole, MADV_NOHUGEPAGE);
  std::memset(buffer, 1, size);
  return buffer;
}

void warm(size_t size, char* one, char* two) {
  const int repeats = static_cast<int>(std::clamp<size_t>((64u << 20) / size, 1, 20000));
  const int rounds = size >= (16 << 20) ? 11 : 21;
  for (const bool scattered : {false, true}) {
    if (scattered && size < 2 * kHuge) continue;
    void* block = scattered ? allocate_scattered(size) : allocate(size);
    check(aclrtMemcpy(block, size, one, size, ACL_MEMCPY_HOST_TO_DEVICE));
    const std::string where = std::to_string(size) + (scattered ? " scattered" : "");
    compare((where + " H2D").c_str(), rounds, repeats,
            [&](int) { check(aclrtMemcpy(block, size, one, size, ACL_MEMCPY_HOST_TO_DEVICE)); },
            [&](int) { std::memcpy(two, one, size); });
    compare((where + " D2H").c_str(), rounds, repeats,
            [&](int) { check(aclrtMemcpy(two, size, block, size, ACL_MEMCPY_DEVICE_TO_HOST)); },
            [&](int) { std::memcpy(two, one, size); });
    check(aclrtFree(block));
  }
}

// Short copies that walk over a large block on scattered pages, each in another page than the one before.
// Theirs walk in the same way over memory in 4 KiB pages, which is what the kernel gives us for device
// memory: else the processor's look-up of addresses would be most of what is compared.
void walk(size_t size, size_t block_bytes) {
  const size_t pages = block_bytes / kHuge;
  char* one = host_buffer(block_bytes, Pages::Small);
  char* two = host_buffer(block_bytes, Pages::Small);
  void* block = allocate_scattered(block_bytes);
  check(aclrtMemcpy(block, block_bytes, one, block_bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  // Page after page, and in each a little further than the last time.
  const auto place = [&](int step) {
    const size_t turn = static_cast<size_t>(step) / pages;
    return static_cast<size_t>(step) % pages * kHuge + turn * size % kHuge;
  };
  const int repeats = static_cast<int>(std::min<size_t>(block_bytes / size, 8192));
  const std::string what = std::to_string(size) + " walking over " + std::to_string(pages) + " pages";
  compare(
      (what + " H2D").c_str(), 21, repeats,
      [&](int i) {
        check(aclrtMemcpy(static_cast<char*>(block) + place(i), size, one, size, ACL_MEMCPY_HOST_TO_DEVICE));
      },
      [&](int i) { std::memcpy(two + place(i), one, size); });
  compare(
      (what + " D2H").c_str(), 21, repeats,
      [&](int i) {
        check(aclrtMemcpy(two, size, static_cast<char*>(block) + place(i), size, ACL_MEMCPY_DEVICE_TO_HOST));
      },
      [&](int i) { std::memcpy(two, one + place(i), size); });
  check(aclrtFree(block));
  std::free(one);
  std::free(two);
}

// First writes, against first touches of a memory file by the kernel.
void cold(char* host) {
  constexpr size_t kSize = 64 << 20;
  const int file = memfd_create("bench", 0);
  if (ftruncate(file, kSize) != 0) return;
  void* block = nullptr;
  void* map = nullptr;
  std::vector<double> ratios;
  for (int round = 0; round < 9; ++round) {
    map = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    double start = cpu_ns();
    std::memcpy(map, host, kSize);
    const double theirs = cpu_ns() - start;
    madvise(map, kSize, MADV_REMOVE);
    munmap(map, kSize);
    block = allocate(kSize);
    start = cpu_ns();
    check(aclrtMemcpy(block, kSize, host, kSize, ACL_MEMCPY_HOST_TO_DEVICE));
    ratios.push_back((cpu_ns() - start) / theirs);
    check(aclrtFree(block));
  }
  std::printf("%-44s ratio %6.3f\n", "64 MiB H2D, first write, to first touch", median(ratios));
}

// What the call costs: to a stream that waits, and to one that runs what it is given meanwhile, the wait at
// the end included.
void enqueue() {
  aclrtStream stream = nullptr;
  check(aclrtCreateStream(&stream));
  void* block = allocate(kHuge);
  void* pinned = nullptr;
  check(aclrtMallocHost(&pinned, 4096));
  aclrtEvent start = nullptr;
  check(aclrtCreateEventWithFlag(&start, ACL_EVENT_SYNC));
  std::mutex mutex;
  auto pair = [&](int) {
    mutex.lock();
    mutex.unlock();
  };
  auto copy = [&] { check(aclrtMemcpyAsync(block, 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream)); };
  constexpr int kCopies = 1000;
  std::vector<double> calls;
  std::vector<double> pairs;
  for (int round = 0; round < 42; ++round) {
    check(aclrtStreamWaitEvent(stream, start));
    const double from = cpu_ns();
    for (int i = 0; i < kCopies; ++i) copy();
    calls.push_back((cpu_ns() - from) / kCopies);
    check(aclrtRecordEvent(start, nullptr));
    check(aclrtSynchronizeStream(stream));
    check(aclrtResetEvent(start, stream));
    check(aclrtSynchronizeStream(stream));
    const double to = cpu_ns();
    for (int i = 0; i < kCopies; ++i) pair(i);
    pairs.push_back((cpu_ns() - to) / kCopies);
  }
  std::printf("%-44s %12.1f ns  %12.1f ns  ratio %6.3f\n", "enqueue of an async copy to a mutex pair",
              median(calls), median(pairs), median(calls) / median(pairs));
  compare(
      "the same, while the stream runs them", 21, 1000,
      [&](int i) {
        copy();
        if (i == 999) check(aclrtSynchronizeStream(stream));
      },
      pair);
  check(aclrtDestroyEvent(start));
  check(aclrtFree(block));
}

// The same copies on one stream and spread over two: how long it takes, by the clock on the wall.
void overlap() {
  constexpr size_t kSize = 8 << 20;
  constexpr int kCopies = 8;  // on each of the two
  aclrtStream streams[2] = {};
  void* blocks[2] = {};
  void* pinned[2] = {};
  for (int i = 0; i < 2; ++i) {
    check(aclrtCreateStream(&streams[i]));
    blocks[i] = allocate(kSize);
    check(aclrtMallocHost(&pinned[i], kSize));
    check(aclrtMemset(blocks[i], kSize, 1, kSize));
    std::memset(pinned[i], 1, kSize);
  }
  const auto run = [&](int stream_count) {
    const auto start = std::chrono::steady_clock::now();
    for (int copy = 0; copy < kCopies; ++copy)
      for (int i = 0; i < 2; ++i)
        check(aclrtMemcpyAsync(blocks[i], kSize, pinned[i], kSize, ACL_MEMCPY_HOST_TO_DEVICE,
                               streams[i % stream_count]));
    check(aclrtSynchronizeDevice());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::vector<double> ratios;
  for (int round = 0; round < 21; ++round) {
    const double alone = run(1);
    ratios.push_back(run(2) / alone);
  }
  std::printf("%-44s ratio %6.3f\n", "two streams to one, by the wall", median(ratios));
  for (int i = 0; i < 2; ++i) {
    check(aclrtDestroyStream(streams[i]));
    check(aclrtFree(blocks[i]));
    check(aclrtFreeHost(pinned[i]));
  }
}

}  // namespace

int main() {
  setenv("PLAT_NODE", "private", 0);
  setenv("PLAT_CAPACITY", "2GiB", 0);
  setenv("PLAT_QUIET", "1", 0);
  check(aclInit(nullptr));
  check(aclrtSetDevice(0));
  std::printf("%-44s %15s  %15s\n", "", "ours", "theirs");
  char* one = host_buffer(256 << 20);
  char* two = host_buffer(256 << 20);
  for (const size_t size : {size_t{64}, size_t{4096}, size_t{65536}, size_t{1} << 20, size_t{16} << 20,
                            size_t{64} << 20, size_t{256} << 20})
    warm(size, one, two);
  for (const size_t size : {size_t{4096}, size_t{65536}})
    for (const size_t block : {size_t{64} << 20, size_t{256} << 20}) walk(size, block);
  cold(one);
  enqueue();
  overlap();
  return 0;
}
