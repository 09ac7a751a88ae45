// SPDX-License-Identifier: Apache-2.0
#include "mstx/tools.h"

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <new>
#include <string_view>
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

Tools::Tools() {
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

int Tools::attach(mstxInitInjectionFunc init, const char* name, void* library, platMstxToolId_t* out_id) {
  ThreadState& thread = this_thread();
  if (init == nullptr) return PLAT_MSTX_INVALID;
  if (thread.inside()) return PLAT_MSTX_BUSY;
  const Control control(*this);
  for (const auto& attached : *tools_.load()) {
    if (attached->init != init) continue;
    if (out_id != nullptr) *out_id = attached->id;
    return PLAT_MSTX_ATTACHED;
  }
  if (std::find(starting_.begin(), starting_.end(), init) != starting_.end()) return PLAT_MSTX_BUSY;
  if (std::popcount(slots_used_) == PLAT_MSTX_TOOLS_MAX) return PLAT_MSTX_TOO_MANY;
  const auto tool = std::make_shared<Tool>();
  do tool->slot = next_slot_++ % PLAT_MSTX_TOOLS_MAX;
  while ((slots_used_ >> tool->slot & 1) != 0);
  slots_used_ |= 1u << tool->slot;
  tool->name = text_or_empty(name);
  tool->library = library;
  tool->init = init;
  tool->functions = &tool_functions(tool->slot);
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
    const std::lock_guard closed(gate_);
    tell_everything(*tool);
    auto tools = std::make_unique<ToolSet>(*tools_.load());
    tools->tools[tools->count++] = tool;
    publish(std::move(tools));
  }
  set_mode();
  return PLAT_MSTX_OK;
}

int Tools::detach(platMstxToolId_t id) {
  if (this_thread().inside()) return PLAT_MSTX_BUSY;
  const Control control(*this);
  std::shared_ptr<Tool> tool;
  auto others = std::make_unique<ToolSet>();
  for (const auto& attached : *tools_.load())
    (attached->id == id ? tool : others->tools[others->count++]) = attached;
  if (tool == nullptr) return PLAT_MSTX_INVALID;
  // Handles are out there: without a memory of what lives, the next tool would hear of things that are long
  // gone.
  remember_.store(true);
  set_mode();
  {
    const std::lock_guard closed(gate_);
    publish(std::move(others));
  }
  // With the gate open: a tool that is inside a mark may be on its way through it.
  reads_.wait_for_all();
  {
    std::lock_guard lock(lock_);
    sets_.erase(sets_.begin(), sets_.end() - 1);
  }

  const bool ended =
      tell<ToolCall<kExt, PLAT_MSTX_FUNC_DETACH, platMstxDetachFunc>>(*tool, [](auto end) { end(); });
  tool->functions->clear();
  slots_used_ &= ~(1u << tool->slot);
  if (ended && tool->library != nullptr) dlclose(tool->library);
  return PLAT_MSTX_OK;
}

int Tools::remember(bool on) {
  if (this_thread().inside()) return PLAT_MSTX_BUSY;
  const Control control(*this);
  {
    const std::lock_guard closed(gate_);
    remember_.store(on);
    if (!on && tools_.load()->count == 0) {
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

void Tools::after_fork(bool in_child) {
  lock_.unlock();
  if (!in_child) return;
  reads_.only_this_thread();
  gate_.only_this_thread();
  if (this_thread().controlling != 0) return;
  new (&control_) std::recursive_mutex;
  starting_.clear();
  slots_used_ = 0;
  for (const auto& tool : *tools_.load()) slots_used_ |= 1u << tool->slot;
  if (g_mode.load() == Mode::Starting) g_mode.store(Mode::Fresh);
}

}  // namespace plat::mstx
