// SPDX-License-Identifier: Apache-2.0
// The address space of device memory in this process: which range is reserved, what is mapped where.
//
// Two tables answer for any address without a lock: a page table (2 MiB pages), and a table of 1 GiB granules
// for the inside of large reservations, so that reserving 128 GiB writes some hundred entries and not 65,536.
// Writers hold Vmm::mutex_.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "core/page_table.h"
#include "core/range_allocator.h"
#include "core/stable_array.h"
#include "device/ids.h"
#include "device/product.h"
#include "vmm/broken_pages.h"
#include "vmm/ids.h"

namespace plat::vmm {

inline constexpr uint32_t kNone = UINT32_MAX;
inline constexpr uint64_t kGranuleBytes = 1_GiB;

enum class Origin : uint8_t { None, Own, Imported };

// Written under Vmm::mutex_, relaxed but for the last, `size_bytes`, which is released, as are the entries
// that name the reservation and are stored after it. Read relaxed under the mutex; by look-ups, after an
// entry that was acquired.
struct Reservation {
  std::atomic<uint64_t> start{0};
  std::atomic<uint64_t> size_bytes{0};  // 0: not live
  std::atomic<bool> internal{false};    // of malloc/, hidden from the seven steps
  bool from_window = false;             // the range allocator gave it, and takes it back
  bool huge_page_flag = false;
  bool cross_server = false;  // of all servers alike: takes memory of any place, page size and origin
  Home home;                  // fixed by the first mapping, for good
  Origin origin = Origin::None;
  uint64_t page_bytes = 0;
  uint32_t mapping_count = 0;
};

enum class MappingKind : uint8_t {
  Client,    // of aclrtMapMem
  Region,    // of malloc/
  Imported,  // by an IPC key
  Managed,   // of host and device alike
};

// Who uses one block among others of the same mapping.
struct BlockUsers {
  std::atomic<uint64_t> life{0};     // and which threads may remember it: see shortcuts.cpp
  std::atomic<uint32_t> counted{0};  // copies under way
};

// Tells which parts of a region are handed out. Must answer without a lock.
class SubBlocks {
 public:
  using Tag = std::atomic<uint64_t>;  // a word that changes when something ends
  struct Block {
    Va start;
    uint64_t size_bytes = 0;
    // While it holds the value, this block is there; nullptr when nothing tells.
    const Tag* tag = nullptr;
    uint64_t tag_value = 0;
    // Where the block's own users are counted, when it goes without the mapping; nullptr otherwise.
    BlockUsers* users = nullptr;
  };
  // The live block around `va`; nothing when that part is free.
  virtual std::optional<Block> block_at(Va va) const = 0;
  // Whether it is the tag of one of its blocks, or the life of the block's users.
  virtual bool has_tag(const Tag* tag) const = 0;
  // What the client asked for, for messages: calls round, and add bytes. Async-signal-safe.
  virtual uint64_t asked_bytes(const Block& block) const { return block.size_bytes; }

 protected:
  ~SubBlocks() = default;
};

// One cache line each: a look-up among very many touches one, and copies of two mappings do not share any.
//
// Orders (tests/model/pin_test.cpp has them in small, and shows that none can be weaker): all fields but
// `users` and `life` are written relaxed under Vmm::mutex_ while `users` is closing, then `users` is opened
// with release. They are read relaxed by who holds the mutex, and by who has pinned with acquire. Who has
// done neither (messages, look-ups of reservations) has read the page entry with acquire, which was stored
// with release after the fields; what it reads may be of a later life, and is never torn.
struct alignas(64) Mapping {
  static constexpr int32_t kClosing = -1;

  std::atomic<uint64_t> start{0};
  std::atomic<uint64_t> size_bytes{0};
  std::atomic<uint64_t> device_access{0};  // a bit for each device, by its physical number
  std::atomic<const SubBlocks*> sub_blocks{nullptr};
  mutable std::atomic<int32_t> users{kClosing};  // copies under way; kClosing: not mapped, or being unmapped
  std::atomic<ReservationId> reservation{};
  std::atomic<HandleIndex> handle{};     // of a Client mapping: index in the physical table
  device::BlockId block;                 // of the ledger
  uint32_t host_pieces = 0;              // how many pieces are mapped for the host
  std::atomic<uint16_t> bank_number{0};  // see bank()
  std::atomic<bool> host_access{false};  // the host was granted access, or owns the memory
  std::atomic<MappingKind> kind{MappingKind::Client};
  mutable std::atomic<uint64_t> life{0};  // and which threads may remember it: see shortcuts.cpp

  device::BankId bank() const { return device::BankId(bank_number.load(std::memory_order_relaxed)); }
  void set_bank(device::BankId bank) {
    bank_number.store(static_cast<uint16_t>(bank.value), std::memory_order_relaxed);
  }
};
static_assert(sizeof(Mapping) == 64);

// One entry of the page table.
struct PageEntry {
  uint64_t raw = 0;

  // Remote: mapped, and the memory is another server's. Whoever asks for Mapped asks for pages that are here.
  enum Tag : uint64_t { Nothing = 0, Reserved = 1, Mapped = 2, Remote = 3 };
  Tag tag() const { return static_cast<Tag>(raw & 3); }
  // Here or elsewhere.
  bool has_mapping() const { return (raw & 2) != 0; }
  ReservationId reservation() const { return ReservationId(static_cast<uint32_t>(raw >> 2)); }
  device::PageId page() const { return device::PageId(static_cast<uint32_t>(raw >> 2 & 0xFFFFFF)); }
  MappingId mapping() const { return MappingId(static_cast<uint32_t>(raw >> 26 & 0xFFFFFF)); }
  device::BankId bank() const { return device::BankId(static_cast<uint32_t>(raw >> 50 & 0x7F)); }

