// SPDX-License-Identifier: Apache-2.0
#include "mstx/tools.h"

#include <dlfcn.h>

#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "mstx/broker.h"
#include "mstx/log.h"

namespace plat::mstx {

constinit std::atomic<Mode> g_mode{Mode::Fresh};

// A tool that waits, while it starts, for a thread that waits for it to start would wait for ever. Nothing
// else takes so long.
static constexpr auto kStartPatience = std::chrono::seconds(10);

// Attaching and detaching, one thread at a time.
class Tools::Control {
 public:
  explicit Control(Tools& tools) : lock_(tools.control_) { ++this_thread().controlling; }
  ~Control() { --this_thread().controlling; }

 private:
  std::lock_guard<std::recursive_mutex> lock_;
};

bool Tools::start() {
  ThreadState& thread = this_thread();
  Mode mode = Mode::Fresh;
  if (g_mode.compare_exchange_strong(mode, Mode::Starting)) {
    const Control control(*this);
    thread.starting = true;
    if (is_on("PLAT_MSTX_REMEMBER")) remember_.store(true);
    guarded(attach_found_tools);
    open_board();
    thread.starting = false;
    set_mode();
  } else if (mode == Mode::Starting) {
    // The tool that is starting calls mstx: it hears nothing of itself.
    if (thread.starting) return false;
    const auto patience = std::chrono::steady_clock::now() + kStartPatience;
    while (g_mode.load(std::memory_order_acquire) == Mode::Starting) {
      if (std::chrono::steady_clock::now() > patience) {
        warn("a tool has been starting for 10 seconds; going on without it until it is ready");
        return false;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  return g_mode.load(std::memory_order_acquire) == Mode::Busy;
}

void Tools::set_mode() {
  if (this_thread().starting) return;
  const bool busy = tools_.load() != ToolSet{} || remember_.load();
  g_mode.store(busy ? Mode::Busy : Mode::Idle, std::memory_order_release);
  g_board.quiet.store(busy ? 0 : missed_.load() ? 2 : 1, std::memory_order_release);
}

void Tools::settle() {
  const Control control(*this);
  set_mode();
}

void Tools::miss() {
  missed_.store(true);
  int idle = 1;  // and not if a tool has come meanwhile
  g_board.quiet.compare_exchange_strong(idle, 2, std::memory_order_release);
}

int Tools::attach(mstxInitInjectionFunc init, const char* name, void* library, platMstxToolId_t* out_id) {
  ThreadState& thread = this_thread();
  if (init == nullptr) return PLAT_MSTX_INVALID;
  if (thread.inside()) return PLAT_MSTX_BUSY;
  const Control control(*this);
  Tool* tool = nullptr;
  for (uint32_t i = 0; i < PLAT_MSTX_TOOLS_MAX; ++i) {
    const uint32_t slot = (next_slot_ + i) % PLAT_MSTX_TOOLS_MAX;
    Tool& other = g_tools[slot];
    if (other.init == init) {
      if (!tools_.load().has(other)) return PLAT_MSTX_BUSY;  // it starts or leaves, on this thread's stack
      if (out_id != nullptr) *out_id = other.id;
      return PLAT_MSTX_ATTACHED;
    }
    if (other.init != nullptr || tool != nullptr) continue;
    tool = &other;
    tool->slot = slot;
  }
  if (tool == nullptr) return PLAT_MSTX_TOO_MANY;
  next_slot_ = tool->slot + 1;
  tool->init = init;
  tool->library = library;
  tool->gave_range_zero.store(false);
  std::strncpy(tool->name, text_or_empty(name), sizeof(tool->name) - 1);
  tool->clear_functions();

  // It stores its functions where nobody looks yet, so it may take its time, and call mstx.
  if (init(tool_getter(tool->slot)) != MSTX_SUCCESS) {
    tool->init = nullptr;
    return PLAT_MSTX_TOOL_REFUSED;
  }
  tool->id = ++last_id_;
  if (out_id != nullptr) *out_id = tool->id;
  if (!thread.starting) {
    remember_.store(true);
    set_mode();
  }
  try {
    const std::lock_guard closed(gate_);
    tell_everything(*tool);
    tools_.store(tools_.load().with(*tool), std::memory_order_seq_cst);
  } catch (const std::bad_alloc&) {
    let_go(*tool);
    throw;
  }
  set_mode();
  return PLAT_MSTX_OK;
}

void Tools::tell_everything(const Tool& tool) const {
  std::vector<std::pair<Handle, std::string>> domains;
  std::vector<Handle> heaps, regions;
  {
    const std::lock_guard lock(Broker::get().registry_lock);
    const Registry& registry = Broker::get().registry;
    registry.domains.for_each_live(
        [&](Handle handle, const Domain& domain) { domains.emplace_back(handle, *domain.name); });
    registry.heaps.for_each_live([&](Handle handle, const Heap& heap) {
      if (heap.range) heaps.push_back(handle);
      const std::vector<Handle> newest_first = registry.regions_of(handle);
      regions.insert(regions.end(), newest_first.rbegin(), newest_first.rend());
    });
    registry.regions.for_each_live([&](Handle handle, const Region& region) {
      if (!region.heap) regions.push_back(handle);
    });
    std::erase_if(regions, [&](Handle region) { return !registry.regions.live(region)->range; });
  }
  const platMstxReplay_t replay{sizeof(replay), missed_.load() ? 0u : 1u, domains.size(), heaps.size(),
                                regions.size()};
  tell<ToolCall<kExt, PLAT_MSTX_FUNC_REPLAY_BEGIN, platMstxReplayFunc>>(tool, &replay);
  for (const auto& [handle, name] : domains) tell_domain(tool, name.c_str(), handle);
  for (const Handle handle : heaps) tell_heap(tool, handle);
  for (std::span<const Handle> left = regions; !left.empty();) left = left.subspan(tell_regions(tool, left));
  tell<ToolCall<kExt, PLAT_MSTX_FUNC_REPLAY_END, platMstxReplayFunc>>(tool, &replay);
}

int Tools::detach(platMstxToolId_t id) {
  if (this_thread().inside()) return PLAT_MSTX_BUSY;
  const Control control(*this);
  Tool* leaving = nullptr;
  ToolSet others;
  for (Tool& tool : tools_.load()) {
    if (tool.id == id)
      leaving = &tool;
    else
      others = others.with(tool);
  }
  if (leaving == nullptr) return PLAT_MSTX_INVALID;
  // Handles are out there: without a memory of what lives, the next tool would hear of things that are long
  // gone.
  remember_.store(true);
  {
    const std::lock_guard closed(gate_);
    tools_.store(others, std::memory_order_seq_cst);
  }
  // With the gate open: a tool that is inside a mark may be on its way through it.
  reads_.wait_for_all();
  let_go(*leaving);
  return PLAT_MSTX_OK;
}

void Tools::let_go(Tool& tool) {
  const bool ended = tell<ToolCall<kExt, PLAT_MSTX_FUNC_DETACH, platMstxDetachFunc>>(tool);
  tool.init = nullptr;
  if (ended && tool.library != nullptr) dlclose(tool.library);
}

int Tools::remember(bool on) {
  if (this_thread().inside()) return PLAT_MSTX_BUSY;
  const Control control(*this);
  {
    const std::lock_guard closed(gate_);
    remember_.store(on);
    if (!on && tools_.load() == ToolSet{}) {
      std::lock_guard lock(Broker::get().registry_lock);
      Registry& registry = Broker::get().registry;
      if (!registry.empty()) missed_.store(true);
      // Made anew in its place: its tables cannot be moved, and an empty one takes no memory that could lack.
      std::destroy_at(&registry);
      std::construct_at(&registry);
    }
  }
  set_mode();
  return PLAT_MSTX_OK;
}

void Tools::only_this_thread() {
  const ThreadState& thread = this_thread();
  std::construct_at(&reads_);
  std::construct_at(&gate_);
  for (const Passage& own : {thread.reading, thread.changing})
    if (own.nesting != 0 && own.counter != nullptr) own.counter->store(1, std::memory_order_relaxed);
  // Its owner has another number now, and could not unlock it.
  std::construct_at(&control_);
  for (uint32_t n = 0; n < thread.controlling; ++n) control_.lock();
  if (thread.controlling != 0) return;
  for (Tool& tool : g_tools)
    if (!tools_.load().has(tool)) tool.init = nullptr;
  if (g_mode.load() == Mode::Starting) g_mode.store(Mode::Fresh);
}

}  // namespace plat::mstx
