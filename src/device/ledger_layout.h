// SPDX-License-Identifier: Apache-2.0
// What the processes of one machine share about one device: the layout of its control file.
//
//   header | process slots | handle records | page records | page bitmap | handle bitmap | whitelist blocks |
//   IPC keys
//
// Ground truth is a handle's state, its holders (a bit for each process slot), its chain of pages and its
// whitelist. Everything else (bitmaps, counts, free lists) is derived and rebuilt from it when a process dies
// inside a change. All fields have a fixed width; the header says which layout and which boot of the machine
// wrote it.
//
// Everything is read and written under the device lock, and who gets that lock from the kernel sees what its
// last holder wrote before giving it back: atomic fields are loaded relaxed there. Commit words (`state`,
// `secret`, `transaction`) are nevertheless stored with release, after what they stand for, because a process
// can die between any two stores and the next one rebuilds from what it finds. What is read without the lock
// says so where it is read: `changes` and `transaction` by who copies the tables (ledger_verify.cpp works on
// such a copy, which nobody writes to); `small_free_bytes`, a number that no other memory hangs on;
// `committed` by who holds the block, and by who clears it: see PageState.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "device/ids.h"

namespace plat::device {

// Changes with nothing but the meaning of the first fields.
inline constexpr uint64_t kLedgerMagic = 0x52474C54414C5001;
inline constexpr uint32_t kLayoutVersion = 4;  // 2: a page may be Exposed; 3: changes are counted; 4: fabric
inline constexpr uint32_t kMaxProcesses = 256;
inline constexpr uint32_t kHolderWords = kMaxProcesses / 64;

// Bytes of the control file that serve as locks; they hold no data that anyone reads.
inline constexpr uint64_t kDeviceLockByte = 0;
inline constexpr uint64_t kAttachLockByte = 1;
inline constexpr uint64_t kSlotLockByte = 4096;  // + slot number; held for as long as the process lives
// + slot number; held instead while a process passes its locks on to another file description.
inline constexpr uint64_t kSlotSpareByte = 4096 + kMaxProcesses;

struct alignas(64) LedgerHeader {
  uint64_t magic;
  uint32_t layout_version;
  uint32_t slot_offset;  // these two let another version find the pids
  uint32_t slot_stride;
  uint32_t ready;  // written last at creation
  char boot_id[40];
  uint64_t total_bytes;
  uint64_t capacity_bytes;
  uint32_t page_count;
  uint32_t handle_count;
  uint32_t whitelist_count;
  uint32_t device_number;
  char product[16];
  uint64_t data_device;  // identity of the memory file
  uint64_t data_inode;
  uint64_t pid_namespace;     // of the machine's first process: pids of others mean nothing to it
  uint64_t next_incarnation;  // numbers processes, never reused
  // Incarnation of the process inside a change; not 0 when the lock is taken: it died.
  std::atomic<uint64_t> transaction;
  // Counted before each begins, so that a copy can be seen to be of one moment.
  std::atomic<uint64_t> changes;

  // Derived.
  uint32_t free_pages;
  uint32_t page_hint;
  uint32_t handle_hint;
  Link<ListId> free_whitelist;
  uint32_t scrub_count;  // blocks in state Scrub

