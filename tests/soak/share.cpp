// SPDX-License-Identifier: Apache-2.0
// Three processes share blocks of one device, step by step, against a model of who holds what: who may
// import, what each reads, and how much is free after every step. Now and then one of them is killed, and all
// it held alone comes back.
#include <acl/acl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <map>
#include <set>
#include <vector>

#include "soak/campaign.h"

namespace plat::soak {
namespace {

constexpr uint64_t kPage = 2 << 20;
constexpr uint64_t kCapacity = 64ull << 20;
constexpr unsigned kProcesses = 3;

enum class Op : uint64_t { Allocate, Export, Whitelist, Import, Write, Read, Free, Ask, Pid };
struct Request {
  Op op;
  uint64_t block;
  uint64_t argument;
};
struct Answer {
  uint64_t code;
  uint64_t value;
  char message[240];
};

// One of the processes: does what it is told, and knows its blocks by the model's numbers.
class Worker {
 public:
  Worker(int in, int out) : in_(in), out_(out) {}

  [[noreturn]] void run() {
    (void)aclrtSetDevice(0);
    Request request{};
    while (read(in_, &request, sizeof request) == sizeof request) {
      Answer answer{};
      answer.code = static_cast<uint64_t>(perform(request, answer.value));
      if (answer.code != 0) snprintf(answer.message, sizeof answer.message, "%s", aclGetRecentErrMsg());
      if (write(out_, &answer, sizeof answer) != sizeof answer) break;
    }
    _exit(0);
  }

 private:
  struct Held {
    aclrtDrvMemHandle handle;
    void* address;
    uint64_t size_bytes;
  };

  aclError perform(const Request& request, uint64_t& value) {
    switch (request.op) {
      case Op::Allocate: {
        aclrtPhysicalMemProp prop{};
        prop.memAttr = ACL_HBM_MEM_HUGE;
        prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
        aclrtDrvMemHandle handle = nullptr;
        const aclError code = aclrtMallocPhysical(&handle, request.argument, &prop, 0);
        return code != 0 ? code : map(request.block, handle, request.argument);
      }
      case Op::Export:
        return aclrtMemExportToShareableHandle(held_.at(request.block).handle, ACL_MEM_HANDLE_TYPE_NONE,
                                               request.argument, &value);
      case Op::Whitelist: {
        auto pid = static_cast<int32_t>(request.block);
        return aclrtMemSetPidToShareableHandle(request.argument, &pid, 1);
      }
      case Op::Import: {
        aclrtDrvMemHandle handle = nullptr;
        const aclError code = aclrtMemImportFromShareableHandle(request.argument, 0, &handle);
        return code != 0 ? code : map(request.block, handle, kPage);
      }
      case Op::Write:
        return aclrtMemcpy(held_.at(request.block).address, 8, &request.argument, 8,
                           ACL_MEMCPY_HOST_TO_DEVICE);
      case Op::Read:
        return aclrtMemcpy(&value, 8, held_.at(request.block).address, 8, ACL_MEMCPY_DEVICE_TO_HOST);
      case Op::Free: {
        const Held held = held_.at(request.block);
        held_.erase(request.block);
        if (const aclError code = aclrtUnmapMem(held.address); code != 0) return code;
        if (const aclError code = aclrtFreePhysical(held.handle); code != 0) return code;
        return aclrtReleaseMemAddress(held.address);
      }
      case Op::Ask: {
        size_t free_bytes = 0, total_bytes = 0;
        const aclError code = aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes);
        value = free_bytes;
        return code;
      }
      case Op::Pid:
        value = static_cast<uint64_t>(getpid());
        return ACL_SUCCESS;
    }
    return -1;
  }

  aclError map(uint64_t block, aclrtDrvMemHandle handle, uint64_t size_bytes) {
    Held held{handle, nullptr, size_bytes};
    if (const aclError code = aclrtReserveMemAddress(&held.address, size_bytes, 0, nullptr, 0); code != 0)
      return code;
    if (const aclError code = aclrtMapMem(held.address, size_bytes, 0, handle, 0); code != 0) return code;
    held_[block] = held;
    return ACL_SUCCESS;
  }

  const int in_;
  const int out_;
  std::map<uint64_t, Held> held_;
};

class Play {
 public:
  explicit Play(Campaign& campaign) : campaign_(campaign), random_(campaign.seed()) {
    for (unsigned number = 0; number < kProcesses; ++number) start(number);
  }

  void run() {
    while (campaign_.time_left() && campaign_.is_clean()) {
      step();
      const Answer answer = tell(below(kProcesses), {Op::Ask, 0, 0});
      uint64_t held = 0;
      for (const auto& [number, block] : blocks_) held += block.size_bytes;
      if (answer.value + held != kCapacity)
        campaign_.violation(fmt::format("{} bytes are free, wanted {}", answer.value, kCapacity - held));
      ++campaign_.rounds;
    }
    for (Process& process : processes_) end(process);
  }

 private:
  struct Process {
    pid_t pid = 0;
    int to = -1;
    int from = -1;
  };
  struct Block {
    uint64_t size_bytes;
    unsigned owner;
    uint64_t mark = 0;
    uint64_t share = 0;    // 0: not exported, or its exporter has let go of it
    bool is_open = false;  // exported for everybody
    std::set<pid_t> listed;
    std::set<unsigned> holders;
  };

  unsigned below(uint64_t bound) { return static_cast<unsigned>(random_() % bound); }

