// SPDX-License-Identifier: Apache-2.0
// A worker of the kill test: allocates, maps, writes and checks tags, shares, frees, for ever. It dies at the
// place that PLAT_CRASH names, or when the supervisor kills it.
//   kill_worker BOARD-FILE WORKER SEED
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "process/kill_board.h"

namespace {

using plat::kill_test::Board;
using plat::kill_test::kKeyWords;
using plat::kill_test::kOffers;

constexpr uint64_t kPage = 2 << 20;

struct Block {
  aclrtDrvMemHandle handle;
  uint64_t* memory;  // mapped
  uint64_t size;
  uint64_t tag;  // 0: imported, its content belongs to somebody else
};

class Worker {
 public:
  Worker(Board& board, unsigned number, uint64_t seed)
      : board_(board), me_(board.workers[number]), random_(seed) {}

  [[noreturn]] void run() {
    me_.pid.store(getpid());
    expect(aclrtSetDevice(0), "aclrtSetDevice");
    for (;;) {
      pause_if_asked();
      const uint64_t dice = random_() % 100;
      if (dice < 40)
        allocate();
      else if (dice < 70)
        free_one();
      else if (dice < 85)
        check_one();
      else if (dice < 92)
        offer_one();
      else if (dice < 95)
        import_one();
      else if (dice < 97)
        offer_key();
      else if (dice < 98)
        import_key();
      else if (dice < 99)
        use_host_memory();
      else
        ask();
      me_.operations.fetch_add(1);
    }
  }

 private:
  void expect(aclError code, const char* what) {
    if (code == ACL_SUCCESS) return;
    if (me_.surprises.fetch_add(1) == 0)
      snprintf(me_.first_surprise, sizeof me_.first_surprise, "%s: %d %s", what, code, aclGetRecentErrMsg());
  }

  void pause_if_asked() {
    const uint32_t pause = board_.pause.load();
    if (pause % 2 == 0) return;
    uint64_t held = 0;
    for (const Block& block : blocks_) held += block.size;
    held += keyed_.size() * kPage;
    me_.held_bytes.store(held);
    me_.paused_at.store(pause);
    while (board_.pause.load() == pause) sched_yield();
  }

  // Maps a handle; an import may overtake its own exporter's map, so both go the same way.
  bool map(Block& block) {
    void* va = nullptr;
    expect(aclrtReserveMemAddress(&va, block.size, 0, nullptr, 0), "aclrtReserveMemAddress");
    expect(aclrtMapMem(va, block.size, 0, block.handle, 0), "aclrtMapMem");
    block.memory = static_cast<uint64_t*>(va);
    return va != nullptr;
  }

  void allocate() {
    if (blocks_.size() >= 24) return;
    Block block{};
    block.size = (1 + random_() % 4) * kPage;
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    const aclError code = aclrtMallocPhysical(&block.handle, block.size, &prop, 0);
    if (code == ACL_ERROR_RT_MEMORY_ALLOCATION) return;  // others hold the rest
    expect(code, "aclrtMallocPhysical");
    if (code != ACL_SUCCESS || !map(block)) return;
    block.tag = random_() | 1;
    for (uint64_t at = 0; at < block.size; at += kPage) {
      uint64_t* first = block.memory + at / sizeof(uint64_t);
      if (read(first) != 0 || read(first + 100) != 0) me_.corruptions.fetch_add(1);
      write(first, block.tag);
      write(first + 100, block.tag + at);
    }
    blocks_.push_back(block);
  }

  void check(const Block& block) {
    if (block.tag == 0) return;
    for (uint64_t at = 0; at < block.size; at += kPage) {
      const uint64_t* first = block.memory + at / sizeof(uint64_t);
      if (read(first) != block.tag || read(first + 100) != block.tag + at) me_.corruptions.fetch_add(1);
    }
  }

  void check_one() {
    if (blocks_.empty()) return;
    const Block& block = blocks_[random_() % blocks_.size()];
    check(block);
    aclrtDrvMemHandle handle = nullptr;
    expect(aclrtMemRetainAllocationHandle(block.memory, &handle), "aclrtMemRetainAllocationHandle");
    aclrtMemAccessDesc access{};
    access.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
    access.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    expect(aclrtMemSetAccess(block.memory, block.size, &access, 1), "aclrtMemSetAccess");
    expect(aclrtFreePhysical(handle), "aclrtFreePhysical of a retained handle");
  }

  // Where the host may not, the library does it.
  uint64_t read(const uint64_t* address) {
    if (host_access_) return *address;
    uint64_t value = 0;
    expect(aclrtMemcpy(&value, sizeof value, address, sizeof value, ACL_MEMCPY_DEVICE_TO_HOST),
           "aclrtMemcpy from the device");
    return value;
  }
  void write(uint64_t* address, uint64_t value) {
    if (host_access_)
      *address = value;
    else
      expect(aclrtMemcpy(address, sizeof value, &value, sizeof value, ACL_MEMCPY_HOST_TO_DEVICE),
             "aclrtMemcpy to the device");
  }

  void free_one() {
    if (blocks_.empty()) return;
    const size_t victim = random_() % blocks_.size();
    const Block block = blocks_[victim];
    check(block);
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(victim));
    if (random_() % 2 == 0) {  // both orders are legal
      expect(aclrtUnmapMem(block.memory), "aclrtUnmapMem");
      expect(aclrtFreePhysical(block.handle), "aclrtFreePhysical");
    } else {
      expect(aclrtFreePhysical(block.handle), "aclrtFreePhysical");
      expect(aclrtUnmapMem(block.memory), "aclrtUnmapMem");
    }
    expect(aclrtReleaseMemAddress(block.memory), "aclrtReleaseMemAddress");
  }

