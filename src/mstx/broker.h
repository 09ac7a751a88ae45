// SPDX-License-Identifier: Apache-2.0
// The broker: between the program that calls and the tools that listen.
//
// An exported call asks first whether anybody is there. Then it either reads (marks and ranges: ReadSection)
// or changes what lives (ChangeSection). Tools are called without the registry lock, in the order in which
// they came.
#pragma once

#include <pthread.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "mstx/ranges.h"
#include "mstx/registry.h"
#include "mstx/tools.h"

namespace plat::mstx {

struct Broker {
  // Never destroyed: programs call until their last instruction. In memory that cannot lack.
  static Broker& get() {
    alignas(Broker) static std::byte place[sizeof(Broker)];
    static Broker& broker = *new (place) Broker;
    return broker;
  }

  Tools tools;
  std::mutex registry_lock;  // registry; what tools call its domains is read without
  Registry registry;
  Ranges ranges;

 private:
  // The registry must not be torn in the child, so forking waits for it.
  Broker() {
    pthread_atfork([] { get().registry_lock.lock(); }, [] { get().registry_lock.unlock(); },
                   [] {
                     reopen_board();
                     get().tools.only_this_thread();
                     get().ranges.only_this_thread();
                     get().registry_lock.unlock();
                   });
  }
};

// Always inline, and what is done otherwise is not (in_change_section): so that a call to which nobody
// listens is a load, a branch and a return.
[[gnu::always_inline]] inline bool nobody_listens() {
  if (g_board.quiet.load(std::memory_order_acquire) != 0) [[likely]]
    return true;
  if (g_board.asked.load(std::memory_order_relaxed) != Asked::Nothing) [[unlikely]]
    answer_board();
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

// Calls one tool, if it has the function and is not on this thread's stack already: what a tool itself causes
// while it is called is not told to it, because it knows, and it would never end. Whether it was called, or
// its answer if it was.
template <class Call, class... Args>
auto tell(const Tool& tool, Args... args) {
  const auto function = Call::of(tool);
  using Answer = decltype(function(args...));
  std::conditional_t<std::is_void_v<Answer>, bool, std::optional<Answer>> told{};
  uint32_t& inside_tools = this_thread().inside_tools;
  if (function == nullptr || (inside_tools >> tool.slot & 1) != 0) return told;
  struct Inside {
    uint32_t& tools;
    const uint32_t before;
    ~Inside() { tools = before; }
  } const inside{inside_tools, inside_tools};
  inside_tools |= 1u << tool.slot;
  if constexpr (std::is_void_v<Answer>)
    function(args...), told = true;
  else
    told = function(args...);
  return told;
}

// Tools make strings of what they get.
inline const char* text_or_empty(const char* text) { return text != nullptr ? text : ""; }

inline mstxMemHeapHandle_t as_heap(ToolsName name) {
  return static_cast<mstxMemHeapHandle_t>(name.value_or(nullptr));
}

// The tool's name for a domain; NULL for the global one, which will do where it has none.
inline mstxDomainHandle_t domain_for(const Tool& tool, Handle domain) {
  const ToolsName name = domain ? Broker::get().registry.name_of(domain, tool) : std::nullopt;
  return static_cast<mstxDomainHandle_t>(name.value_or(nullptr));
}

class ReadSection {
 public:
  ReadSection() = default;
  ~ReadSection() { this_thread().reading.leave(); }
  ReadSection(const ReadSection&) = delete;
  ReadSection& operator=(const ReadSection&) = delete;

  Broker& broker = Broker::get();
  const ToolSet tools = broker.tools.enter_reading();
};

class ChangeSection {
 public:
  explicit ChangeSection(const char* call) : call_(call) {}
  ~ChangeSection() {
    if (lock.owns_lock()) lock.unlock();
    for (const platMstxNotice_t& notice : notices_)
      for (const Tool& tool : tools)
        tell<ToolCall<kExt, PLAT_MSTX_FUNC_NOTICE, platMstxNoticeFunc>>(tool, &notice);
    this_thread().changing.leave();
  }

  Broker& broker = Broker::get();
  Registry& registry = broker.registry;
  std::unique_lock<std::mutex> lock{broker.registry_lock, std::defer_lock};
  const ToolSet tools = broker.tools.enter_changing();
  Handle domain;         // what the client's handle means; none for the global one
  bool dialect = false;  // of its client

  // Whether a memory call has anybody to go to. What lives is kept true: a tool that comes later hears of it.
  bool memory_matters() const {
    if (broker.tools.remembers()) return true;
    for (const Tool& tool : tools)
      if (tool.hears_memory()) return true;
    const std::lock_guard guard(broker.registry_lock);
    return registry.heaps.size() + registry.regions.size() != 0;
  }
  // Takes the registry lock, and finds the domain. False, and a notice, if the handle was never given.
  bool open(mstxDomainHandle_t client_domain) {
    lock.lock();
    if (client_domain == nullptr) return true;
    // One that was destroyed still says which is meant; the tools may have something to say about it.
    domain = from_client(client_domain);
    const Domain* const record = registry.domains.known(domain);
    if (record == nullptr)
      notice(PLAT_MSTX_NOTICE_UNKNOWN_DOMAIN, client_domain);
    else
      dialect = record->dialect;
    return record != nullptr;
  }
  // The heap that a handle stands for, gone or not; a notice if it does not live. Under the lock.
  Handle heap_of(mstxMemHeapHandle_t heap) {
    const Handle handle = from_client(heap);
    if (registry.heaps.live(handle) == nullptr) notice(PLAT_MSTX_NOTICE_UNKNOWN_HEAP, heap);
    return registry.heaps.known(handle) != nullptr ? handle : Handle{};
  }
  // Says by a notice that a pointer is not there that must be.
  bool has(bool pointers) {
    if (!pointers) notice(PLAT_MSTX_NOTICE_NULL_ARGUMENT);
    return pointers;
  }
  // What describes memory in the one way that is known here; nullptr, and a notice, if it is another.
  const mstxMemVirtualRangeDesc_t* ranges(const mstxMemType& type, const void* described) {
    if (value_of(type) == MSTX_MEM_TYPE_VIRTUAL_ADDRESS)
      return static_cast<const mstxMemVirtualRangeDesc_t*>(described);
    notice(PLAT_MSTX_NOTICE_MEM_TYPE, uint64_t{value_of(type)});
    return nullptr;
  }
  // To be told, at the end of the call, to the tools that want to know.
  template <class Value = uint64_t>
  void notice(platMstxNoticeCode code, Value value = {}, uint64_t index = 0) {
    notices_.push_back({sizeof(platMstxNotice_t), code, call_, index, std::bit_cast<uint64_t>(value)});
  }

  // tell_one(tool, its name for the domain) for all of them, without the lock.
  template <class TellOne>
  void tell_each(TellOne&& tell_one) {
    lock.unlock();
    for (const Tool& tool : tools) tell_one(tool, domain_for(tool, domain));
  }
  // Whether anybody knows of what is new: a tool that was asked, or the broker, which remembers. If nobody
  // does, a later tool has missed it.
  bool is_known(bool asked) {
    const bool known = asked || broker.tools.remembers();
    if (!known) broker.tools.miss();
    return known;
  }

 private:
  const char* call_;
  std::vector<platMstxNotice_t> notices_;
};

// `call` has copies of the arguments, so that they need no place in memory where nobody listens.
template <class Do>
[[gnu::noinline]] auto in_change_section(const char* name, const Do& call) {
  return guarded([&] {
    ChangeSection section(name);
    return call(section);
  });
}

// A call that changes what lives. In vain: there is nobody to tell.
template <class Do>
auto change(bool in_vain, const char* name, const Do& call) {
  using Answer = std::invoke_result_t<Do, ChangeSection&>;
  return in_vain ? nothing<Answer>(PLAT_MSTX_NO_LISTENER) : in_change_section(name, call);
}

// One about memory, which some tools do not care for, in a domain. Of what is new a later tool wants to know.
enum class Memory : bool { Known, New };
template <Memory kMemory = Memory::Known, class Do>
auto change_memory(const char* name, mstxDomainHandle_t domain, const Do& call) {
  using Answer = std::invoke_result_t<Do, ChangeSection&>;
  return change(kMemory == Memory::New ? nobody_hears_of_it() : nobody_listens(), name,
                [=](ChangeSection& section) {
                  if (section.memory_matters())
                    return section.open(domain) ? call(section) : nothing<Answer>(PLAT_MSTX_INVALID);
                  if (kMemory == Memory::New) section.broker.tools.miss();
                  return nothing<Answer>(PLAT_MSTX_NO_LISTENER);
                });
}

// Each tells a tool of something that lives, and notes the tool's name for it. Of regions, with names and
// permissions, it tells as many of the first as go together, and says how many they were.
ToolsName tell_domain(const Tool& tool, const char* name, Handle domain);
void tell_heap(const Tool& tool, Handle heap);
size_t tell_regions(const Tool& tool, std::span<const Handle> regions);

}  // namespace plat::mstx
