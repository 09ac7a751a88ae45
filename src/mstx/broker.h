// SPDX-License-Identifier: Apache-2.0
// The broker: between the program that calls and the tools that listen.
//
// The exported calls stand in calls_*.cpp. Each asks first whether anybody is there. Then it either reads
// (marks and ranges: ReadSection) or changes what lives (everything else: ChangeSection). Tools are called
// without the registry lock, each at most once on a thread's stack, in the order in which they came.
#pragma once

#include <bit>
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
  // Never destroyed: programs call until their last instruction.
  static Broker& get() {
    static Broker& broker = *new Broker;
    return broker;
  }

  Tools tools;
  std::mutex registry_lock;  // registry; what tools call its domains is read without
  Registry registry;
  Ranges ranges;

 private:
  Broker();
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

// call(function) for one tool, if it has the function and is not on this thread's stack already: what a tool
// itself causes while it is called is not told to it, because it knows, and it would never end.
template <class Call, class Do>
bool tell(const Tool& tool, Do&& call) {
  const auto function = Call::of(tool);
  struct Inside {
    uint32_t& tools;
    const uint32_t before;
    ~Inside() { tools = before; }
  } const inside{this_thread().inside_tools, this_thread().inside_tools};
  if (function == nullptr || (inside.before >> tool.slot & 1) != 0) return false;
  inside.tools |= 1u << tool.slot;
  call(function);
  return true;
}

// call(tool, function) for all of them.
template <class Call, class Do>
void tell_all(const ToolSet& tools, Do&& call) {
  for (const auto& tool : tools) tell<Call>(*tool, [&](auto function) { call(*tool, function); });
}

// Tools make strings of what they get.
inline const char* text_or_empty(const char* text) { return text != nullptr ? text : ""; }

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
  const ToolSet& tools = broker.tools.enter_reading();
};

// What a client's domain handle means.
struct Where {
  Handle domain;
  bool dialect = false;
};

class ChangeSection {
 public:
  explicit ChangeSection(const char* call) : call_(call) {}
  ~ChangeSection();  // sends the notices
  ChangeSection(const ChangeSection&) = delete;
  ChangeSection& operator=(const ChangeSection&) = delete;

  Broker& broker = Broker::get();
  Registry& registry = broker.registry;
  std::unique_lock<std::mutex> lock{broker.registry_lock, std::defer_lock};
  const ToolSet& tools = broker.tools.enter_changing();

  // Whether a memory call has anybody to go to.
  bool memory_matters() const;

  // To be told, at the end of the call, to the tools that want to know.
  template <class Value = uint64_t>
  void notice(platMstxNoticeCode code, Value value = {}, uint64_t index = 0) {
    notices_.push_back({sizeof(platMstxNotice_t), code, call_, index, std::bit_cast<uint64_t>(value)});
  }

  // Takes the registry lock. Nothing, and a notice, if the handle was never given.
  std::optional<Where> where(mstxDomainHandle_t domain);
  // The heap that a handle stands for, gone or not; none, and a notice, if it was never given. Under the
  // lock.
  Handle heap_of(mstxMemHeapHandle_t heap);

  // Offers a new thing to the tools, and says whether the client gets a handle: when a tool took it, or when
  // nobody was asked and the broker remembers. Where every tool that was asked said NULL the client gets
  // NULL, as it would have from that tool alone. offer(tool) is its name for the thing, nothing if it was not
  // asked.
  template <class Offer>
  bool is_wanted(Offer&& offer) {
    bool asked = false;
    bool taken = false;
    for (const auto& tool : tools) {
      const auto answer = offer(*tool);
      asked = asked || answer;
      taken = taken || answer.value_or(nullptr) != nullptr;
    }
    return taken || (!asked && broker.tools.remembers());
  }

 private:
  const char* call_;
  std::vector<platMstxNotice_t> notices_;
};

// What comes of a call that goes nowhere: nothing, or the code that our own have for it.
template <class Answer>
Answer nothing(platMstxResult code) {
  if constexpr (std::is_same_v<Answer, int>)
    return code;
  else
    return Answer();
}

// A call that comes to nothing when memory runs out.
template <class Do>
auto guarded(Do&& call) -> std::invoke_result_t<Do> {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return nothing<std::invoke_result_t<Do>>(PLAT_MSTX_NO_MEMORY);
  }
}

// A call that changes what lives. Not inline, and `call` has copies of the arguments: so that a call to which
// nobody listens is a load, a branch and a return.
template <class Do>
[[gnu::noinline]] auto change(const char* name, const Do& call) {
  return guarded([&] {
    ChangeSection section(name);
    return call(section);
  });
}

// One about memory, which some tools do not care for.
template <class Do>
auto change_memory(const char* name, const Do& call) {
  return change(name, [&call](ChangeSection& section) {
    using Answer = std::invoke_result_t<Do, ChangeSection&>;
    return section.memory_matters() ? call(section) : nothing<Answer>(PLAT_MSTX_NO_LISTENER);
  });
}

// Each tells a tool and notes its name for the thing; nothing, or false, if it was not told.
ToolsName tell_domain(const Tool& tool, const char* name, Handle domain);
ToolsName tell_heap(const Tool& tool, Handle domain, const mstxMemHeapDesc_t& desc, Handle heap);
bool tell_regions(const Tool& tool, Handle domain, Handle heap, mstxMemRegionsRegisterBatch_t batch,
                  std::span<const Handle> handles);

// Tells of the first of these regions, with names and permissions, as the registry remembers them: as many as
// go together. How many they were.
size_t tell_again(const Tool& tool, std::span<const Handle> regions);
// Tells a newcomer what was there before it. The gate is closed.
void tell_everything(const Tool& tool);

}  // namespace plat::mstx
