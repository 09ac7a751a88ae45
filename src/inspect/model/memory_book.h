// SPDX-License-Identifier: Apache-2.0
// Blocks, reservations, physical handles and mappings: what lies where, and which of its bytes were written.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "inspect/model/range_map.h"
#include "inspect/model/stream_book.h"

namespace plat::inspect {

class MemoryBook {
 public:
  using Ranges = RangeMap<ObjectId>;
  // Told before memory or addresses go.
  using Goes = std::function<void(const Event&, const Object&)>;
  // Told of memory that was mapped.
  using Comes = std::function<void(Object&)>;

  MemoryBook(Registry& registry, StreamBook& streams, Comes comes, Goes goes)
      : registry_(registry), streams_(streams), comes_(std::move(comes)), goes_(std::move(goes)) {}

  void apply(const Event& event);
  void apply_mapping(const Event& event);
  void forget(Object& object);
  template <class Keep>
  void keep_named(Keep&& keep) const {
    for (const Ranges* const ranges : {&memory_, &freed_memory_, &reservations_})
      ranges->for_each([&](uint64_t, uint64_t, ObjectId id) { keep(id); });
    for (const auto& [key, id] : imports_) keep(id);
    for (const auto& [id, written] : backup_) keep(id);
  }

  const Ranges& memory() const { return memory_; }              // blocks and mappings
  const Ranges& freed_memory() const { return freed_memory_; }  // what was there last
  const Ranges& reservations() const { return reservations_; }
  // Whether one live reservation holds all of it.
  bool is_reserved(uint64_t start, uint64_t end) const;
  bool is_view(uint64_t address) const;
  bool is_host_memory(uint64_t address) const;
  bool is_opaque(uint64_t address) const;

  // visit(holder, offset, address, size): the block, or the physical handle behind a mapping.
  template <class Visit>
  void for_each_storage(uint64_t address, uint64_t size, Visit&& visit) const {
    const uint64_t end = address + size;
    while (address < end) {
      Ranges::Range range;
      const Object* holder = nullptr;
      uint64_t offset = address;
      uint64_t piece = end;
      if (memory_.find(address, range)) {
        holder = &object(range.value);
        offset = address - holder->start;
        piece = std::min(end, range.end);
        if (holder->kind == Kind::Mapping) holder = &object(holder->parent);
      } else if (memory_.find_after(address, range)) {
        piece = std::min(end, range.start);
      }
      if (holder != nullptr) visit(*holder, offset, address, piece - address);
      address = piece;
    }
  }

  // visit(start, end, event number) for the bytes of a range that were written, in addresses.
  template <class Visit>
  void for_each_written(uint64_t address, uint64_t size, Visit&& visit) const {
    for_each_storage(address, size,
                     [&](const Object& holder, uint64_t offset, uint64_t start, uint64_t length) {
                       holder.written.for_each(
                           offset, offset + length, [&](uint64_t first, uint64_t last, uint64_t event) {
                             visit(start + (first - offset), start + (last - offset), event);
                           });
                     });
  }
  void set_written(uint64_t address, uint64_t size, uint64_t event);
  void copy_written(uint64_t target, uint64_t source, uint64_t size, uint64_t event);
  // What is combined with bytes that were never written counts as never written.
  void reduce_written(uint64_t target, uint64_t source, uint64_t size);

 private:
  // Blocks.
  void allocate(const Event& event, Kind kind, uint64_t usable);
  void free_block(const Event& event, Kind kind);
  void host_register(const Event& event);
  void host_view(const Event& event);
  void import_key(const Event& event);
  void close_key(const Event& event);
  void reset_device(const Event& event, std::optional<int32_t> device);
  void end_memory(const Event& event, Object& object);
  void check_in_flight(const Event& event, const Object& object, uint32_t actor);

  // Buffers of queues.
  Object& add_mbuf(const Event& event, uint64_t start, uint64_t size, ObjectId head);
  void allocate_mbuf(const Event& event);
  void copy_mbuf(const Event& event);
  std::vector<ObjectId> living_mbufs();
  std::vector<ObjectId> followers(ObjectId head);
  void free_mbuf(const Event& event);
  void append_mbuf(const Event& event);
  void end_mbuf(const Event& event, Object& mbuf);

  // Snapshots: which bytes were written when the contents were saved.
  void back_up(const Event& event);
  void restore(const Event& event);

  // Mappings.
  void free_physical(const Event& event);
  void map(const Event& event);
  void unmap(const Event& event);
  void release(const Event& event);
  void retain(const Event& event);

  const Object& object(ObjectId id) const { return registry_.at(id); }
  Object& at(ObjectId id) { return registry_.at(id); }

  Registry& registry_;
  StreamBook& streams_;
  Comes comes_;
  Goes goes_;
  Ranges memory_, freed_memory_, reservations_;
  RangeMap<char> views_;
  std::map<std::string, ObjectId> imports_;  // by key
  std::map<uint32_t, uint64_t> origins_;     // servers of what threads import next
  std::map<int32_t, uint32_t> set_counts_;   // by device
  std::map<ObjectId, Written> backup_;
  std::map<uint64_t, ObjectId> mbufs_;  // by serial; some may have ended otherwise than by their own call
};

}  // namespace plat::inspect
