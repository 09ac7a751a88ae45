// SPDX-License-Identifier: Apache-2.0
// What lives: the domains, heaps and regions that a program has registered, as it described them, and what
// each tool calls them.
//
// Data alone. It calls no tools, takes no locks and believes the program: whether a region lies inside its
// heap is for tools to judge. The broker keeps it for two reasons: to know what a reference by pointer means,
// and to tell a tool that comes late what was there before it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/generation_table.h"
#include "mstx/tool.h"

namespace plat::mstx {

using core::Handle;

// The handles that clients hold: a kind, an index and a generation in 64 bits. They look like pointers and
// are none: the top byte makes them addresses that no machine maps, so a tool or program that follows one
// faults at once. A value that was never given (an uninitialised field) is told from one that was.
constexpr uint64_t kind_of(mstxDomainHandle_t) { return 0xD1; }
constexpr uint64_t kind_of(mstxMemHeapHandle_t) { return 0xD2; }
constexpr uint64_t kind_of(mstxMemRegionHandle_t) { return 0xD3; }

inline constexpr uint32_t kGenerationBits = 24;

template <class ClientHandle>
ClientHandle to_client(Handle handle) {
  const uint64_t kind = kind_of(ClientHandle());
  return reinterpret_cast<ClientHandle>(kind << 56 | uint64_t{handle.generation} << 32 | handle.index);
}

// None when the value cannot have come from to_client.
template <class ClientHandle>
Handle from_client(ClientHandle value) {
  const auto bits = reinterpret_cast<uint64_t>(value);
  if (bits >> 56 != kind_of(value)) return {};
  return {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32) & ((1u << kGenerationBits) - 1)};
}

// What each tool calls a thing. Nothing: the tool was not told. NULL: it was told and gave no name. Ids of
// tools are never used again, so what a tool that left has said is simply no longer found.
using ToolsName = std::optional<void*>;

// Of a domain: written under the registry lock and read without, because every domain mark reads them.
class SharedNames {
 public:
  void set(const Tool& tool, void* name) {
    names_[tool.slot].name.store(name, std::memory_order_release);
    names_[tool.slot].tool.store(tool.id, std::memory_order_release);
  }
  ToolsName find(const Tool& tool) const {
    if (names_[tool.slot].tool.load(std::memory_order_acquire) != tool.id) return std::nullopt;
    return names_[tool.slot].name.load(std::memory_order_acquire);
  }
  void clear() {
    for (auto& name : names_) name.tool.store(0, std::memory_order_relaxed);
  }

 private:
  struct {
    std::atomic<platMstxToolId_t> tool{0};
    std::atomic<void*> name{nullptr};
  } names_[PLAT_MSTX_TOOLS_MAX];  // by slot
};

// Of a heap or a region, of which there are many. Under the registry lock.
class Names {
 public:
  void set(const Tool& tool, void* name) {
    if (tool_ != 0 && tool_ != tool.id) {
      if (others_ == nullptr) others_ = std::make_unique<SharedNames>();
      return others_->set(tool, name);
    }
    tool_ = tool.id;
    name_ = name;
  }
  ToolsName find(const Tool& tool) const {
    if (tool_ == tool.id) return name_;
    return others_ != nullptr ? others_->find(tool) : std::nullopt;
  }

 private:
  platMstxToolId_t tool_ = 0;  // the first one; mostly there is no other
  void* name_ = nullptr;
  std::unique_ptr<SharedNames> others_;
};

struct Domain {
  const std::string* name = nullptr;  // while it lives
  bool dialect = false;               // see base/mstx_dialects.h
  uint64_t references = 0;            // creations that were not yet matched by a destruction
  SharedNames names;
};

struct Heap {
  Handle domain{};  // none: the global domain
  // None: described in a way that is not known here, so it cannot be told again.
  std::optional<mstxMemVirtualRangeDesc_t> range{};
  uint32_t usage = 0;  // an mstxMemHeapUsageType, if the client filled it in
  Handle first_region{};
  std::string name{};
  Names names{};
};

struct Region {
  // In a list of regions, the newest first.
  struct Links {
    Handle older, newer;
  };
  Handle domain{};
  Handle heap{};                                     // none: of no heap
  std::optional<mstxMemVirtualRangeDesc_t> range{};  // as of a heap
  bool by_handle = false;                            // the client asked for a handle
  std::optional<uint32_t> permissions{};
  Links in_heap{};
  Links at_start{};                     // those that start at the same pointer in the same domain
  std::unique_ptr<std::string> name{};  // few have one
  Names names{};
};

class Registry {
 public:
  // What was dropped is known for a while, so that a handle which is used once too often can be passed on.
  static constexpr core::TableShape kMany{.resting = 256, .generation_bits = kGenerationBits};
  static constexpr core::TableShape kSome{256, kGenerationBits, 256, 4096};
  static constexpr core::TableShape kFew{256, kGenerationBits, 256, 16};
  core::GenerationTable<Domain, kFew> domains;
  core::GenerationTable<Heap, kSome> heaps;
  core::GenerationTable<Region, kMany> regions;

  // The same name is the same domain, so clients that create theirs at every call cost one record. None when
  // as many live as can.
  Handle create_domain(const std::string& name);
  // Whether that was the last reference: then the domain is gone with everything in it.
  bool destroy_domain(Handle domain);
  // What a tool calls a domain; without the registry lock, so that the place of a domain that is gone may be
  // another's before the name is read. Then its generation says so.
  ToolsName name_of(Handle domain, const Tool& tool) const {
    const Domain* const record = domains.known(domain);
    const ToolsName name = record != nullptr ? record->names.find(tool) : std::nullopt;
    return name && domains.known(domain) != nullptr ? name : std::nullopt;
  }

  Handle add_heap(Heap heap);
  // The heap goes with its regions.
  void drop_heap(Handle heap);
  // The one record that stands for all heap news of a domain and device; made at the first.
  Handle news_heap(Handle domain, const mstxMemVirtualRangeDesc_t& range);

  Handle add_region(Region region);
  void drop_region(Handle region);
  // The newest region that starts at `pointer` in `domain`.
  Handle region_at(Handle domain, const void* pointer) const;
  // The newest first.
  std::vector<Handle> regions_of(Handle heap) const;

  bool empty() const { return domains.size() + heaps.size() + regions.size() == 0; }

 private:
  struct Start {
    Handle domain;
    const void* pointer;
    friend bool operator==(const Start&, const Start&) = default;
  };
  struct StartHash {
    size_t operator()(const Start& start) const {
      // Low bits say little of a pointer, which does no harm in a table whose size is a prime.
      return reinterpret_cast<uint64_t>(start.pointer) + start.domain.index * 0x9e3779b97f4a7c15ull;
    }
  };
  void put_first(Handle& newest, Handle region, Region::Links Region::*list);
  void take_out(Handle& newest, const Region& region, Region::Links Region::*list);

  std::unordered_map<std::string, Handle> by_name_;
  std::unordered_map<Start, Handle, StartHash> newest_at_;
  std::unordered_map<uint64_t, Handle> news_;  // by domain index and device; some are of heaps that are gone
};

}  // namespace plat::mstx
