// SPDX-License-Identifier: Apache-2.0
// Joining a machine: opening or creating its control file, taking a process slot, reaching the memory file.
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/units.h"
#include "core/page_table.h"
#include "device/crash.h"
#include "device/ledger.h"
#include "device/ledger_verify.h"
#include "device/liveness.h"
#include "device/report.h"
#include "device/super_pod.h"
#include "os/memory.h"
#include "os/patience.h"
#include "rules/rules.h"

namespace plat::device {

namespace {

// Room for the whitelists of a machine: 64 bytes for 14 pids.
constexpr uint32_t kWhitelistBlocks = 32768;
constexpr uint64_t kAttachPatienceNs = 30'000'000'000;
constexpr uint64_t kEndPatienceNs = 10'000'000'000;
constexpr uint32_t kJoinPollMicroseconds = 200;

template <size_t N>
void copy_text(char (&target)[N], const std::string& text) {
  std::memset(target, 0, N);
  std::memcpy(target, text.data(), std::min(text.size(), N - 1));
}

// A file that cannot be had: by a limit of the process, or for another reason.
Failed no_file(const std::string& what, int error) {
  const char* limit = error == EFBIG    ? "ulimit -f"
                      : error == EMFILE ? "ulimit -n"
                      : error == ENOMEM ? "ulimit -v"
                                        : "";
  if (*limit != 0)
    return fail(RuleId::DeviceLimits, "deviceId", "{}: {} ({})", what, std::strerror(error), limit);
  return fail(RuleId::DeviceOpen, "deviceId", "{}: {}", what, std::strerror(error));
}

}  // namespace

int32_t Ledger::bare_pid(const os::ProcessIdentity& process, uint64_t home_namespace) {
  if (home_namespace == 0 || process.pid_namespace == home_namespace) return process.pid;
  const uint64_t mixed =
      (process.pid_namespace << 32 ^ static_cast<uint64_t>(process.pid)) * 0x9E3779B97F4A7C15u;
  return static_cast<int32_t>(0x40000000u | (mixed >> 34 & 0x3FFFFFFFu));
}

namespace {

// The ledger that was made last: until the machine knows it, a forked child finds its files here.
std::atomic<Ledger*> newest{nullptr};

}  // namespace

Result<std::unique_ptr<Ledger>> Ledger::attach(const LedgerOptions& options) {
  std::unique_ptr<Ledger> ledger(new Ledger);
  newest.store(ledger.get(), std::memory_order_release);
  ledger->me_ = os::this_process();
  // One process at a time creates or joins. The lock goes with the process, should it die in between.
  os::Patience patience(kAttachPatienceNs);
  bool is_in_place = false;
  while (!is_in_place) {
    PLAT_TRY(ledger->open_control(options));
    while (os::try_lock_byte(ledger->control_.get(), kAttachLockByte) == EAGAIN) {
      if (patience.is_over())
        return fail(RuleId::DeviceOpen, "deviceId",
                    "{}: another process has been joining for 30 s (is it stopped?)", options.control_path);
      os::sleep_microseconds(kJoinPollMicroseconds);
    }
    // A file that was removed (machines.h) between opening and locking is one that nobody else will find.
    const auto identity = os::identify(ledger->control_.get());
    is_in_place = options.control_path.empty() || !identity || identity->has_name;
  }
  const auto joined = ledger->join(options);
  os::unlock_byte(ledger->control_.get(), kAttachLockByte);
  if (!joined) return forward(joined.error());
  return ledger;
}

Result<> Ledger::open_control(const LedgerOptions& options) {
  control_path_ = options.control_path;
  os::Fd opened = options.control_path.empty() ? os::create_memory_file("plat-control", 0)
                                               : os::open_private_file(options.control_path, true);
  if (!opened) return no_file("control file " + options.control_path, errno);
  // First what it is: a child that is forked now closes the file by it, before a lock is taken with it.
  control_identity_ = os::identify(opened.get()).value_or(os::FileIdentity{});
  control_ = std::move(opened);
  if (const int error = os::try_lock_byte(control_.get(), kAttachLockByte); error != 0 && error != EAGAIN)
    return fail(RuleId::DeviceOpen, "deviceId", "control file {}: no byte-range locks here ({})",
                options.control_path, std::strerror(error));
  return {};
}

Result<> Ledger::join(const LedgerOptions& options) {
  if (!control_fd_is_ours())
    return fail(RuleId::DeviceOpen, "deviceId", "control file {} is gone", options.control_path);
  os::Patience patience(kEndPatienceNs);
  for (;;) {
    // With nobody alive whatever is there is left over, be it of an older version or of an earlier boot.
    const bool create = !anybody_lives(control_.get());
    if (create) {
      PLAT_TRY(create_layout(options));
    } else {
      PLAT_TRY(check_layout(options));
    }
    PLAT_TRY(take_slot());
    auto opened = open_data(options, create);
    if (opened || create || !a_peer_is_ending() || patience.is_over()) return opened;
    leave_slot();
    os::sleep_microseconds(kJoinPollMicroseconds);
  }
}

// A process that ends has no files any more, but keeps its lock until all its memory is given back, which
// takes a while. Then the machine is free for whoever comes next.
bool Ledger::a_peer_is_ending() const {
  for (const SlotId id : slots()) {
    if (id == slot_ || slot(id).state.load(std::memory_order_acquire) != SlotState::Live ||
        !slot_is_alive(id))
      continue;
    if (slot(id).pid_namespace == me_.pid_namespace && os::has_open_files(slot(id).pid)) return false;
  }
  return true;
}

void Ledger::leave_slot() {
  my_slot().state.store(SlotState::Free, std::memory_order_release);
  os::unlock_byte(control_.get(), kSlotLockByte + slot_.value);
  os::unmap(base_, mapped_bytes_);
  base_ = nullptr;
}

// A process that holds a slot, as far as the layout's stable fields tell.
std::string Ledger::a_user() const {
  LedgerHeader h{};
  if (!os::read_at(control_.get(), &h, sizeof h, 0)) return "another process";
  for (const SlotId slot : slots()) {
    ProcessSlot record{};
    const uint64_t at = h.slot_offset + uint64_t{slot.value} * h.slot_stride;
    // Of another version no more is known than where the pid stands.
    const size_t known_bytes =
        h.layout_version == kLayoutVersion ? sizeof record : offsetof(ProcessSlot, start_time);
    if (os::read_at(control_.get(), &record, known_bytes, at) && record.pid != 0 &&
        device::slot_is_alive(control_.get(), slot, record, me_.pid_namespace))
      return fmt::format("pid {}", record.pid);
  }
  return "another process";
}

Result<> Ledger::map_control(uint64_t size_bytes) {
  base_ = os::map_shared(control_.get(), 0, size_bytes);
  if (base_ == nullptr) return no_file("control file " + control_path_, errno);
  mapped_bytes_ = size_bytes;
  header_ = reinterpret_cast<LedgerHeader*>(base_);
  return {};
}

Result<> Ledger::create_layout(const LedgerOptions& options) {
  const auto page_count = static_cast<uint32_t>(options.capacity_bytes / core::kPageBytes);
  const LedgerOffsets at = ledger_offsets(page_count, page_count, kWhitelistBlocks);
  int error = os::set_size(control_.get(), 0);
  crash_point("create-empty");
  if (error == 0) error = os::set_size(control_.get(), at.total);
  // Taken now: a store into a file that turns out to have no room would kill the process.
  if (error == 0) error = os::commit(control_.get(), 0, at.total);
  if (error == EOPNOTSUPP) error = 0;
  if (error != 0) return no_file("control file " + control_path_, error);
  PLAT_TRY(map_control(at.total));
  LedgerHeader& h = *header_;
  h.magic = kLedgerMagic;
  h.layout_version = kLayoutVersion;
  h.slot_offset = static_cast<uint32_t>(at.slots);
  h.slot_stride = sizeof(ProcessSlot);
  copy_text(h.boot_id, os::boot_id());
  h.total_bytes = at.total;
  h.capacity_bytes = options.capacity_bytes;
  h.page_count = page_count;
  h.handle_count = page_count;
  h.whitelist_count = kWhitelistBlocks;
  h.device_number = options.device_number;
  h.server = options.server;
  copy_text(h.product, options.product);
  h.pid_namespace = options.home_namespace != 0 ? options.home_namespace : me_.pid_namespace;
  h.next_incarnation = 1;
  crash_point("create-header");
  return {};
}

Result<> Ledger::check_layout(const LedgerOptions& options) {
  LedgerHeader h{};
  const uint64_t size_bytes = os::identify(control_.get()).value_or(os::FileIdentity{}).size_bytes;
  const bool whole = os::read_at(control_.get(), &h, sizeof h, 0);
  // A look at what is not there would end the process.
  if (!whole || (h.layout_version == kLayoutVersion && size_bytes < h.total_bytes))
    return fail(RuleId::DeviceOpen, "deviceId",
                "control file {} has been cut to {} bytes while {} uses it; end that process, and the "
                "next one makes the file anew",
                control_path_, size_bytes, a_user());
  if (h.magic != kLedgerMagic || h.layout_version != kLayoutVersion || h.ready != 1)
    return fail(RuleId::DeviceVersion, "deviceId",
                "control file {} has layout {}, this library has {}; {} uses it", control_path_,
                h.layout_version, kLayoutVersion, a_user());
  if (!is_consistent(h))
    return fail(RuleId::DeviceOpen, "deviceId", "control file {} contradicts itself; {} uses it",
                control_path_, a_user());
  const bool capacity_differs = options.capacity_is_firm && h.capacity_bytes != options.capacity_bytes;
  const bool product_differs = options.product != h.product;
  if (capacity_differs || product_differs)
    return fail(RuleId::DeviceConflict, "deviceId",
                "device {} runs as {} with {} bytes ({} uses it), this process wants {} with {} bytes",
                h.device_number, h.product, h.capacity_bytes, a_user(), options.product,
                options.capacity_bytes);
  if (options.server != h.server)
    return fail(RuleId::DeviceConflict, "deviceId",
                "device {} is of server {} ({} uses it), this process wants server {} ({} is none)",
                h.device_number, h.server, a_user(), options.server, kNoServer);
  return map_control(h.total_bytes);
}

Result<> Ledger::take_slot() {
  const LedgerHeader& h = *header_;
  const LedgerOffsets at = ledger_offsets(h.page_count, h.handle_count, h.whitelist_count);
  slots_ = reinterpret_cast<ProcessSlot*>(base_ + at.slots);
  handles_ = reinterpret_cast<HandleRecord*>(base_ + at.handles);
  pages_ = reinterpret_cast<PageRecord*>(base_ + at.pages);
  page_bits_ = reinterpret_cast<uint64_t*>(base_ + at.page_bits);
  handle_bits_ = reinterpret_cast<uint64_t*>(base_ + at.handle_bits);
  whitelist_ = reinterpret_cast<WhitelistBlock*>(base_ + at.whitelist);
  ipc_ = reinterpret_cast<IpcRecord*>(base_ + at.ipc);
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (const SlotId id : slots()) {
      ProcessSlot& mine = slot(id);
      if (mine.state.load(std::memory_order_acquire) != SlotState::Free) continue;
      if (os::try_lock_byte(control_.get(), kSlotLockByte + id.value) != 0) continue;
      slot_ = id;
      incarnation_ = header_->next_incarnation++;
      mine.pid = me_.pid;
      mine.start_time = me_.start_time;
      mine.incarnation = incarnation_;
      mine.pid_namespace = me_.pid_namespace;
      mine.data_fd = -1;
      mine.bare_pid = bare_pid(me_, h.pid_namespace);
      copy_text(mine.name, os::process_name(me_.pid));
      mine.small_free_bytes.store(0, std::memory_order_relaxed);
      crash_point("slot-filled");
      mine.state.store(SlotState::Live, std::memory_order_release);
      crash_point("slot-live");
      return {};
    }
    std::vector<BlockId> nothing_to_scrub_yet;  // what the dead held is found again by the reap after joining
    const Lock lock(*this);
    reap_locked(nothing_to_scrub_yet);
  }
  return fail(RuleId::DeviceProcesses, "deviceId", "all {} process slots of device {} are taken",
              kMaxProcesses, h.device_number);
}