  // A block with a key and a whitelist, which others may import; some later one is freed. Blocks in small
  // pages come and go within the pages that a process keeps, so these are large ones: the accounts must agree
  // between any two calls.
  void offer_key() {
    if (keyed_.size() >= 4) {
      const Keyed old = keyed_.front();
      keyed_.erase(keyed_.begin());
      if (read(old.memory) != old.tag) me_.corruptions.fetch_add(1);
      if (random_() % 2 == 0) expect(aclrtIpcMemClose(old.key.c_str()), "aclrtIpcMemClose");
      expect(aclrtFree(old.memory), "aclrtFree");
    }
    void* memory = nullptr;
    const aclError code = aclrtMalloc(&memory, kPage - 4096, ACL_MEM_MALLOC_HUGE_ONLY);
    if (code == ACL_ERROR_RT_MEMORY_ALLOCATION) return;
    expect(code, "aclrtMalloc");
    if (code != ACL_SUCCESS) return;
    Keyed keyed{static_cast<uint64_t*>(memory), random_(), ""};
    write(keyed.memory, keyed.tag);
    char key[65] = {};
    expect(aclrtIpcMemGetExportKey(memory, kPage - 4096, key, sizeof key, 0), "aclrtIpcMemGetExportKey");
    std::vector<int32_t> everybody = peers();
    expect(aclrtIpcMemSetImportPid(key, everybody.data(), everybody.size()), "aclrtIpcMemSetImportPid");
    keyed.key = key;
    keyed_.push_back(keyed);
    auto& offer = board_.keys[random_() % kOffers];
    for (unsigned word = 0; word < kKeyWords; ++word) {
      uint64_t part = 0;
      std::memcpy(&part, key + word * sizeof part, sizeof part);
      offer[word].store(part);
    }
  }

  // It may be closed, freed, ours, or not for us.
  void import_key() {
    char key[65] = {};
    const auto& offer = board_.keys[random_() % kOffers];
    for (unsigned word = 0; word < kKeyWords; ++word) {
      const uint64_t part = offer[word].load();
      std::memcpy(key + word * sizeof part, &part, sizeof part);
    }
    void* memory = nullptr;
    if (aclrtIpcMemImportByKey(&memory, key, 0) != ACL_SUCCESS) return;
    read(static_cast<uint64_t*>(memory));
    expect(aclrtIpcMemClose(key), "aclrtIpcMemClose of an import");
  }

  void use_host_memory() {
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
    Block block{};
    block.size = kPage;
    expect(aclrtMallocPhysical(&block.handle, kPage, &prop, 0), "aclrtMallocPhysical on the host");
    if (block.handle == nullptr || !map(block)) return;
    if (*block.memory != 0) me_.corruptions.fetch_add(1);
    *block.memory = random_();
    expect(aclrtUnmapMem(block.memory), "aclrtUnmapMem");
    expect(aclrtFreePhysical(block.handle), "aclrtFreePhysical");
    expect(aclrtReleaseMemAddress(block.memory), "aclrtReleaseMemAddress");
  }

  void offer_one() {
    if (blocks_.empty()) return;
    const Block& block = blocks_[random_() % blocks_.size()];
    uint64_t number = 0;
    if (block.tag == 0) return;
    if (aclrtMemExportToShareableHandle(block.handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &number) != ACL_SUCCESS)
      return;  // exported before
    int32_t pids[40];
    for (int i = 0; i < 40; ++i) pids[i] = 1 + static_cast<int32_t>(random_() % 100000);
    expect(aclrtMemSetPidToShareableHandle(number, pids, 40), "aclrtMemSetPidToShareableHandle");
    std::vector<int32_t> everybody = peers();
    expect(aclrtMemSetPidToShareableHandle(number, everybody.data(), everybody.size()), "whitelist of peers");
    board_.offers[random_() % kOffers].store(number);
  }

  // The workers of this moment. One may be dead already, or another take its place: then it is simply not
  // whitelisted.
  std::vector<int32_t> peers() {
    std::vector<int32_t> found;
    for (const Board::Worker& worker : board_.workers)
      if (const int32_t pid = worker.pid.load(); pid > 0) found.push_back(pid);
    return found;
  }

  void import_one() {
    if (blocks_.size() >= 24) return;
    const uint64_t number = board_.offers[random_() % kOffers].load();
    if (number == 0) return;
    Block block{};
    // It may be gone, ours, imported already, or not for us: all of these are answers, none may hurt.
    if (aclrtMemImportFromShareableHandle(number, 0, &block.handle) != ACL_SUCCESS) return;
    // The size is not told by an import; one page is always there, and a prefix may be mapped.
    block.size = kPage;
    map(block);
    aclrtUnmapMem(block.memory);
    expect(aclrtFreePhysical(block.handle), "aclrtFreePhysical of an import");
    expect(aclrtReleaseMemAddress(block.memory), "aclrtReleaseMemAddress");
  }

  void ask() {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    expect(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes), "aclrtGetMemInfo");
  }

  Board& board_;
  Board::Worker& me_;
  std::mt19937_64 random_;
  std::vector<Block> blocks_;
  struct Keyed {
    uint64_t* memory;
    uint64_t tag;
    std::string key;
  };
  std::vector<Keyed> keyed_;
  const bool host_access_ = std::string(getenv("PLAT_HOST_ACCESS")) == "allow";
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int fd = open(argv[1], O_RDWR | O_CLOEXEC);
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return 2;
  Worker(*static_cast<Board*>(memory), static_cast<unsigned>(atoi(argv[2])), strtoull(argv[3], nullptr, 10))
      .run();
}
