// SPDX-License-Identifier: Apache-2.0
// What lives: the domains, heaps and regions that a program has registered, as it described them.
//
// Data alone. It calls no tools, takes no locks and believes the program: whether a region lies inside its
// heap is for tools to judge. The broker keeps it for two reasons: to know what a reference by pointer means,
// and to tell a tool that comes late what was there before it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mstx/broker_types.h"
#include "mstx/handles.h"
#include "mstx/names.h"

namespace plat::mstx {

struct Domain {
  std::string name;
  bool dialect = false;     // see base/mstx_dialects.h
  uint64_t references = 0;  // creations that were not yet matched by a destruction
};

struct Heap {
  Handle domain;  // none: the global domain
  mstxMemVirtualRangeDesc_t range{};
  uint32_t usage = 0;      // an mstxMemHeapUsageType, if the client filled it in
  bool described = false;  // false: of a memory type that is not known here, so it cannot be told again
  Handle first_region{};
  std::string name{};
  Names names{};
};

struct Region {
  Handle domain;
  Handle heap;  // none: of no heap
  mstxMemVirtualRangeDesc_t range{};
  bool described = false;
  bool by_handle = false;  // the client asked for a handle
  std::optional<uint32_t> permissions;
  Handle next_in_heap, previous_in_heap;
  Handle shadowed;                    // an older region that starts at the same pointer in the same domain
  std::unique_ptr<std::string> name;  // few have one
  Names names;

  void set_name(std::string_view text) {
    name = text.empty() ? nullptr : std::make_unique<std::string>(text);
  }
};

class Registry {
 public:
  // What was dropped is known for a while: a handle that is used once too often still finds what it stood
  // for, so that the mistake can be passed on to those who can name it.
  static constexpr core::TableShape kFew{
      .resting = 256, .generation_bits = kGenerationBits, .chunk_size = 256, .chunks = 4096};
  static constexpr core::TableShape kMany{.resting = 256, .generation_bits = kGenerationBits};
  core::GenerationTable<Domain, kFew> domains;
  core::GenerationTable<Heap, kFew> heaps;
  core::GenerationTable<Region, kMany> regions;

  // The same name is the same domain, so clients that create theirs at every call cost one record.
  Handle create_domain(std::string_view name);
  // Whether that was the last reference: then the domain is gone with everything in it.
  bool destroy_domain(Handle domain);

  Handle add_heap(Heap heap);
  // The heap goes with its regions.
  void drop_heap(Handle heap);
  void drop_regions_of(Handle heap);
  // The one record that stands for all heap news of a domain and device; made at the first.
  Handle news_heap(Handle domain, const mstxMemVirtualRangeDesc_t& range);

  Handle add_region(Region region);
  void drop_region(Handle region);
  // The newest region that starts at `pointer` in `domain`.
  Handle region_at(Handle domain, const void* pointer) const;
  std::vector<Handle> regions_of(Handle heap);

  bool empty() const { return domains.size() + heaps.size() + regions.size() == 0; }

 private:
  struct Start {
    uint32_t domain;  // index + 1, 0 for the global one
    const void* pointer;
    friend bool operator==(const Start&, const Start&) = default;
  };
  struct StartHash {
    size_t operator()(const Start& start) const {
      // Pointers are aligned: their low bits say little.
      const auto bits = reinterpret_cast<uint64_t>(start.pointer) + start.domain * 0x9e3779b97f4a7c15ull;
      return (bits ^ (bits >> 29)) * 0xbf58476d1ce4e5b9ull >> 7;
    }
  };
  static Start start_of(Handle domain, const void* pointer) {
    return {domain ? domain.index + 1 : 0, pointer};
  }
  void forget_start(Handle handle, const Region& region);

  std::unordered_map<std::string, Handle> by_name_;
  std::unordered_map<Start, Handle, StartHash> by_start_;
  std::unordered_map<uint64_t, Handle> news_;  // domain index and device
};

}  // namespace plat::mstx
