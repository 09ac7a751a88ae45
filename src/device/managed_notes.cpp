// SPDX-License-Identifier: Apache-2.0
#include "device/managed_notes.h"

#include <algorithm>
#include <array>
#include <memory>

#include "os/doorbell.h"
#include "os/process.h"

namespace plat::device {

namespace {

constexpr const char* kFileName = "plat-managed";
constexpr uint64_t kMagic = 0x31'64'67'61'6e'61'6d'70;  // "pmanagd1"
constexpr int kLooks = 16;  // until two in a row are the same: the process may be writing

}  // namespace

struct ManagedNotes::Layout {
  struct Header {
    uint64_t magic = kMagic;
    int32_t pid = 0;
    uint32_t count = 0;
    uint64_t start_time = 0;
  };
  Header header;
  std::array<ManagedNote, kBlocksMax> blocks;
};

void ManagedNotes::prepare() {
  if (file_) return;
  self_ = os::this_process();
  file_ = os::move_high(os::create_memory_file(kFileName, sizeof(Layout)));
}

void ManagedNotes::tell(std::span<const ManagedNote> blocks) {
  if (!file_) return;
  const auto count = static_cast<uint32_t>(std::min(blocks.size(), kBlocksMax));
  const Layout::Header header{kMagic, self_.pid, count, self_.start_time};
  os::write_at(file_.get(), blocks.data(), count * sizeof(ManagedNote), sizeof header);
  os::write_at(file_.get(), &header, sizeof header, 0);
}

std::vector<ManagedNote> ManagedNotes::of(int32_t pid) {
  const auto notes = std::make_unique<Layout>();
  const auto again = std::make_unique<Layout>();
  const os::Fd file = os::find_memory_file(pid, kFileName, [&](int fd) {
    // A child keeps the files of its parent open; and a number is given to another process one day.
    return os::read_at(fd, notes.get(), sizeof(Layout), 0) && notes->header.magic == kMagic &&
           notes->header.pid == pid && notes->header.start_time == os::start_time_of(pid);
  });
  if (!file) return {};
  for (int look = 0; look < kLooks; ++look) {
    if (!os::read_at(file.get(), again.get(), sizeof(Layout), 0)) return {};
    const bool is_whole = again->header.count == notes->header.count && again->blocks == notes->blocks;
    *notes = *again;
    if (is_whole) break;
  }
  const size_t count = std::min<size_t>(notes->header.count, kBlocksMax);
  return {notes->blocks.begin(), notes->blocks.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace plat::device