  static PageEntry reserved(ReservationId reservation) {
    return {uint64_t{reservation.value} << 2 | Reserved};
  }
  static PageEntry mapped(MappingId mapping, device::BankId bank, device::PageId page) {
    return {uint64_t{bank.value} << 50 | uint64_t{mapping.value} << 26 | uint64_t{page.value} << 2 | Mapped};
  }
  // `bank` is that of the device that imported it; `page` counts from the beginning of the import.
  static PageEntry remote(MappingId mapping, device::BankId bank, device::PageId page) {
    return {mapped(mapping, bank, page).raw | Remote};
  }
};

class AddressSpace {
 public:
  AddressSpace();
  ~AddressSpace();

  // Lock-free.
  PageEntry entry(Va va) const { return {pages_.load(va)}; }
  // Whether device memory may lie there, now or at another time: programs and the kernel place nothing of
  // their own in the window.
  bool is_device_address(Va va) const {
    // All that was ever reserved lies between two addresses, and nearly all memory of the host outside.
    if (va.value < lowest_.load(std::memory_order_relaxed) ||
        va.value >= highest_.load(std::memory_order_relaxed)) [[likely]]
      return false;
    return (va.value >= device::kWindowStart && va.value < kOverflowEnd) || is_set_aside(va.value) ||
           reservation_at(va) != ReservationId::none();
  }
  // Tells address spaces apart in what threads remember.
  uint64_t serial() const { return serial_; }
  // None when the address belongs to no reservation.
  ReservationId reservation_at(Va va) const;
  const Reservation* reservation(ReservationId id) const { return reservations_.find(id.value); }
  const Mapping* mapping(MappingId id) const { return mappings_.find(id.value); }

  const BrokenPages& broken() const { return broken_; }

  // Writers.
  BrokenPages& broken() { return broken_; }
  Reservation* reservation(ReservationId id) { return reservations_.find(id.value); }
  Mapping* mapping(MappingId id) { return mappings_.find(id.value); }

  // Of an index that is known to be taken.
  const Reservation& live_reservation(ReservationId id) const { return reservations_.at(id.value); }
  const Mapping& live_mapping(MappingId id) const { return mappings_.at(id.value); }
  Reservation& live_reservation(ReservationId id) { return reservations_.at(id.value); }
  Mapping& live_mapping(MappingId id) { return mappings_.at(id.value); }
  // `expected` 0: anywhere at the alignment. The size is in whole pages.
  Result<ReservationId> reserve(uint64_t size_bytes, uint64_t alignment, Va expected);
  void release(ReservationId id);
  void abandon_in_child() const;

  MappingId take_mapping() { return MappingId(mappings_.take()); }
  void give_back_mapping(MappingId id) { mappings_.give_back(id.value); }
  static bool is_full(MappingId id) { return id.value >= kMappingLimit; }
  void store(Va page, PageEntry entry) { pages_.store(page, entry.raw); }
  bool prepare(Va start, uint64_t size_bytes) { return pages_.prepare(start, size_bytes); }
  // What an unmapped page of the reservation looks like.
  PageEntry vacant(ReservationId reservation, Va page) const;

  uint64_t reserved_bytes() const { return reserved_bytes_; }
  uint32_t mapping_count() const { return mappings_.live(); }
  uint32_t mapping_slots() const { return mappings_.size(); }
  uint32_t reservation_slots() const { return reservations_.size(); }

 private:
  static constexpr uint32_t kMappingLimit = 1024 * 16384;
  // Program text and the kernel's own choice of addresses begin above.
  static constexpr uint64_t kOverflowEnd = 80_TiB;
  static constexpr uint64_t kGranules = uint64_t{1} << (core::kAddressBits - 30);

  Result<uint64_t> take_addresses(uint64_t size_bytes, uint64_t alignment, Va expected, bool& from_window);
  bool is_set_aside(uint64_t address) const { return address - set_aside_ < set_aside_bytes_; }
  // Asks the system for addresses of a window, or gives them back to it.
  bool hold(uint64_t start, uint64_t size_bytes);
  void let_go(uint64_t start, uint64_t size_bytes);
  core::RangeAllocator& window_of(uint64_t start);
  void widen(uint64_t start, uint64_t size_bytes);
  bool covers_granule(const Reservation& range, uint64_t granule) const;
  void paint(ReservationId id, bool live);

  core::PageTable pages_;
  std::unique_ptr<std::atomic<uint32_t>[]> granules_;  // reservation + 1, where it covers the whole granule
  core::StableArray<Reservation> reservations_;
  core::StableArray<Mapping> mappings_;
  BrokenPages broken_;
  core::RangeAllocator window_;    // 16 to 24 TiB
  core::RangeAllocator overflow_;  // above it
  // Where fixed addresses are not to be had: addresses that the system chose once, and that play the window.
  uint64_t set_aside_ = 0;
  uint64_t set_aside_bytes_ = 0;
  // Relaxed: they only ever widen, before the address of a reservation is handed out; who has such an address
  // got it from the thread that widened them, or guessed it, and is then told what others are told of the
  // host.
  std::atomic<uint64_t> lowest_{device::kWindowStart};
  std::atomic<uint64_t> highest_{kOverflowEnd};
  const uint64_t serial_;
  uint64_t reserved_bytes_ = 0;
};

}  // namespace plat::vmm
