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
using plat::kill_test::kOffers;

constexpr uint64_t kPage = 2 << 20;

struct Block {
  aclrtDrvMemHandle handle;
  uint64_t* memory;  // mapped, the host may touch it
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
      else if (dice < 99)
        use_key();
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
      if (first[0] != 0 || first[100] != 0) me_.corruptions.fetch_add(1);
      first[0] = block.tag;
      first[100] = block.tag + at;
    }
    blocks_.push_back(block);
  }

  void check(const Block& block) {
    if (block.tag == 0) return;
    for (uint64_t at = 0; at < block.size; at += kPage) {
      const uint64_t* first = block.memory + at / sizeof(uint64_t);
      if (first[0] != block.tag || first[100] != block.tag + at) me_.corruptions.fetch_add(1);
    }
  }

  void check_one() {
    if (!blocks_.empty()) check(blocks_[random_() % blocks_.size()]);
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

  // A block, a copy to it and back, a key with a whitelist, all given back. Blocks in small pages come and go
  // within the pages that a process keeps, so these are large ones: the accounts must agree between any two
  // calls.
  void use_key() {
    void* memory = nullptr;
    const aclError code = aclrtMalloc(&memory, kPage, ACL_MEM_MALLOC_HUGE_ONLY);
    if (code == ACL_ERROR_RT_MEMORY_ALLOCATION) return;
    expect(code, "aclrtMalloc");
    if (code != ACL_SUCCESS) return;
    const uint64_t written = random_();
    uint64_t read = 0;
    expect(aclrtMemcpy(memory, 8, &written, 8, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy to the device");
    char key[65] = {};
    expect(aclrtIpcMemGetExportKey(memory, kPage, key, sizeof key, 0), "aclrtIpcMemGetExportKey");
    std::vector<int32_t> everybody = peers();
    expect(aclrtIpcMemSetImportPid(key, everybody.data(), everybody.size()), "aclrtIpcMemSetImportPid");
    if (random_() % 2 == 0) expect(aclrtIpcMemClose(key), "aclrtIpcMemClose");
    expect(aclrtMemcpy(&read, 8, memory, 8, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy from the device");
    if (read != written) me_.corruptions.fetch_add(1);
    expect(aclrtFree(memory), "aclrtFree");
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