  void start(unsigned number) {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) abort();
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(to[1]);
      close(from[0]);
      Worker(to[0], from[1]).run();
    }
    close(to[0]);
    close(from[1]);
    processes_[number] = {pid, to[1], from[0]};
  }

  void end(Process& process) {
    kill(process.pid, SIGKILL);
    waitpid(process.pid, nullptr, 0);
    close(process.to);
    close(process.from);
  }

  Answer tell(unsigned number, const Request& request) {
    Answer answer{};
    if (write(processes_[number].to, &request, sizeof request) != sizeof request ||
        read(processes_[number].from, &answer, sizeof answer) != sizeof answer) {
      campaign_.violation(
          fmt::format("process {} died at operation {}", number, static_cast<uint64_t>(request.op)));
      answer.code = 1;
    }
    ++campaign_.calls;
    return answer;
  }

  void expect(const Answer& answer, bool succeeds, const char* what) {
    if ((answer.code == 0) != succeeds)
      campaign_.violation(fmt::format("{} answered {}, wanted {}: {}", what, answer.code,
                                      succeeds ? "success" : "an error", answer.message));
  }

  // A block that a process holds, or none.
  std::pair<uint64_t, Block*> some_block() {
    if (blocks_.empty()) return {0, nullptr};
    auto found = blocks_.begin();
    std::advance(found, below(blocks_.size()));
    return {found->first, &found->second};
  }
  unsigned some_holder(const Block& block) {
    auto found = block.holders.begin();
    std::advance(found, below(block.holders.size()));
    return *found;
  }

  void step() {
    const unsigned dice = below(100);
    if (dice < 20) return allocate(below(kProcesses));
    if (dice < 22) return kill_one(below(kProcesses));
    const auto [number, block] = some_block();
    if (block == nullptr) return;
    if (dice < 35) return export_one(number, *block);
    if (dice < 50) return whitelist(*block, below(kProcesses));
    if (dice < 65) return import(number, *block, below(kProcesses));
    const unsigned holder = some_holder(*block);
    if (dice < 75) {
      block->mark = random_();
      return expect(tell(holder, {Op::Write, number, block->mark}), true, "writing");
    }
    const Answer seen = tell(holder, {Op::Read, number, 0});
    expect(seen, true, "reading");
    if (seen.value != block->mark)
      campaign_.violation(
          fmt::format("process {} reads {:#x}, wanted {:#x}", holder, seen.value, block->mark));
    if (dice >= 85) free_one(number, *block, holder);
  }

  void allocate(unsigned process) {
    uint64_t held = 0;
    for (const auto& [number, block] : blocks_) held += block.size_bytes;
    const uint64_t size_bytes = (1 + below(6)) * kPage;
    const Answer answer = tell(process, {Op::Allocate, next_, size_bytes});
    expect(answer, held + size_bytes <= kCapacity, "allocating");
    if (answer.code == 0) blocks_[next_++] = {size_bytes, process, 0, 0, false, {}, {process}};
  }

  void export_one(uint64_t number, Block& block) {
    if (!block.holders.contains(block.owner)) return;
    const bool is_open = below(3) == 0;
    const Answer answer =
        tell(block.owner, {Op::Export, number, is_open ? ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION : 0u});
    expect(answer, block.share == 0, "exporting");
    if (answer.code != 0) return;
    block.share = answer.value;
    block.is_open = is_open;
  }

  void whitelist(Block& block, unsigned listed) {
    if (block.share == 0 || block.is_open) return;
    const pid_t pid = processes_[listed].pid;
    expect(tell(block.owner, {Op::Whitelist, static_cast<uint64_t>(pid), block.share}), true, "whitelisting");
    block.listed.insert(pid);
  }

  // Into the own process, and a second time, have rules of their own; here it is about who may.
  void import(uint64_t number, Block& block, unsigned importer) {
    if (block.share == 0 || importer == block.owner || block.holders.contains(importer)) return;
    const bool may = block.is_open || block.listed.contains(processes_[importer].pid);
    const Answer answer = tell(importer, {Op::Import, number, block.share});
    expect(answer, may, "importing");
    if (answer.code == 0) block.holders.insert(importer);
  }

  void let_go(uint64_t number, Block& block, unsigned holder) {
    block.holders.erase(holder);
    if (holder == block.owner) block.share = 0;
    if (block.holders.empty()) blocks_.erase(number);
  }

  void free_one(uint64_t number, Block& block, unsigned holder) {
    expect(tell(holder, {Op::Free, number, 0}), true, "freeing");
    let_go(number, block, holder);
  }

  void kill_one(unsigned process) {
    end(processes_[process]);
    ++campaign_.kills;
    std::vector<uint64_t> theirs;
    for (auto& [number, block] : blocks_)
      if (block.holders.contains(process)) theirs.push_back(number);
    for (const uint64_t number : theirs) let_go(number, blocks_.at(number), process);
    start(process);
  }

  Campaign& campaign_;
  std::mt19937_64 random_;
  std::array<Process, kProcesses> processes_;
  std::map<uint64_t, Block> blocks_;
  uint64_t next_ = 1;
};

}  // namespace
}  // namespace plat::soak

int main(int argc, char** argv) {
  plat::soak::Campaign campaign("share", argc, argv);
  campaign.use_machine("64MiB", "1");
  plat::soak::Play(campaign).run();
  return campaign.finish();
}
