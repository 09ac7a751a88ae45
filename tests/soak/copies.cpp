// SPDX-License-Identifier: Apache-2.0
// Copies against whoever takes their memory away. Two processes share a device that is nearly full. In each,
// threads copy into blocks and mappings without end, others free and unmap the same ones under them, trying
// again while they are told that the memory is in use, and take new ones. Each block is filled with a tag of
// its own, which all copies into it write again, and must have it when it is given up: a copy that goes on
// after its memory went to the next owner writes its own tag there.
#include <acl/acl.h>
#include <sys/wait.h>

#include <array>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "soak/campaign.h"

namespace plat::soak {
namespace {

constexpr size_t kPage = 2 << 20;
constexpr aclError kBusy = 507899;

// A block whose users write the tag that it has anyway: whatever else it holds came from somewhere else.
struct Block {
  std::shared_mutex mutex;  // shared: may copy with it; alone: takes it away or makes a new one
  char* start = nullptr;
  size_t size_bytes = 0;
  bool is_mapping = false;
  uint64_t tag = 0;
  std::atomic<bool> is_going{false};  // from before it is taken away: copies may be refused
};

class Process {
 public:
  explicit Process(Campaign& campaign, uint64_t seed) : campaign_(campaign), seed_(seed) {}

  void run() {
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < 3; ++number)
      threads.emplace_back([=, this] { copy(seed_ * 100 + number); });
    threads.emplace_back([this] { replace(seed_ * 100 + 50); });
    for (std::thread& thread : threads) thread.join();
    for (Block& block : blocks_) give_up(block);
  }

 private:
  static std::vector<uint64_t> filled(size_t size_bytes, uint64_t tag) {
    return std::vector<uint64_t>(size_bytes / sizeof(uint64_t), tag);
  }

  void copy(uint64_t seed) {
    (void)aclrtSetDevice(0);
    std::mt19937_64 random(seed);
    while (campaign_.time_left()) {
      Block& block = blocks_[random() % blocks_.size()];
      const std::shared_lock lock(block.mutex, std::try_to_lock);
      if (!lock || block.start == nullptr) continue;
      const size_t count = std::min<size_t>(block.size_bytes, 8 << (random() % 15));
      const std::vector<uint64_t> bytes = filled(count, block.tag);
      const aclError code = aclrtMemcpy(block.start, count, bytes.data(), count, ACL_MEMCPY_HOST_TO_DEVICE);
      if (code != 0 && !block.is_going)
        campaign_.violation(fmt::format("a copy into live memory: {} {}", code, aclGetRecentErrMsg()));
      ++campaign_.calls;
    }
  }

  void replace(uint64_t seed) {
    (void)aclrtSetDevice(0);
    std::mt19937_64 random(seed);
    while (campaign_.time_left()) {
      Block& block = blocks_[random() % blocks_.size()];
      give_up(block);
      const std::unique_lock lock(block.mutex);
      renew(block, random);
      ++campaign_.rounds;
    }
  }

  void renew(Block& block, std::mt19937_64& random) {
    if (block.start != nullptr) return;
    block.size_bytes = (1 + random() % 3) * kPage;
    block.is_mapping = random() % 2 == 0;
    void* start = nullptr;
    if (block.is_mapping)
      start = map_new(block.size_bytes);
    else
      (void)aclrtMalloc(&start, block.size_bytes - 32, ACL_MEM_MALLOC_HUGE_ONLY);
    campaign_.calls += 3;
    if (start == nullptr) return;  // the other process has the rest
    block.tag = random() | 1;
    const size_t usable = block.is_mapping ? block.size_bytes : block.size_bytes - 32;
    block.size_bytes = usable;
    const std::vector<uint64_t> bytes = filled(usable, block.tag);
    const aclError code = aclrtMemcpy(start, usable, bytes.data(), usable, ACL_MEMCPY_HOST_TO_DEVICE);
    if (code != 0) campaign_.violation(fmt::format("filling new memory: {} {}", code, aclGetRecentErrMsg()));
    block.start = static_cast<char*>(start);
  }

  static void* map_new(size_t size_bytes) {
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    aclrtDrvMemHandle handle = nullptr;
    if (aclrtMallocPhysical(&handle, size_bytes, &prop, 0) != 0) return nullptr;
    void* start = nullptr;
    if (aclrtReserveMemAddress(&start, size_bytes, 0, nullptr, 0) != 0) start = nullptr;
    if (start != nullptr && aclrtMapMem(start, size_bytes, 0, handle, 0) != 0) {
      (void)aclrtReleaseMemAddress(start);
      start = nullptr;
    }
    (void)aclrtFreePhysical(handle);  // the mapping keeps it
    return start;
  }

  // Takes a block away while others copy with it: what they are told to leave alone is tried again until it
  // goes.
  void give_up(Block& block) {
    char* start = nullptr;
    {
      const std::unique_lock lock(block.mutex);
      if (block.start == nullptr) return;
      check(block);
      start = block.start;
      block.is_going = true;
    }
    // Without the lock: copies may be under way, and new ones begin.
    for (;;) {
      const aclError code = block.is_mapping ? aclrtUnmapMem(start) : aclrtFree(start);
      ++campaign_.calls;
      if (code == 0) break;
      if (code != kBusy)
        campaign_.violation(fmt::format("giving up memory: {} {}", code, aclGetRecentErrMsg()));
      if (code != kBusy) break;
    }
    const std::unique_lock lock(block.mutex);
    if (block.is_mapping) (void)aclrtReleaseMemAddress(start);
    block.start = nullptr;
    block.is_going = false;
  }

  void check(const Block& block) {
    std::vector<uint64_t> bytes(block.size_bytes / sizeof(uint64_t));
    const aclError code =
        aclrtMemcpy(bytes.data(), block.size_bytes, block.start, block.size_bytes, ACL_MEMCPY_DEVICE_TO_HOST);
    if (code != 0)
      return campaign_.violation(fmt::format("reading live memory: {} {}", code, aclGetRecentErrMsg()));
    for (size_t at = 0; at < bytes.size(); ++at)
      if (bytes[at] != block.tag)
        return campaign_.violation(fmt::format("block {} holds {:#x} at {}, wanted {:#x}",
                                               static_cast<void*>(block.start), bytes[at],
                                               at * sizeof(uint64_t), block.tag));
  }

  Campaign& campaign_;
  const uint64_t seed_;
  std::array<Block, 6> blocks_;
};

int run(Campaign& campaign) {
  campaign.use_machine("32MiB", "1");
  const pid_t other = fork();
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) campaign.violation(aclGetRecentErrMsg());
  Process(campaign, campaign.seed() * 2 + (other == 0)).run();
  if (other == 0) _exit(campaign.is_clean() ? 0 : 1);
  int status = 0;
  waitpid(other, &status, 0);
  if (status != 0) campaign.violation(fmt::format("the other process ended with status {:#x}", status));
  size_t free_bytes = 0, total_bytes = 1;
  (void)aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes);
  if (free_bytes != total_bytes)
    campaign.violation(fmt::format("{} of {} bytes came back", free_bytes, total_bytes));
  return campaign.finish();
}

}  // namespace
}  // namespace plat::soak

int main(int argc, char** argv) {
  plat::soak::Campaign campaign("copies", argc, argv);
  return plat::soak::run(campaign);
}
