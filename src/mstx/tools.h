// SPDX-License-Identifier: Apache-2.0
// Who listens: tools that come and go while the program calls. A newcomer is told what lives before any call
// goes to it, and one that leaves is gone from every call when detach returns.
#pragma once

#include <atomic>
#include <mutex>

#include "mstx/board.h"
#include "mstx/gate.h"
#include "mstx/tool.h"

namespace plat::mstx {

enum class Mode : int {
  Fresh,     // no call was made yet: where tools come from has not been looked at
  Starting,  // a thread is looking
  Idle,      // nobody listens and nothing is remembered
  Busy,
};

extern std::atomic<Mode> g_mode;

class Tools {
 public:
  // True when a call has somebody to go to. The first call looks for tools; others wait for it.
  bool start();
  // Something was registered that nobody heard of.
  void miss();
  // Says again, on the board, whether anybody listens: who asks for something has said that somebody does.
  void settle();

  // Each enters a section. The tools of the set are there to the end of it.
  ToolSet enter_reading() {
    reads_.enter(this_thread().reading);
    return tools_.load(std::memory_order_seq_cst);
  }
  ToolSet enter_changing() {
    gate_.enter(this_thread().changing);
    return tools_.load(std::memory_order_seq_cst);
  }

  // A library is unloaded after the tool is gone, where that is safe.
  int attach(mstxInitInjectionFunc init, const char* name, void* library, platMstxToolId_t* out_id);
  int detach(platMstxToolId_t id);
  int remember(bool on);

  bool remembers() const { return remember_.load(std::memory_order_relaxed); }

  // After fork, which does not wait for attaching: that may take long, and a tool may fork while it starts.
  // In the child the threads that called are gone, and one that was attaching never gets to the end of it.
  void only_this_thread();

 private:
  class Control;

  void set_mode();
  // Tells a newcomer what was there before it. The gate is closed.
  void tell_everything(const Tool& tool) const;
  // The end of a tool that no call goes to.
  static void let_go(Tool& tool);

  std::recursive_mutex control_;  // attach and detach; a tool may attach another from its own start
  ReadSections reads_;
  Gate gate_;
  std::atomic<bool> remember_{false};
  std::atomic<bool> missed_{false};
  std::atomic<ToolSet> tools_;
  uint32_t next_slot_ = 0;  // slots rest before they are taken again; under control_, as is what follows
  platMstxToolId_t last_id_ = 0;
};

// Where tools come from when a program makes its first call (discover.cpp).
void attach_found_tools();
// nullptr, and a line on stderr, if it does not load.
void* load_tool(const char* path);
// The tool in a library, which is unloaded if it cannot be attached.
int attach_library(void* library, const char* path, platMstxToolId_t* out_id);

}  // namespace plat::mstx
