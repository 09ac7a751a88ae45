// SPDX-License-Identifier: Apache-2.0
// The ledger of one device: who holds which pages. Shared by all processes of a machine, and it survives any
// of them.
//
// Every change happens under Lock: a process-wide mutex and then a byte lock of the control file, which the
// kernel drops when the process ends. A process that finds the mark of a dead one inside a change rebuilds
// what is derived from the ground truth. Lock order: above (vmm) -> Ledger::mutex_ -> device lock byte.
// Nothing is called back under the lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/bitmap.h"
#include "device/ids.h"
#include "device/ledger_layout.h"
#include "os/file.h"
#include "os/process.h"

namespace plat::device {

// Whoever waits for another process longer than this says so.
inline constexpr uint64_t kComplainAfterNs = 1'000'000'000;

struct LedgerOptions {
  std::string control_path;  // empty: private to this process
  std::string data_path;     // empty: a memory file, reached through the processes that hold it
  uint64_t capacity_bytes = 0;
  std::string product;
  bool capacity_is_firm = false;  // a running machine with another capacity is a conflict
  uint32_t device_number = 0;
  uint32_t server = 0;          // of the super-pod
  uint64_t home_namespace = 0;  // of the machine, if it runs already; 0: this process is the first
};

struct BlockInfo {
  uint8_t attribute = 0;
  Purpose purpose = Purpose::Physical;
  uint8_t location_type = 0;
  uint32_t location_id = 0;
  uint64_t asked_bytes = 0;  // what the program asked for, for messages; 0: whole pages
};

// What a process holds of one device, for people.
struct Holder {
  int32_t pid = 0;
  std::string name;
  uint64_t bytes = 0;         // of blocks it holds, shared ones included
  uint64_t shared_bytes = 0;  // of blocks that others hold too
  uint32_t blocks = 0;
};

struct Usage {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;       // small pages inside held 2 MiB pages included
  uint64_t free_page_bytes = 0;  // whole 2 MiB pages only
};

class Ledger {
 public:
  // Gives pages [first, first + count) back to the system.
  using Discard = std::function<void(PageId first_page, uint32_t count)>;

  static Result<std::unique_ptr<Ledger>> attach(const LedgerOptions& options);
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  ~Ledger();

  uint64_t capacity_bytes() const { return header_->capacity_bytes; }
  uint32_t page_count() const { return header_->page_count; }
  const std::string product() const { return header_->product; }
  uint64_t home_namespace() const { return header_->pid_namespace; }
  int data_fd() const { return data_.get(); }
  bool data_fd_is_ours() const;
  // Must be called before anything is allocated or released; then what the dead left is cleared.
  void begin(Discard discard);

  // A block of pages that this process holds from now on. Its index is good until it is released.
  Result<BlockId> allocate(uint64_t page_count, const BlockInfo& info);
  // Drops this process's hold; the last one to do so gives the pages back.
  void release(BlockId block);
  // A block, already validated by the caller under the lock, is held by this process too, or once more: as
  // often as it is held it must be released.
  void hold_locked(BlockId block);
  bool held_by_me_locked(BlockId block) const;
  bool held_by_others_locked(BlockId block) const;

  // The block's pages in order. Needs no lock while the block is held.
  template <class Each>
  void for_each_page(BlockId block, Each&& each) const {
    for (Link<PageId> at = record(block).first_page; at; at = page(*at).next) each(*at);
  }
  PageRecord& page(PageId page) const { return pages_[page.value]; }
  HandleRecord& record(BlockId block) const { return handles_[block.value]; }
  uint32_t handle_count() const { return header_->handle_count; }

  // Reaps the dead first, so that what it says includes nothing of theirs.
  Usage usage();
  std::vector<Holder> holders();

  // What a process is called in whitelists. A pid of another namespace could be the pid of somebody else at
  // home, so such a process gets a number that no pid can be. `home_namespace` 0: there is nobody else yet.
  static int32_t bare_pid(const os::ProcessIdentity& process, uint64_t home_namespace);

  // My own place in the ledger.
  ProcessSlot& my_slot() { return slots_[slot_.value]; }
  uint64_t incarnation() const { return incarnation_; }

