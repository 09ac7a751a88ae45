// SPDX-License-Identifier: Apache-2.0
// A control file that somebody damaged while a process uses it. Whoever looks on gets figures or a reason;
// whoever joins is let in or refused with one; nobody crashes, hangs, or takes memory for what a number says.
//
// The input is a list of changes to a file with some life in it: two bytes that say where, one for how many
// bytes, and these. A first byte below 32 cuts the file. The books of a living machine are believed
// (docs/security.md): with those damaged somebody looks on, and nobody joins.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "device/ledger.h"
#include "device/observer.h"

using namespace plat;

namespace {

constexpr uint64_t kCapacity = 16_MiB;
constexpr size_t kInput = 4096;

void require(bool kept) {
  if (!kept) std::abort();
}

// A machine with a process in it: this one.
class Victim {
 public:
  Victim() {
    char directory[] = "/dev/shm/plat-fuzz-XXXXXX";
    require(mkdtemp(directory) != nullptr);
    directory_ = directory;
    options_.control_path = directory_ + "/m-dev0";
    options_.data_path = directory_ + "/m-dev0.data";
    options_.capacity_bytes = kCapacity;
    options_.product = "a2";
    ledger_ = std::move(*device::Ledger::attach(options_));
    ledger_->begin([](device::PageId, uint32_t) {});
    for (const uint64_t pages : {1, 2, 3}) blocks_.push_back(*ledger_->allocate(pages, {}));
    {
      const device::Ledger::Lock lock(*ledger_);
      const std::vector<int32_t> pids = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
      require(ledger_->add_to_whitelist_locked(ledger_->record(blocks_[0]).whitelist, pids));
    }
    fd_ = open(options_.control_path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat now {};
    require(fd_ >= 0 && fstat(fd_, &now) == 0);
    whole_.resize(static_cast<size_t>(now.st_size));
    require(pread(fd_, whole_.data(), whole_.size(), 0) == now.st_size);
  }
  ~Victim() {
    ledger_.reset();
    std::filesystem::remove_all(directory_);
  }

  void damage(std::span<const uint8_t> input) {
    const size_t size = whole_.size();
    const uint8_t first = input.empty() ? 255 : input[0];
    while (input.size() > 4) {
      const uint64_t at = place(input[1] | uint64_t{input[2]} << 8);
      const size_t count = std::min<size_t>({1u + input[3] % 16, input.size() - 4, size - at});
      require(pwrite(fd_, input.data() + 4, count, static_cast<off_t>(at)) == static_cast<ssize_t>(count));
      changed_.push_back({at, count});
      has_touched_books_ = has_touched_books_ || at + count > kFront;
      input = input.subspan(3 + count);
    }
    is_cut_ = first < 32;
    if (is_cut_) require(ftruncate(fd_, static_cast<off_t>(size * first / 32)) == 0);
  }

  // Whoever joins reads this file and no other machine's.
  void use() {
    const device::Observation seen = device::observe(options_.control_path);
    require(seen.state != device::ObserveState::Unknown || !seen.problem.empty());
    (void)device::find_running(options_.control_path);
    if (has_touched_books_ && !is_cut_) return;
    auto joined = device::Ledger::attach(options_);
    if (!joined) return require(!joined.error().detail.empty());
    require((*joined)->capacity_bytes() == kCapacity);
    if (!(*joined)->verify().empty()) return;
    const auto block = (*joined)->allocate(1, {});
    if (block) (*joined)->release(*block);
  }

  void restore() {
    if (is_cut_) require(pwrite(fd_, whole_.data(), whole_.size(), 0) == static_cast<ssize_t>(whole_.size()));
    for (const auto& [at, count] : changed_)
      require(pwrite(fd_, whole_.data() + at, count, static_cast<off_t>(at)) == static_cast<ssize_t>(count));
    changed_.clear();
    has_touched_books_ = false;
    // What the one who joined has left: its slot, and what it derived.
    require(pwrite(fd_, whole_.data(), kFront, 0) == ssize_t{kFront});
  }

 private:
  static constexpr size_t kFront =
      sizeof(device::LedgerHeader) + device::kMaxProcesses * sizeof(device::ProcessSlot);

  // Most of the file is room for whitelists and keys; most of what is looked at lies at its front. The slot
  // of the process that lives stays as it is: who waits for one that is ending waits for seconds.
  static uint64_t place(uint64_t number) {
    constexpr uint64_t kSlot = sizeof(device::LedgerHeader);
    const auto at = device::ledger_offsets(kCapacity / 2_MiB, kCapacity / 2_MiB, 1);
    const uint64_t in_front = number % at.whitelist;
    return in_front - kSlot < sizeof(device::ProcessSlot) ? in_front - kSlot : in_front;
  }

  std::string directory_;
  device::LedgerOptions options_;
  std::unique_ptr<device::Ledger> ledger_;
  std::vector<device::BlockId> blocks_;
  int fd_ = -1;
  std::vector<uint8_t> whole_;
  std::vector<std::pair<uint64_t, size_t>> changed_;
  bool is_cut_ = false;
  bool has_touched_books_ = false;  // what is behind the slots
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setenv("PLAT_LOG", "off", 0);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Victim victim;
  victim.damage({data, std::min(size, kInput)});
  victim.use();
  victim.restore();
  return 0;
}
