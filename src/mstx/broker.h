// SPDX-License-Identifier: Apache-2.0
// The broker: between the program that calls and the tools that listen.
//
// A call either reads (marks and ranges: ReadSection) or changes what lives (everything else: ChangeSection).
// Tools are called without the registry lock, each at most once on a thread's stack, in the order in which
// they came.
//
// A client gets a handle when a tool took the thing, or when nobody was asked and the broker remembers; where
// every tool that was asked said NULL the client gets NULL, as it would have from that tool alone.
#pragma once

#include <mutex>
#include <optional>
#include <span>

#include "mstx/broker_types.h"
#include "mstx/ranges.h"
#include "mstx/registry.h"
#include "mstx/tools.h"

namespace plat::mstx {

class ChangeSection;
struct Plainly;

class Broker {
 public:
  // Never destroyed: programs call until their last instruction.
  static Broker& get();

  Tools tools{*this};

  void mark(const char* message, aclrtStream stream);
  mstxRangeId range_start(const char* message, aclrtStream stream);
  void range_end(mstxRangeId id);
  uint64_t tool_id();

  mstxDomainHandle_t domain_create(const char* name);
  void domain_destroy(mstxDomainHandle_t domain);
  void domain_mark(mstxDomainHandle_t domain, const char* message, aclrtStream stream);
  mstxRangeId domain_range_start(mstxDomainHandle_t domain, const char* message, aclrtStream stream);
  void domain_range_end(mstxDomainHandle_t domain, mstxRangeId id);

  mstxMemHeapHandle_t heap_register(mstxDomainHandle_t domain, const mstxMemHeapDesc_t* desc);
  void heap_unregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap);
  int heap_name(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, const char* name);
  int heap_reset(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap);

  void regions_register(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t* desc);
  void regions_unregister(mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t* desc);
  void permissions_assign(mstxDomainHandle_t domain, const mstxMemPermissionsAssignBatch_t* desc);
  int regions_name(mstxDomainHandle_t domain, const platMstxMemRegionsNameBatch_t* desc);
  int regions_resize(mstxDomainHandle_t domain, const platMstxMemRegionsResizeBatch_t* desc);
  int mark_initialized(mstxDomainHandle_t domain, const platMstxMemInitializedBatch_t* desc);

  // Tells a newcomer what was there before it. The gate is closed.
  void tell_everything(Tool& tool);
  // Whether there was anything.
  bool forget_everything();

 private:
  Broker();

  // What a client's domain handle means; nothing, and a notice, if it was never given. Under the registry
  // lock.
  struct DomainMeaning {
    Handle domain;
    bool dialect = false;
  };
  std::optional<DomainMeaning> meaning_of(mstxDomainHandle_t domain, ChangeSection& section);
  // The heap that a handle stands for, gone or not; none, and a notice, if it was never given. Under the
  // registry lock.
  Handle heap_of(mstxMemHeapHandle_t heap, ChangeSection& section);
  // A heap in the words of each tool.
  struct HeapWords {
    DomainMeaning where;
    Handle handle;
    std::optional<void*> names[PLAT_MSTX_TOOLS_MAX];  // by slot
  };
  std::optional<HeapWords> words_for(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap,
                                     ChangeSection& section);

  // The way of every batch that refers to regions, from the client to the tools. change(region, item) notes
  // those that live, under the registry lock; tell_one(thread, tool, its domain, its items, their regions)
  // may be something else than the plain call.
  template <class Item, class Change, class TellOne = Plainly>
  int pass_on(mstxDomainHandle_t domain, const char* call, std::span<const Item> items, Change&& change,
              TellOne tell_one = {});
  // What a reference means: the region, live or gone, or a pointer at which none starts.
  struct Meaning {
    mstxMemRegionRef_t ref{};
    const Region* region = nullptr;
    Handle live;
    bool is_known = false;  // false: it goes nowhere
  };
  Meaning meaning_of(const mstxMemRegionRef_t& ref, DomainMeaning where, size_t index,
                     ChangeSection& section);

  // The tool's name for a domain, NULL for the global one; nothing if the tool was never told of it.
  static std::optional<mstxDomainHandle_t> domain_known_to(const Tool& tool, mstxDomainHandle_t domain);
  // The same where the global domain will do.
  static mstxDomainHandle_t domain_for(const Tool& tool, Handle domain) {
    return static_cast<mstxDomainHandle_t>(tool.domains.find(domain).value_or(nullptr));
  }

  // Each tells a tool and notes its name for the thing. Whether it was told; what it said.
  bool tell_domain(Tool& tool, const char* name, Handle domain, mstxDomainHandle_t& answer);
  std::optional<mstxMemHeapHandle_t> tell_heap(Tool& tool, Handle domain, const mstxMemHeapDesc_t& desc,
                                               Handle heap);
  bool tell_regions(Tool& tool, Handle domain, Handle heap, mstxMemRegionsRegisterBatch_t batch,
                    const Handle* handles);
  // The same from what the registry remembers, with names and permissions. Regions: of one domain and one
  // heap, all with a handle or all without.
  void tell_again(Tool& tool, Handle heap);
  void tell_again(Tool& tool, std::span<const Handle> regions);
  // How many of the first regions may be told together.
  size_t alike(std::span<const Handle> handles);

  static void fork_prepare();
  static void fork_parent();
  static void fork_child();

  std::mutex registry_lock_;  // registry_, and the tools' names for what is in it
  Registry registry_;
  Ranges ranges_;
};

inline bool nobody_listens() {
  if (g_board.quiet.load(std::memory_order_acquire) != 0) [[likely]]
    return true;
  if (g_board.asked.load(std::memory_order_relaxed) != Asked::Nothing) [[unlikely]]
    answer_board(Broker::get().tools);
  return g_mode.load(std::memory_order_acquire) != Mode::Busy && !Broker::get().tools.start();
}

// The same before a call that makes something which a later tool would want to know.
inline bool nobody_hears_of_it() {
  if (g_board.quiet.load(std::memory_order_acquire) == 2) [[likely]]
    return true;
  if (!nobody_listens()) return false;
  Broker::get().tools.miss();
  return true;
}

}  // namespace plat::mstx
