// SPDX-License-Identifier: Apache-2.0
// Heaps and regions, as programs tell of them.
#pragma once

#include <map>
#include <string>

#include "inspect/model/memory_book.h"

namespace plat::inspect {

// Heaps and regions of one domain, told apart by name: some clients make their domain anew for every call.
struct Layer {
  std::string name;
  bool dialect = false;  // reports blocks, and totals in the form of heaps
  RangeMap<ObjectId> heaps;
  RangeMap<ObjectId> regions;
  RangeMap<ObjectId> freed;  // regions that were there last
  RangeMap<char> disputed;   // where things overlapped: nobody can say whose it is
};

class MstxBook {
 public:
  using Ranges = MemoryBook::Ranges;

  MstxBook(Registry& registry, StreamBook& streams, MemoryBook& memory)
      : registry_(registry), streams_(streams), memory_(memory) {}

  void apply(const Event& event);
  // Memory was mapped, perhaps into a heap.
  void memory_comes(Object& mapping);
  bool is_held_by_pool(const Object& object) const;
  // Memory goes away under whatever was registered there.
  void memory_goes(const Event& event, const Object& object);
  template <class Keep>
  void keep_named(Keep&& keep) const {
    for (const auto& [name, layer] : layers_)
      for (const Ranges* const ranges : {&layer.heaps, &layer.regions, &layer.freed})
        ranges->for_each([&](uint64_t, uint64_t, ObjectId id) { keep(id); });
  }

  const std::map<std::string, Layer>& layers() const { return layers_; }

 private:
  Layer& layer_of(uint64_t domain);
  void heap_register(const Event& event);
  void heap_unregister(const Event& event);
  void heap_reset(const Event& event);
  void end_heap(const Event& event, Layer& layer, Object& heap);
  void end_regions_of(const Event& event, Layer& layer, const Object& heap);
  void region_register(const Event& event);
  void refuse_region(const Event& event, Layer& layer);
  void region_resize(const Event& event);
  void end_region(const Event& event, Layer& layer, Object& region);
  void hold(Object& memory, const Object& heap);
  // The region that a reference names; none, after a problem, if there is no such region.
  Object* referenced(const Event& event, Layer& layer);
  void notice(const Event& event);
  // Whether it belongs to another domain than the one that speaks of it, which is a problem.
  bool is_of_other_domain(const Event& event, const Layer& layer, const Object& object);
  void forget_told(const Event& event);
  void problem(RuleId rule, const Event& event, std::string detail, const Object* object = nullptr,
               const Object* other = nullptr);
  Object& at(ObjectId id) { return registry_.at(id); }

  Registry& registry_;
  StreamBook& streams_;
  MemoryBook& memory_;
  std::map<std::string, Layer> layers_;
  std::map<uint64_t, std::string> domains_;  // by number
  bool missed_ = false;                      // things were registered that were not told
  std::map<uint32_t, uint64_t> problems_;    // the last event of each thread that already is a finding
};

}  // namespace plat::inspect
