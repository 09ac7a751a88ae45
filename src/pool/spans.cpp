// SPDX-License-Identifier: Apache-2.0
#include "pool/spans.h"

#include <algorithm>
#include <bit>

namespace plat::pool {

namespace {
uint32_t store_of(uint16_t domain, uint32_t index) { return (uint32_t{domain} << 8) | index; }
}  // namespace

void Spans::link(uint32_t id) {
  Span& span = spans_[id];
  span.prev = kNoSpan;
  span.next = partial_[span.index];
  if (span.next != kNoSpan) spans_[span.next].prev = id;
  partial_[span.index] = id;
}

void Spans::unlink(uint32_t id) {
  const Span& span = spans_[id];
  if (span.next != kNoSpan) spans_[span.next].prev = span.prev;
  if (span.prev != kNoSpan)
    spans_[span.prev].next = span.next;
  else
    partial_[span.index] = span.next;
}

uint32_t Spans::take(uint32_t index, uint16_t domain, SmallBlock* out, uint32_t count, uint32_t fresh) {
  const uint32_t bytes = class_bytes(index);
  uint32_t got = 0;
  if (domain != 0) {
    if (auto store = deferred_.find(store_of(domain, index)); store != deferred_.end()) {
      while (got < count && !store->second.empty()) {
        out[got++] = {store->second.back().address, nullptr};
        store->second.pop_back();
        deferred_bytes_ -= bytes;
      }
    }
  }
  const uint32_t stowed = depot_.take(index, out + got, count - got);
  got += stowed;
  count = got != 0 ? got : fresh;
  while (got < count && partial_[index] != kNoSpan) {
    Span& span = spans_[partial_[index]];
    const uint32_t id = partial_[index];
    for (uint32_t word = 0; word < span.bits.size() && span.free > 0 && got < count; ++word) {
      while (span.bits[word] != 0 && got < count) {
        const uint32_t bit = static_cast<uint32_t>(std::countr_zero(span.bits[word]));
        span.bits[word] &= span.bits[word] - 1;
        --span.free;
        out[got++] = {span.base + static_cast<uint64_t>(word * 64 + bit) * bytes, nullptr};
      }
    }
    if (span.free == 0) unlink(id);
  }
  out_bytes_ += uint64_t{got - stowed} * bytes;
  out_blocks_ += got - stowed;
  return got;
}

uint32_t Spans::give(uint32_t id, void* address, bool* twice) {
  Span& span = spans_[id];
  const uint32_t bytes = class_bytes(span.index);
  const auto offset = static_cast<uint32_t>(static_cast<char*>(address) - span.base);
  const uint32_t slot = offset / bytes;
  *twice = slot * bytes != offset || slot >= span.total || (span.bits[slot / 64] >> (slot % 64) & 1) != 0;
  if (*twice) return kNoSpan;
  span.bits[slot / 64] |= uint64_t{1} << (slot % 64);
  out_bytes_ -= bytes;
  --out_blocks_;
  if (span.free++ == 0) link(id);
  // The last span of a class with room stays, or a program at the edge of a span would create and drop it
  // with every block.
  const bool only_one = partial_[span.index] == id && span.next == kNoSpan;
  return span.free == span.total && !only_one ? id : kNoSpan;
}

void Spans::defer(uint32_t index, uint32_t span, void* address, uint16_t domain, uint32_t batch) {
  deferred_[store_of(domain, index)].push_back(Deferred{address, span, batch});
  deferred_bytes_ += class_bytes(index);
  out_bytes_ -= class_bytes(index);
  --out_blocks_;
}

uint32_t Spans::settle(uint16_t domain, uint32_t batch, uint16_t to, uint32_t to_batch,
                       std::vector<uint32_t>& gone) {
  uint32_t settled = 0;
  for (uint32_t index = 0; index < kClasses; ++index) {
    auto store = deferred_.find(store_of(domain, index));
    if (store == deferred_.end()) continue;
    auto& waiting = store->second;
    auto passed = std::stable_partition(waiting.begin(), waiting.end(), [&](const Deferred& one) {
      return static_cast<int32_t>(one.batch - batch) > 0;
    });
    std::vector<Deferred> ready(passed, waiting.end());
    waiting.erase(passed, waiting.end());
    for (const Deferred& one : ready) {
      deferred_bytes_ -= class_bytes(index);
      out_bytes_ += class_bytes(index);
      ++out_blocks_;
      ++settled;
      if (to != 0) {
        defer(index, one.span, one.address, to, to_batch);
        continue;
      }
      bool twice = false;
      if (const uint32_t empty = give(one.span, one.address, &twice); empty != kNoSpan) gone.push_back(empty);
    }
  }
  return settled;
}

uint32_t Spans::add(uint32_t index, char* base, core::RangeId block) {
  uint32_t id;
  if (!recycled_.empty()) {
    id = recycled_.back();
    recycled_.pop_back();
  } else {
    // Room for all of them, so that drop() cannot fail.
    if (recycled_.capacity() <= spans_.size()) recycled_.reserve(2 * spans_.size() + 16);
    id = static_cast<uint32_t>(spans_.size());
    spans_.emplace_back();
  }
  const uint32_t total = span_bytes(index) / class_bytes(index);
  Span& span = spans_[id];
  span = Span{base,
              block,
              static_cast<uint16_t>(index),
              static_cast<uint16_t>(total),
              static_cast<uint16_t>(total),
              0,
              0,
              {}};
  for (uint32_t slot = 0; slot < total; ++slot) span.bits[slot / 64] |= uint64_t{1} << (slot % 64);
  link(id);
  return id;
}

void Spans::drop(uint32_t id) {
  unlink(id);
  recycled_.push_back(id);
}

void Spans::all(std::vector<uint32_t>& out) const {
  for (uint32_t id = 0; id < spans_.size(); ++id)
    if (std::find(recycled_.begin(), recycled_.end(), id) == recycled_.end()) out.push_back(id);
}

void Spans::clear() {
  spans_.clear();
  recycled_.clear();
  partial_.fill(kNoSpan);
  deferred_.clear();
  depot_.clear();
  out_bytes_ = out_blocks_ = deferred_bytes_ = 0;
}

void Spans::spare(std::vector<uint32_t>& out) const {
  for (const uint32_t head : partial_)
    for (uint32_t id = head; id != kNoSpan; id = spans_[id].next)
      if (spans_[id].free == spans_[id].total) out.push_back(id);
}

}  // namespace plat::pool
