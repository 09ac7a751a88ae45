// SPDX-License-Identifier: Apache-2.0
#include "mstx/tools.h"

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <thread>

#include "mstx/broker.h"
#include "mstx/discover.h"
#include "mstx/log.h"
#include "mstx/sections.h"

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

Tools::Tools(Broker& broker) : broker_(broker) {
  sets_.push_back(std::make_unique<ToolSet>());
  tools_.store(sets_.back().get());
}

bool Tools::start() {
  ThreadState& thread = this_thread();
  Mode mode = Mode::Fresh;
  if (g_mode.compare_exchange_strong(mode, Mode::Starting)) {
    thread.starting = true;
    {
      const Control control(*this);
      const char* wish = secure_getenv("PLAT_MSTX_REMEMBER");
      if (wish != nullptr && !std::string_view(wish).empty() && std::string_view(wish) != "0")
        remember_.store(true);
      attach_found_tools(*this);
      open_board();
    }
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
  const bool busy = tools_.load()->count != 0 || remember_.load();
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

void Tools::publish(std::unique_ptr<ToolSet> tools) {
  std::lock_guard lock(lock_);
  tools_.store(tools.get(), std::memory_order_seq_cst);
  sets_.push_back(std::move(tools));
}

template <class Test>
std::unique_ptr<Tool>* Tools::find(Test&& test) {
  const auto found =
      std::find_if(owned_.begin(), owned_.end(), [&](const auto& tool) { return test(*tool); });
  return found == owned_.end() ? nullptr : &*found;
}

int Tools::attach_path(const char* path, platMstxToolId_t* out_id) {
  if (path == nullptr || *path == '\0') return PLAT_MSTX_INVALID;
  if (this_thread().inside()) return PLAT_MSTX_BUSY;
  void* const library = load_tool(path);
  return library == nullptr ? PLAT_MSTX_CANNOT_LOAD : attach_library(library, path, out_id);
}

int Tools::attach_library(void* library, const char* path, platMstxToolId_t* out_id) {
  const mstxInitInjectionFunc init = find_init(library);
  if (init == nullptr) {
    warn("{} has no InitInjectionMstx", path);
    dlclose(library);
    return PLAT_MSTX_NO_SYMBOL;
  }
  const int result = attach(init, path, library, out_id);
  if (result == PLAT_MSTX_TOOL_REFUSED) warn("the tool {} refused to start", path);
  // One that refused stays loaded: what it may have set going is not known.
  if (result != PLAT_MSTX_OK && result != PLAT_MSTX_TOOL_REFUSED) dlclose(library);
  return result;
}

int Tools::attach(mstxInitInjectionFunc init, const char* name, void* library, platMstxToolId_t* out_id) {
  ThreadState& thread = this_thread();
  if (init == nullptr) return PLAT_MSTX_INVALID;
  if (thread.inside()) return PLAT_MSTX_BUSY;
  const Control control(*this);
  if (const auto* attached = find([&](const Tool& tool) { return tool.init == init; })) {
    if (out_id != nullptr) *out_id = (*attached)->id;
    return PLAT_MSTX_ATTACHED;
  }
  if (std::find(starting_.begin(), starting_.end(), init) != starting_.end()) return PLAT_MSTX_BUSY;
  if (std::popcount(slots_used_) == PLAT_MSTX_TOOLS_MAX) return PLAT_MSTX_TOO_MANY;
  auto tool = std::make_unique<Tool>();
  do tool->slot = next_slot_++ % PLAT_MSTX_TOOLS_MAX;
  while ((slots_used_ >> tool->slot & 1) != 0);
  slots_used_ |= 1u << tool->slot;
  tool->name = text_or_empty(name);
  tool->library = library;
  tool->init = init;
  tool->functions = &tool_slots(tool->slot);
  tool->functions->clear();

  // It stores its functions where nobody looks yet, so it may take its time, and call mstx.
  starting_.push_back(init);
  const int result = init(tool_getter(tool->slot));
  starting_.pop_back();
  if (result != MSTX_SUCCESS) {
    tool->functions->clear();
    slots_used_ &= ~(1u << tool->slot);
    return PLAT_MSTX_TOOL_REFUSED;
  }
  tool->id = ++last_id_;
  if (out_id != nullptr) *out_id = tool->id;
  if (!thread.starting) {
    remember_.store(true);
    set_mode();
  }
  {
    const ClosedGate closed(gate_, thread);
    broker_.tell_everything(*tool);
    auto tools = std::make_unique<ToolSet>(*tools_.load());
    tools->tools[tools->count++] = tool.get();
    {
      std::lock_guard lock(lock_);
      owned_.push_back(std::move(tool));
    }
    publish(std::move(tools));
  }
  set_mode();
  return PLAT_MSTX_OK;
}

int Tools::detach(platMstxToolId_t id) {
  ThreadState& thread = this_thread();
  if (thread.inside()) return PLAT_MSTX_BUSY;
  const Control control(*this);
  auto* const found = find([&](const Tool& tool) { return tool.id == id; });
  if (found == nullptr) return PLAT_MSTX_INVALID;
  std::unique_ptr<Tool> tool;
  {
    std::lock_guard lock(lock_);
    tool = std::move(*found);
    std::erase(owned_, nullptr);
  }
  // Handles are out there: without a memory of what lives, the next tool would hear of things that are long
  // gone.
  remember_.store(true);
  set_mode();

  {
    const ClosedGate closed(gate_, thread);
    auto tools = std::make_unique<ToolSet>();
    for (Tool* other : *tools_.load())
      if (other != tool.get()) tools->tools[tools->count++] = other;
    publish(std::move(tools));
  }
  // With the gate open: a tool that is inside a mark may be on its way through it.
  reads_.wait_for_all();
  {
    std::lock_guard lock(lock_);
    sets_.erase(sets_.begin(), sets_.end() - 1);
  }

  const bool ended =
      tell<Ext<PLAT_MSTX_FUNC_DETACH, platMstxDetachFunc>>(thread, *tool, [](auto end) { end(); });
  tool->functions->clear();
  slots_used_ &= ~(1u << tool->slot);
  if (ended && tool->library != nullptr) dlclose(tool->library);
  return PLAT_MSTX_OK;
}

int Tools::list(platMstxToolInfo_t* out, uint32_t capacity, uint32_t* out_count) {
  if (out_count == nullptr || (out == nullptr && capacity != 0)) return PLAT_MSTX_INVALID;
  ReadSection section(*this);
  *out_count = section.tools().count;
  for (uint32_t i = 0; i < std::min(capacity, section.tools().count); ++i) {
    if (out[i].structSize < sizeof(platMstxToolInfo_t)) return PLAT_MSTX_INVALID;
    Tool& tool = *section.tools().tools[i];
    out[i].id = tool.id;
    out[i].toolId = MSTX_TOOL_INVALID_ID;
    tell<Core<MSTX_API_CORE_GET_TOOL_ID, mstxGetToolIdFunc>>(section.thread(), tool,
                                                             [&](auto call) { call(&out[i].toolId); });
    std::memset(out[i].name, 0, sizeof(out[i].name));
    tool.name.copy(out[i].name, sizeof(out[i].name) - 1);
  }
  return PLAT_MSTX_OK;
}

int Tools::remember(bool on) {
  ThreadState& thread = this_thread();
  if (thread.inside()) return PLAT_MSTX_BUSY;
  const Control control(*this);
  {
    const ClosedGate closed(gate_, thread);
    remember_.store(on);
    if (!on && tools_.load()->count == 0 && broker_.forget_everything()) missed_.store(true);
  }
  set_mode();
  return PLAT_MSTX_OK;
}

void Tools::after_fork(bool in_child) {
  lock_.unlock();
  if (!in_child) return;
  ThreadState& thread = this_thread();
  reads_.only_this_thread(thread);
  gate_.only_this_thread(thread);
  if (thread.controlling != 0) return;
  new (&control_) std::recursive_mutex;
  slots_used_ = 0;
  for (const auto& tool : owned_) slots_used_ |= 1u << tool->slot;
  if (g_mode.load() == Mode::Starting) g_mode.store(Mode::Fresh);
}

}  // namespace plat::mstx
