// SPDX-License-Identifier: Apache-2.0
// Buffers of queues: several may lie over the same memory, and a chain goes with its head.
#include <fmt/format.h>

#include "inspect/model/memory_book.h"

namespace plat::inspect {

Object& MemoryBook::add_mbuf(const Event& event, uint64_t start, uint64_t size, ObjectId head) {
  Object& mbuf = registry_.add(event, Kind::Mbuf, start, size);
  mbuf.usable = size;
  mbuf.opaque = true;  // the program writes to it as it likes
  mbuf.parent = head;
  mbufs_.emplace(mbuf.serial, mbuf.id);
  return mbuf;
}

void MemoryBook::allocate_mbuf(const Event& event) {
  if (!event.succeeded() || event.buffer() == 0) return;
  Object& mbuf = add_mbuf(event, event.address(), event.size(), 0);
  registry_.name(Kind::Mbuf, event.buffer(), mbuf);
  if (mbuf.start != 0 && mbuf.size != 0) {
    memory_.assign(mbuf.start, mbuf.end(), mbuf.id);
    freed_memory_.erase(mbuf.start, mbuf.end());
  }
  registry_.listener().born(mbuf);
}

// A second buffer over the same memory, with a second chain behind it, whose buffers nobody has named yet.
void MemoryBook::copy_mbuf(const Event& event) {
  const Object* const copied = registry_.live(Kind::Mbuf, event.other_buffer());
  if (copied == nullptr) return allocate_mbuf(event);
  if (!event.succeeded() || event.buffer() == 0) return;
  const ObjectId first = copied->id;
  Object& head = add_mbuf(event, copied->start, copied->size, 0);
  registry_.name(Kind::Mbuf, event.buffer(), head);
  registry_.listener().born(head);
  for (const ObjectId id : followers(first))
    registry_.listener().born(add_mbuf(event, object(id).start, object(id).size, head.id));
}

// In the order in which they came.
std::vector<ObjectId> MemoryBook::living_mbufs() {
  std::erase_if(mbufs_, [this](const auto& entry) {
    const Object& mbuf = object(entry.second);
    return mbuf.serial != entry.first || !mbuf.lives();
  });
  std::vector<ObjectId> ids;
  for (const auto& [serial, id] : mbufs_) ids.push_back(id);
  return ids;
}

std::vector<ObjectId> MemoryBook::followers(ObjectId head) {
  std::vector<ObjectId> found = living_mbufs();
  std::erase_if(found, [&](ObjectId id) { return object(id).parent != head; });
  return found;
}

// The memory goes with the last buffer over it.
void MemoryBook::end_mbuf(const Event& event, Object& mbuf) {
  mbufs_.erase(mbuf.serial);
  Ranges::Range range;
  if (mbuf.start == 0 || !memory_.find(mbuf.start, range) || range.value != mbuf.id)
    return registry_.end(event, mbuf);
  for (const ObjectId id : living_mbufs()) {
    if (object(id).start != mbuf.start) continue;
    memory_.assign(mbuf.start, mbuf.end(), id);
    return registry_.end(event, mbuf);
  }
  check_in_flight(event, mbuf, Order::kHost);
  end_memory(event, mbuf);
}

void MemoryBook::free_mbuf(const Event& event) {
  Object* const mbuf = registry_.live(Kind::Mbuf, event.buffer());
  if (mbuf == nullptr) {
    if (const Object* const freed = registry_.known(Kind::Mbuf, event.buffer()); freed != nullptr)
      registry_.problem(RuleId::GivenBackTwice, event,
                        fmt::format("the mbuf {:#x} was given back before", event.buffer()), freed);
    return;
  }
  if (!event.succeeded()) return;
  const ObjectId head = mbuf->id;
  for (const ObjectId id : followers(head)) end_mbuf(event, at(id));
  end_mbuf(event, at(head));
}

void MemoryBook::append_mbuf(const Event& event) {
  Object* const mbuf = registry_.live(Kind::Mbuf, event.buffer());
  const Object* const head = registry_.live(Kind::Mbuf, event.other_buffer());
  if (event.succeeded() && mbuf != nullptr && head != nullptr) mbuf->parent = head->id;
}

}  // namespace plat::inspect
