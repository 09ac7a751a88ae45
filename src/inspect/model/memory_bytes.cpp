// SPDX-License-Identifier: Apache-2.0
// What lies at an address, and which of its bytes were written.
#include "inspect/model/memory_book.h"

namespace plat::inspect {

bool MemoryBook::is_reserved(uint64_t start, uint64_t end) const {
  bool reserved = false;
  reservations_.for_each(start, end, [&](uint64_t, uint64_t, ObjectId id) {
    reserved = object(id).start <= start && end <= object(id).end();
  });
  return reserved;
}

bool MemoryBook::is_view(uint64_t address) const {
  RangeMap<char>::Range range;
  return views_.find(address, range);
}

bool MemoryBook::is_host_memory(uint64_t address) const {
  Ranges::Range range;
  if (memory_.find(address, range)) {
    const Kind kind = object(range.value).kind;
    return kind == Kind::HostBlock || kind == Kind::HostRegistration || kind == Kind::Mbuf;
  }
  return !reservations_.find(address, range) && !is_view(address);
}

bool MemoryBook::is_opaque(uint64_t address) const {
  Ranges::Range range;
  if (!memory_.find(address, range)) return true;
  const Object& holder = object(range.value);
  return holder.opaque || (holder.kind == Kind::Mapping && object(holder.parent).opaque);
}

void MemoryBook::set_written(uint64_t address, uint64_t size, uint64_t event) {
  for_each_storage(address, size, [&](const Object& holder, uint64_t offset, uint64_t, uint64_t length) {
    at(holder.id).written.assign(offset, offset + length, event);
  });
}

// Bytes that were never written stay so when they are copied: nobody has looked at them yet.
void MemoryBook::copy_written(uint64_t target, uint64_t source, uint64_t size, uint64_t event) {
  if (is_opaque(source)) return set_written(target, size, event);
  std::vector<std::pair<uint64_t, uint64_t>> parts;
  for_each_written(source, size, [&](uint64_t start, uint64_t end, uint64_t) {
    parts.emplace_back(start - source, end - start);
  });
  for_each_storage(target, size, [&](const Object& holder, uint64_t offset, uint64_t, uint64_t length) {
    at(holder.id).written.erase(offset, offset + length);
  });
  for (const auto& [offset, length] : parts) set_written(target + offset, length, event);
}

void MemoryBook::reduce_written(uint64_t target, uint64_t source, uint64_t size) {
  if (is_opaque(source)) return;
  // Collected first: both ranges may be of one block.
  std::vector<std::pair<uint64_t, uint64_t>> holes;
  uint64_t known = source;
  for_each_written(source, size, [&](uint64_t start, uint64_t end, uint64_t) {
    if (start > known) holes.emplace_back(known - source, start - known);
    known = end;
  });
  if (source + size > known) holes.emplace_back(known - source, source + size - known);
  for (const auto& [from, bytes] : holes)
    for_each_storage(target + from, bytes,
                     [&](const Object& holder, uint64_t offset, uint64_t, uint64_t length) {
                       at(holder.id).written.erase(offset, offset + length);
                     });
}

void MemoryBook::back_up(const Event& event) {
  if (!event.succeeded()) return;
  backup_.clear();
  for (const ObjectId id : registry_.objects().living())
    if (takes_device_memory(object(id).kind)) backup_[id] = object(id).written;
}

// What came since is not in the backup, and stays as it is.
void MemoryBook::restore(const Event& event) {
  if (!event.succeeded()) return;
  for (const auto& [id, written] : backup_)
    if (object(id).lives()) at(id).written = written;
}

// With the object goes what is known only about it.
void MemoryBook::forget(Object& object) {
  if (object.kind == Kind::Mapping) {
    Object& handle = at(object.parent);
    if (--handle.mappings == 0 && !handle.lives()) handle.written.clear();
  }
  if (object.mappings == 0) object.written.clear();
  if (object.view != 0) views_.erase(object.view, object.view + object.size);
}

}  // namespace plat::inspect