  // The lock of the device, for the few operations that live above the ledger (sharing).
  class Lock {
   public:
    explicit Lock(Ledger& ledger) : ledger_(ledger) { ledger_.acquire(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock() { ledger_.give_up(); }

   private:
    Ledger& ledger_;
  };

  // Whitelists hang on a handle or an IPC record by their first part. All under the lock.
  // Adding leaves out what is there already, and returns false when there is no room; then nothing was added.
  bool add_to_whitelist_locked(Link<ListId>& head, std::span<const int32_t> pids);
  bool is_whitelisted_locked(Link<ListId> head, int32_t pid) const;
  void drop_whitelist_locked(Link<ListId>& head);

  // IPC keys, under the lock.
  IpcRecord& ipc(KeyId key) const { return ipc_[key.value]; }
  std::optional<KeyId> free_ipc_locked() const;
  void drop_ipc_locked(KeyId key);

  // Compares everything derived with the ground truth; the first difference, or "". For tests and `plat info
  // --verify`.
  std::string verify();

  // After fork: the child must not keep the parent's locks alive. Async-signal-safe.
  void abandon_in_child();
  // The same for the one that a thread of the parent was opening at that moment, if any. Harmless if it is
  // done twice.
  static void abandon_newest_in_child();

 private:
  Ledger() = default;

  // Joining (ledger_attach.cpp).
  Result<> open_control(const LedgerOptions& options);
  Result<> join(const LedgerOptions& options);
  Result<> create_layout(const LedgerOptions& options);
  Result<> check_layout(const LedgerOptions& options);
  Result<> map_control(uint64_t size_bytes);
  Result<> take_slot();
  Result<> open_data(const LedgerOptions& options, bool created);
  bool a_peer_is_ending() const;
  void leave_slot();
  std::string a_user() const;

  // The lock and what follows a death (ledger_recovery.cpp).
  void acquire();
  void give_up();
  void take_device_lock();
  bool control_fd_is_ours() const;
  void reopen_control();
  void pass_locks_on();
  [[noreturn]] void end_process(const char* why) const;
  void drop_keys_of_locked(const std::vector<uint64_t>& exporters);
  void rebuild_locked();
  bool slot_is_alive(SlotId slot) const;
  bool incarnation_is_alive(uint64_t incarnation) const;
  // Takes the holds of dead processes away; blocks that nobody holds any more are added to `to_scrub`.
  void reap_locked(std::vector<BlockId>& to_scrub);
  // Clears the pages of blocks in state Scrub and frees them. Not under the lock.
  void scrub(std::span<const BlockId> blocks);
  void reap();
  // Says once if somebody removed the control file: whoever joins from now on is on another machine.
  void look_after_file();

  Result<> allow_by_plan_locked(uint64_t page_count) const;
  Link<PageId> take_pages_locked(uint64_t wanted);
  void free_block_locked(BlockId block);
  void begin_scrub_locked(BlockId block, uint64_t scrubber);
  bool drop_hold_locked(BlockId block, SlotId slot);
  bool has_committed_pages(BlockId block) const;
  Usage usage_locked();
  // What others are clearing at this moment, by who does it.
  struct Clearing {
    int32_t pid = 0;  // 0: nobody any more
    std::string name;
    uint64_t pages = 0;
    bool is_stopped = false;  // it will not get on until somebody continues it
  };
  std::vector<Clearing> clearing_locked() const;
  // "1 GiB by pid 17 (python), which is stopped"
  static std::string describe(const std::vector<Clearing>& clearing);
  Error out_of_memory_locked(uint64_t page_count, uint64_t asked_bytes);
  std::vector<Holder> holders_locked();

  auto blocks() const { return ids<BlockId>(header_->handle_count); }
  static auto slots() { return ids<SlotId>(kMaxProcesses); }
  static auto keys() { return ids<KeyId>(kIpcKeys); }
  ProcessSlot& slot(SlotId slot) const { return slots_[slot.value]; }
  WhitelistBlock& part(ListId part) const { return whitelist_[part.value]; }
  core::BitWords page_bits() const { return {page_bits_, (header_->page_count + 63) / 64}; }
  core::BitWords handle_bits() const { return {handle_bits_, (header_->handle_count + 63) / 64}; }

  // Threads of this process share one lock description, so the byte lock does not part them.
  std::mutex mutex_;
  os::Fd control_;
  os::Fd data_;
  std::string control_path_;
  os::FileIdentity control_identity_;
  os::FileIdentity data_identity_;
  std::byte* base_ = nullptr;
  uint64_t mapped_bytes_ = 0;
  LedgerHeader* header_ = nullptr;
  ProcessSlot* slots_ = nullptr;
  HandleRecord* handles_ = nullptr;
  PageRecord* pages_ = nullptr;
  uint64_t* page_bits_ = nullptr;
  uint64_t* handle_bits_ = nullptr;
  WhitelistBlock* whitelist_ = nullptr;
  IpcRecord* ipc_ = nullptr;
  os::ProcessIdentity me_;
  std::atomic<bool> told_of_removal_{false};
  SlotId slot_;
  uint64_t incarnation_ = 0;
  Discard discard_;
  std::map<BlockId, uint32_t> further_holds_;  // of blocks that this process holds more than once
};

}  // namespace plat::device
