// SPDX-License-Identifier: Apache-2.0
// Parts of a pool without a device: streams that are told how far they are, and pages that are numbers.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "base/units.h"
#include "pool/source.h"

namespace plat::test {

class FakeEvents : public pool::Events {
 public:
  void* create() override { return ++live, reinterpret_cast<void*>(++next_); }
  void destroy(void*) override { --live; }
  bool record(void* event, plat_stream stream) override {
    if (gone.count(stream) != 0) return false;
    return streams_[event] = stream, true;
  }
  bool has_passed(void* event) override { return busy.count(streams_[event]) == 0; }
  pool::StreamState state(plat_stream stream) override {
    if (gone.count(stream) != 0) return pool::StreamState::kGone;
    return busy.count(stream) != 0 ? pool::StreamState::kBusy : pool::StreamState::kIdle;
  }
  bool wait(void* event) override { return busy.erase(streams_[event]), true; }
  bool wait_for_stream(plat_stream stream) override { return busy.erase(stream), true; }
  bool make_wait(plat_stream, void*) override { return true; }

  std::set<plat_stream> busy;
  std::set<plat_stream> gone;
  int live = 0;

 private:
  uintptr_t next_ = 0;
  std::map<void*, plat_stream> streams_;
};

class FakeSource final : public pool::Source {
 public:
  explicit FakeSource(uint64_t pages) : left(pages) {}
  bool has_pages() const override { return true; }
  pool::Outcome reserve(uint64_t bytes, void** base) override {
    *base = reinterpret_cast<void*>(next_);
    next_ += bytes + 1_GiB;
    return ++ranges, pool::Outcome::kDone;
  }
  bool unreserve(void*) override { return --ranges, true; }
  pool::Outcome create_page(void** page) override {
    if (left == 0) return pool::Outcome::kNoMemory;
    *page = reinterpret_cast<void*>(left--);
    return pool::Outcome::kDone;
  }
  bool destroy_page(void*) override { return ++left, true; }
  pool::Outcome map_page(void* address, void* page) override {
    if (refuses_to_map) return pool::Outcome::kFailed;
    return mapped[address] = page, pool::Outcome::kDone;
  }
  pool::Outcome unmap_page(void* address) override { return mapped.erase(address), pool::Outcome::kDone; }
  pool::Events& events() override { return events_; }

  uint64_t left;
  int ranges = 0;
  bool refuses_to_map = false;
  std::map<void*, void*> mapped;

 private:
  FakeEvents events_;
  uint64_t next_ = 16_TiB;
};

}  // namespace plat::test