  uint32_t server;  // of the super-pod; kNoServer: none
};

enum class SlotState : uint32_t { Free = 0, Live = 1 };

struct alignas(64) ProcessSlot {
  std::atomic<SlotState> state;
  int32_t pid;
  uint64_t start_time;
  uint64_t incarnation;
  uint64_t pid_namespace;
  int32_t data_fd;   // number of the memory file in that process
  int32_t bare_pid;  // what the process is called in whitelists
  char name[16];
  std::atomic<uint64_t> small_free_bytes;  // free small pages inside the 2 MiB pages that the process holds
};

enum class HandleState : uint32_t {
  Free = 0,
  Allocated = 1,
  Scrub = 2,  // no holder any more; `scrubber` is clearing its pages outside the lock
};

enum class Purpose : uint8_t { Physical, Device, SmallPages, Media, Pool, Host };

struct alignas(64) HandleRecord {
  std::atomic<HandleState> state;  // the commit word
  uint32_t generation;             // counts the lives of the record
  Link<PageId> first_page;
  uint32_t page_count;
  uint64_t holders[kHolderWords];
  uint64_t scrubber;      // incarnation
  uint64_t share_secret;  // 0: not exported
  uint64_t exporter;      // incarnation
  uint32_t share_flags;
  Link<ListId> whitelist;
  uint8_t attribute;  // aclrtMemAttr
  Purpose purpose;
  uint8_t location_type;
  uint8_t padding;
  uint32_t location_id;
  uint64_t fabric_key;  // random; 0: not exported to the fabric
};

// A key stands for part of a block. It ends when the exporter closes it, frees the block or dies; what was
// imported before stays with who imported it.
struct alignas(64) IpcRecord {
  std::atomic<uint64_t> secret;  // 0: free; the commit word
  uint64_t exporter;             // incarnation
  uint64_t offset_bytes;
  uint64_t size_bytes;
  BlockId handle;
  uint32_t handle_generation;
  uint32_t flags;
  Link<ListId> whitelist;
};
inline constexpr uint32_t kIpcKeys = 16384;

// What is behind a page. Taking is set before memory is taken, Nothing after it was given back: in between
// there may be some. Exposed: the host can reach the page, and takes memory for it as it likes.
//
// Holders of the block change the word without a lock, from any process. Taken is stored with release after
// the memory was taken, and who acquires it may write to the page; it stays until the page is cleared, and
// nothing else hangs on the other states, so that they are set, and looked at, relaxed. Who sees an old state
// takes memory that is there already, or exposes what is exposed, which changes nothing. What came before an
// owner's time cannot be seen: who clears a page stores Nothing before it gives the page back under the lock,
// after its last holder let go under the lock, and it is given out under the lock.
// tests/model/commit_test.cpp has all of this in small.
enum class PageState : uint32_t { Nothing = 0, Taking = 1, Taken = 2, Exposed = 3 };

struct PageRecord {
  Link<PageId> next;
  std::atomic<PageState> committed;
};

inline constexpr uint32_t kWhitelistPids = 14;
struct WhitelistBlock {
  Link<ListId> next;
  uint32_t count;
  int32_t pids[kWhitelistPids];
};

static_assert(sizeof(LedgerHeader) == 192);
static_assert(sizeof(ProcessSlot) == 64);
static_assert(sizeof(HandleRecord) == 128);
static_assert(sizeof(PageRecord) == 8);
static_assert(sizeof(WhitelistBlock) == 64);
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::is_standard_layout_v<HandleRecord> &&
              std::is_standard_layout_v<IpcRecord>);
static_assert(sizeof(HandleRecord) == 128 && sizeof(IpcRecord) == 64 && sizeof(PageRecord) == 8);

struct LedgerOffsets {
  uint64_t slots, handles, pages, page_bits, handle_bits, whitelist, ipc, total;
};

constexpr LedgerOffsets ledger_offsets(uint32_t page_count, uint32_t handle_count, uint32_t whitelist_count) {
  LedgerOffsets at{};
  const auto aligned = [](uint64_t n) { return (n + 63) & ~uint64_t{63}; };
  at.slots = sizeof(LedgerHeader);
  at.handles = aligned(at.slots + sizeof(ProcessSlot) * kMaxProcesses);
  at.pages = aligned(at.handles + sizeof(HandleRecord) * handle_count);
  at.page_bits = aligned(at.pages + sizeof(PageRecord) * page_count);
  at.handle_bits = aligned(at.page_bits + uint64_t{8} * ((page_count + 63) / 64));
  at.whitelist = aligned(at.handle_bits + uint64_t{8} * ((handle_count + 63) / 64));
  at.ipc = aligned(at.whitelist + sizeof(WhitelistBlock) * whitelist_count);
  at.total = (at.ipc + sizeof(IpcRecord) * kIpcKeys + 4095) & ~uint64_t{4095};
  return at;
}

}  // namespace plat::device
