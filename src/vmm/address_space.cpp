// SPDX-License-Identifier: Apache-2.0
#include "vmm/address_space.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "device/product.h"
#include "device/report.h"
#include "os/memory.h"
#include "rules/rules.h"

namespace plat::vmm {

namespace {
// AddressSanitizer's shadow ends 2 GiB above 16 TiB.
constexpr uint64_t kFirstAutomatic = device::kWindowStart + 4_GiB;
constexpr uint64_t kSetAsideBytes = 256_GiB;  // ThreadSanitizer leaves 1.5 TiB to the whole program

std::atomic<uint64_t> g_serial{0};
}  // namespace

AddressSpace::AddressSpace() : granules_(new std::atomic<uint32_t>[kGranules]()), serial_(++g_serial) {
  if (os::fixed_addresses_allowed()) {
    window_.add(kFirstAutomatic, device::kWindowEnd);
    overflow_.add(device::kWindowEnd, kOverflowEnd);
    return;
  }
  set_aside_ = os::reserve_address(0, kSetAsideBytes);
  if (set_aside_ == 0) return;
  set_aside_bytes_ = kSetAsideBytes;
  widen(set_aside_, set_aside_bytes_);
  window_.add(set_aside_, set_aside_ + set_aside_bytes_);
}

void AddressSpace::widen(uint64_t start, uint64_t size_bytes) {
  if (start < lowest_.load(std::memory_order_relaxed)) lowest_.store(start, std::memory_order_relaxed);
  const uint64_t end = start + size_bytes;
  if (end > highest_.load(std::memory_order_relaxed)) highest_.store(end, std::memory_order_relaxed);
}

AddressSpace::~AddressSpace() {
  if (set_aside_ != 0) os::release_address(set_aside_, set_aside_bytes_);
}

bool AddressSpace::hold(uint64_t start, uint64_t size_bytes) {
  return is_set_aside(start) || os::reserve_address(start, size_bytes) != 0;
}

void AddressSpace::let_go(uint64_t start, uint64_t size_bytes) {
  if (!is_set_aside(start)) os::release_address(start, size_bytes);
}

core::RangeAllocator& AddressSpace::window_of(uint64_t start) {
  return is_set_aside(start) || start < device::kWindowEnd ? window_ : overflow_;
}

ReservationId AddressSpace::reservation_at(Va va) const {
  if (va.value >> core::kAddressBits != 0) return ReservationId::none();
  const PageEntry found = entry(va);
  if (found.tag() == PageEntry::Reserved) return found.reservation();
  if (found.has_mapping()) {
    const Mapping* owner = mapping(found.mapping());
    return owner ? owner->reservation.load(std::memory_order_acquire) : ReservationId::none();
  }
  const uint32_t index = granules_[va.value / kGranuleBytes].load(std::memory_order_acquire);
  return index == 0 ? ReservationId::none() : ReservationId(index - 1);
}

bool AddressSpace::covers_granule(const Reservation& range, uint64_t granule) const {
  const uint64_t start = range.start.load(std::memory_order_relaxed);
  return start <= granule * kGranuleBytes &&
         (granule + 1) * kGranuleBytes <= start + range.size_bytes.load(std::memory_order_relaxed);
}

PageEntry AddressSpace::vacant(ReservationId id, Va page) const {
  return covers_granule(live_reservation(id), page.value / kGranuleBytes) ? PageEntry{}
                                                                          : PageEntry::reserved(id);
}

// Writes or wipes the traces of a reservation in both tables.
void AddressSpace::paint(ReservationId id, bool live) {
  const Reservation& range = live_reservation(id);
  const uint64_t start = range.start.load(std::memory_order_relaxed);
  const uint64_t end = start + range.size_bytes.load(std::memory_order_relaxed);
  for (uint64_t at = start; at < end;) {
    const uint64_t granule = at / kGranuleBytes;
    if (covers_granule(range, granule)) {
      granules_[granule].store(live ? id.value + 1 : 0, std::memory_order_release);
      at = (granule + 1) * kGranuleBytes;
    } else {
      store(Va{at}, live ? PageEntry::reserved(id) : PageEntry{});
      at += core::kPageBytes;
    }
  }
}

Result<uint64_t> AddressSpace::take_addresses(uint64_t size_bytes, uint64_t alignment, Va expected,
                                              bool& from_window) {
  from_window = false;
  if (expected.value != 0) {
    // Bookkeeping first, then the system: the range may hold something that is not ours.
    from_window = os::fixed_addresses_allowed() && (window_.allocate_at(expected.value, size_bytes) ||
                                                    overflow_.allocate_at(expected.value, size_bytes));
    const bool ours_to_give = from_window || reservation_at(expected) == ReservationId::none();
    if (ours_to_give && os::fixed_addresses_allowed() && os::reserve_address(expected.value, size_bytes) != 0)
      return expected.value;
    const int error = errno;
    if (from_window) window_of(expected.value).release(expected.value, size_bytes);
    from_window = false;
    return fail(RuleId::ReserveTaken, "expectPtr", "{:#x} for {} bytes: {}", expected.value, size_bytes,
                !os::fixed_addresses_allowed() ? "ThreadSanitizer allows no fixed addresses"
                : ours_to_give                 ? std::strerror(error)
                                               : "another reservation lies there");
  }
  for (core::RangeAllocator* source : {&window_, &overflow_}) {
    // Something that is not ours may lie in the window; the range that hit it is left out for good.
    for (int attempt = 0; attempt < 64; ++attempt) {
      const auto start = source->allocate(size_bytes, alignment);
      if (!start) break;
      if (source == &overflow_) {
        const auto allowed = report::check_soft(false, RuleId::ReserveBeyond, "size",
                                                "{} are reserved already, another {} do not fit below 24 TiB",
                                                format_bytes(reserved_bytes_), format_bytes(size_bytes));
        if (!allowed) {
          source->release(*start, size_bytes);
          return forward(allowed.error());
        }
      }
      if (hold(*start, size_bytes)) {
        from_window = true;
        return *start;
      }
      if (errno != EEXIST) {
        source->release(*start, size_bytes);
        break;
      }
    }
  }
  // The windows are full, or this machine has no such addresses: any address will do, with room to align it.
  const uint64_t room = size_bytes + alignment;
  const uint64_t raw = os::reserve_address(0, room);
  if (raw == 0)
    return fail(RuleId::OutOfAddresses, "size", "asked for {}, {} are reserved: {}", format_bytes(size_bytes),
                format_bytes(reserved_bytes_), std::strerror(errno));
  const uint64_t start = align_up(raw, alignment);
  if (start > raw) os::release_address(raw, start - raw);
  if (raw + room > start + size_bytes)
    os::release_address(start + size_bytes, raw + room - start - size_bytes);
  return start;
}

Result<ReservationId> AddressSpace::reserve(uint64_t size_bytes, uint64_t alignment, Va expected) {
  const ReservationId id(reservations_.take());  // first: there may be no memory for it
  Reservation* const range = reservation(id);
  if (range == nullptr)
    return fail(RuleId::OutOfAddresses, "size", "this process has {} reservations", reservations_.live());
  struct Unfinished {
    ~Unfinished() {
      if (!is_finished) reservations.give_back(id.value);
    }
    core::StableArray<Reservation>& reservations;
    ReservationId id;
    bool is_finished = false;
  } unfinished{reservations_, id};
  bool from_window = false;
  PLAT_ASSIGN(start, take_addresses(size_bytes, alignment, expected, from_window));
  if (start + size_bytes > uint64_t{1} << core::kAddressBits || !pages_.prepare(Va{start}, size_bytes)) {
    let_go(start, size_bytes);
    if (from_window) window_of(start).release(start, size_bytes);
    return fail(RuleId::OutOfAddresses, "size", "no room to keep account of {} at {:#x}",
                format_bytes(size_bytes), start);
  }
  widen(start, size_bytes);
  range->internal = false;
  range->from_window = from_window;
  range->huge_page_flag = false;
  range->cross_server = false;
  range->home = {};
  range->origin = Origin::None;
  range->page_bytes = 0;
  range->mapping_count = 0;
  range->start.store(start, std::memory_order_relaxed);
  range->size_bytes.store(size_bytes, std::memory_order_release);
  paint(id, true);
  reserved_bytes_ += size_bytes;
  unfinished.is_finished = true;
  return id;
}

void AddressSpace::release(ReservationId id) {
  Reservation& range = live_reservation(id);
  const uint64_t start = range.start.load(std::memory_order_relaxed);
  const uint64_t size_bytes = range.size_bytes.load(std::memory_order_relaxed);
  paint(id, false);
  range.size_bytes.store(0, std::memory_order_release);
  let_go(start, size_bytes);
  if (range.from_window) window_of(start).release(start, size_bytes);
  reserved_bytes_ -= size_bytes;
  reservations_.give_back(id.value);
}

void AddressSpace::abandon_in_child() const {
  for (uint32_t index = 0; index < reservations_.size(); ++index) {
    const Reservation& range = live_reservation(ReservationId(index));
    const uint64_t size_bytes = range.size_bytes.load(std::memory_order_acquire);
    if (size_bytes != 0) os::release_address(range.start.load(std::memory_order_relaxed), size_bytes);
  }
  if (set_aside_ != 0) os::release_address(set_aside_, set_aside_bytes_);
}

}  // namespace plat::vmm
