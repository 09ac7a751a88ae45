// SPDX-License-Identifier: Apache-2.0
// The broker: between the program that calls and the tools that listen.
//
// A call either reads (marks and ranges: ReadSection) or changes what lives (everything else: ChangeSection).
// Inside a section the set of tools does not lose a member. Tools are called without the registry lock, each
// at most once on a thread's stack, in the order in which they came.
//
// A client gets a handle when a tool took the thing, or when nobody was asked and the broker remembers; where
// every tool that was asked said NULL the client gets NULL, as it would have from that tool alone.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "mstx/board.h"
#include "mstx/broker_types.h"
#include "mstx/gate.h"
#include "mstx/ranges.h"
#include "mstx/registry.h"
#include "mstx/tool.h"

namespace plat::mstx {

enum class Mode : int {
  Fresh,     // no call was made yet: where tools come from has not been looked at
  Starting,  // a thread is looking
  Idle,      // nobody listens and nothing is remembered
  Busy,
};

extern std::atomic<Mode> g_mode;

class ReadSection;
class ChangeSection;
class Refs;

class Broker {
 public:
  // Never destroyed: programs call until their last instruction.
  static Broker& get();

  // Something was registered that nobody heard of.
  void miss();

  // True when a call has somebody to go to. The first call looks for tools; others wait for it.
  bool start();

  // Says again, on the board, whether anybody listens: who asks for something has said that somebody does.
  void settle() {
    const Control control(*this);
    set_mode();
  }

  int attach_path(const char* path, platMstxToolId_t* out_id);
  // The tool in a library, which is unloaded if it cannot be attached and after it is gone, where that is
  // safe.
  int attach_library(void* library, const char* path, platMstxToolId_t* out_id);
  int attach(mstxInitInjectionFunc init, const char* name, void* library, platMstxToolId_t* out_id);
  int detach(platMstxToolId_t id);
  int list(platMstxToolInfo_t* tools, uint32_t capacity, uint32_t* out_count);
  int remember(bool on);

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
  void regions_register(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t* desc);
  void regions_unregister(mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t* desc);
  void permissions_assign(mstxDomainHandle_t domain, const mstxMemPermissionsAssignBatch_t* desc);

  int heap_name(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, const char* name);
  int heap_reset(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap);
  int regions_name(mstxDomainHandle_t domain, const platMstxMemRegionsNameBatch_t* desc);
  int regions_resize(mstxDomainHandle_t domain, const platMstxMemRegionsResizeBatch_t* desc);
  int mark_initialized(mstxDomainHandle_t domain, const platMstxMemInitializedBatch_t* desc);

 private:
  friend class ReadSection;
  friend class ChangeSection;
  friend class Refs;

  // Attaching and detaching, one thread at a time.
  class Control {
   public:
    explicit Control(Broker& broker) : lock_(broker.control_) { ++this_thread().controlling; }
    ~Control() { --this_thread().controlling; }

   private:
    std::lock_guard<std::recursive_mutex> lock_;
  };

  Broker();

  void publish(std::unique_ptr<ToolSet> tools);
  void set_mode();
  Tool* find_tool(mstxInitInjectionFunc init);

  // What a client's domain handle means; nothing, and a notice, if it was never given. Under the registry
  // lock.
  struct Place {
    Handle domain;
    const Dialect* dialect = nullptr;
  };
  std::optional<Place> place_of(mstxDomainHandle_t domain, ChangeSection& section, const char* call);
  // The heap that a handle stands for, gone or not; none, and a notice, if it was never given. Under the
  // registry lock.
  Handle heap_of(mstxMemHeapHandle_t heap, ChangeSection& section, const char* call);

  // The tool's name for a domain, NULL for the global one; nothing if the tool was never told of it.
  static std::optional<mstxDomainHandle_t> domain_known_to(const Tool& tool, mstxDomainHandle_t domain);
  // The same where the global domain will do.
  static mstxDomainHandle_t domain_for(const Tool& tool, Handle domain) {
    return static_cast<mstxDomainHandle_t>(tool.domains.find(domain).value_or(nullptr));
  }

  // Telling a tool what was there before it. Each takes the registry lock to look and to note the tool's
  // handles.
  void tell_everything(Tool& tool);
  void tell_domain(Tool& tool, Handle handle);
  void tell_heap(Tool& tool, Handle handle);
  // Regions of one domain and one heap, all with a handle or all without.
  void tell_regions(Tool& tool, std::span<const Handle> handles);
  // How many of the first regions may be told together.
  size_t alike(std::span<const Handle> handles);

  static void fork_prepare();
  static void fork_parent();
  static void fork_child();

  std::recursive_mutex control_;  // see Control; a tool may attach another from its own start
  std::mutex registry_lock_;  // registry_, the handle tables of every tool, and changes of owned_ and sets_
  Registry registry_;
  ReadSections reads_;
  Gate gate_;
  Ranges ranges_;
  std::atomic<bool> remember_{false};
  std::atomic<bool> missed_{false};
  std::atomic<const ToolSet*> tools_;
  std::vector<std::unique_ptr<Tool>> owned_;
  std::vector<std::unique_ptr<const ToolSet>>
      sets_;                 // older ones that a call may still see, the published one last
  uint32_t slots_used_ = 0;  // bit i: tool slot i is taken; under control_, as is what follows
  uint32_t next_slot_ = 0;   // slots rest before they are taken again
  platMstxToolId_t last_id_ = 0;
  std::vector<mstxInitInjectionFunc>
      starting_;  // tools whose start is on the stack: one may attach another, not itself
};

inline bool nobody_listens() {
  if (g_board.quiet.load(std::memory_order_acquire) != 0) [[likely]]
    return true;
  if (g_board.asked.load(std::memory_order_relaxed) != Asked::Nothing) [[unlikely]]
    answer_board(Broker::get());
  return g_mode.load(std::memory_order_acquire) != Mode::Busy && !Broker::get().start();
}

// The same before a call that makes something which a later tool would want to know.
inline bool nobody_hears_of_it() {
  if (g_board.quiet.load(std::memory_order_acquire) == 2) [[likely]]
    return true;
  if (!nobody_listens()) return false;
  Broker::get().miss();
  return true;
}

}  // namespace plat::mstx