Result<> Ledger::open_data(const LedgerOptions& options, bool created) {
  LedgerHeader& h = *header_;
  if (!options.data_path.empty()) {
    data_ = os::open_private_file(options.data_path, created);
    const auto identity = data_ ? os::identify(data_.get()) : std::nullopt;
    // Two files under one ledger would be two memories that each take for the other's.
    if (!created && (identity ? identity->inode != h.data_inode : errno == ENOENT))
      return fail(RuleId::DeviceOpen, "deviceId",
                  "data file {} was removed or replaced while {} uses it; end the processes of this "
                  "machine first",
                  options.data_path, a_user());
    if (data_ && created) os::set_size(data_.get(), 0);
    if (const int error = data_ ? os::set_size(data_.get(), h.capacity_bytes) : errno; error != 0)
      return no_file("data file " + options.data_path, error);
  } else if (created) {
    data_ = os::create_memory_file("plat-memory", h.capacity_bytes);
    if (!data_) return no_file(fmt::format("memory file of {} bytes", h.capacity_bytes), errno);
  } else {
    // Every process that holds the file offers it through /proc. One may be ending, so all are asked.
    for (const SlotId id : slots()) {
      const ProcessSlot& peer = slot(id);
      if (data_) break;
      if (id == slot_ || peer.state.load(std::memory_order_acquire) != SlotState::Live) continue;
      data_ = os::move_high(os::open_from_process(peer.pid, peer.data_fd, h.data_device, h.data_inode));
    }
    if (!data_)
      return fail(RuleId::DeviceOpen, "deviceId",
                  "device {}: the memory of the machine cannot be reached through /proc of the processes "
                  "that hold it ({}): they run in another container or forbid it; set PLAT_DIR to a "
                  "shared directory for all of them",
                  h.device_number, a_user());
  }
  data_identity_ = os::identify(data_.get()).value_or(os::FileIdentity{});
  if (created) {
    h.data_device = data_identity_.device;
    h.data_inode = data_identity_.inode;
    // All whitelist blocks are free; the rest of a fresh file is zero, which is what an empty ledger looks
    // like.
    for (uint32_t number = h.whitelist_count; number-- > 0; h.free_whitelist = Link(ListId(number)))
      part(ListId(number)).next = h.free_whitelist;
    h.free_pages = h.page_count;
    h.ready = 1;
  }
  my_slot().data_fd = data_.get();
  crash_point("joined");
  return {};
}

Ledger::~Ledger() {
  Ledger* me = this;
  newest.compare_exchange_strong(me, nullptr);
  // Numbers that the program closed may be files of its own by now, which stay open.
  if (control_identity_.inode != 0 && !control_fd_is_ours()) control_.release();
  if (data_identity_.inode != 0 && !data_fd_is_ours()) data_.release();
  if (base_ != nullptr) os::unmap(base_, mapped_bytes_);
}

void Ledger::abandon_newest_in_child() {
  if (Ledger* joining = newest.load(std::memory_order_acquire)) joining->abandon_in_child();
}

void Ledger::abandon_in_child() {
  // The mappings are not inherited; closing the descriptors leaves the parent's locks alone. A number that
  // the program closed may be a file of its own by now.
  const bool control_is_ours = control_fd_is_ours();
  const bool data_is_ours = data_fd_is_ours();
  const int control = control_.release();
  const int data = data_.release();
  if (control_is_ours) os::close_number(control);
  if (data_is_ours) os::close_number(data);
  base_ = nullptr;
}

}  // namespace plat::device
