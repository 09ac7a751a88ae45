// SPDX-License-Identifier: Apache-2.0
// Buffers of queues: several may lie over the same memory, and a chain goes with its head.
#include <fmt/format.h>

#include "inspect/model/memory_book.h"

namespace plat::inspect {

void MemoryBook::allocate_mbuf(const Event& event) {
  if (!event.succeeded() || event.buffer() == 0) return;
  const Object* const copied =
      event.op == Op::aclrtCopyBufRef ? registry_.live(Kind::Mbuf, event.other_buffer()) : nullptr;
  const uint64_t size = copied != nullptr ? copied->size : event.size();
  const uint64_t address = copied != nullptr ? copied->start : event.address();
  Object& mbuf = registry_.add(event, Kind::Mbuf, address, size);
  mbuf.usable = size;
  mbuf.opaque = true;  // the program writes to it as it likes
  registry_.name(Kind::Mbuf, event.buffer(), mbuf);
  if (copied == nullptr && address != 0 && size != 0) {
    memory_.assign(mbuf.start, mbuf.end(), mbuf.id);
    freed_memory_.erase(mbuf.start, mbuf.end());
  }
  registry_.listener().born(mbuf);
}

// The memory goes with the last buffer over it.
void MemoryBook::end_mbuf(const Event& event, Object& mbuf) {
  Ranges::Range range;
  if (mbuf.start == 0 || !memory_.find(mbuf.start, range) || range.value != mbuf.id)
    return registry_.end(event, mbuf);
  for (const ObjectId id : registry_.objects().living()) {
    const Object& other = object(id);
    if (id == mbuf.id || other.kind != Kind::Mbuf || other.start != mbuf.start) continue;
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
  for (const ObjectId id : registry_.objects().living())
    if (at(id).kind == Kind::Mbuf && at(id).parent == head) end_mbuf(event, at(id));
  end_mbuf(event, at(head));
}

void MemoryBook::append_mbuf(const Event& event) {
  Object* const mbuf = registry_.live(Kind::Mbuf, event.buffer());
  const Object* const head = registry_.live(Kind::Mbuf, event.other_buffer());
  if (event.succeeded() && mbuf != nullptr && head != nullptr) mbuf->parent = head->id;
}

}  // namespace plat::inspect
