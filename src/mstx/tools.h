// SPDX-License-Identifier: Apache-2.0
// Who listens: tools that come and go while the program calls.
//
// Calls run in sections (sections.h); inside one the set of tools does not lose a member. A newcomer is told
// what lives before any call goes to it, and one that leaves is gone from every call when detach returns.
//
// Locks, in this order: control_ (attach and detach, one at a time; a tool may attach another from its own
// start), Broker's registry lock, lock_ (the two lists; held for a few lines).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "mstx/board.h"
#include "mstx/gate.h"
#include "mstx/tool.h"

namespace plat::mstx {

class Broker;

enum class Mode : int {
  Fresh,     // no call was made yet: where tools come from has not been looked at
  Starting,  // a thread is looking
  Idle,      // nobody listens and nothing is remembered
  Busy,
};

extern std::atomic<Mode> g_mode;

class Tools {
 public:
  explicit Tools(Broker& broker);

  // True when a call has somebody to go to. The first call looks for tools; others wait for it.
  bool start();
  // Something was registered that nobody heard of.
  void miss();
  // Says again, on the board, whether anybody listens: who asks for something has said that somebody does.
  void settle();

  int attach_path(const char* path, platMstxToolId_t* out_id);
  // The tool in a library, which is unloaded if it cannot be attached and after it is gone, where that is
  // safe.
  int attach_library(void* library, const char* path, platMstxToolId_t* out_id);
  int attach(mstxInitInjectionFunc init, const char* name, void* library, platMstxToolId_t* out_id);
  int detach(platMstxToolId_t id);
  int list(platMstxToolInfo_t* tools, uint32_t capacity, uint32_t* out_count);
  int remember(bool on);

  bool remembers() const { return remember_.load(std::memory_order_relaxed); }
  // Whether a newcomer can be told of everything that lives.
  bool knows_all() const { return !missed_.load(); }

  // Forking waits for lock_, so that the lists are whole in the child, but not for attaching: it may take
  // long, and a tool may fork while it starts. In the child the threads that called are gone, and one that
  // was attaching never gets to the end of it.
  void before_fork() { lock_.lock(); }
  void after_fork(bool in_child);

 private:
  friend class ReadSection;
  friend class ChangeSection;
  class Control;

  void publish(std::unique_ptr<ToolSet> tools);
  void set_mode();
  template <class Test>
  std::unique_ptr<Tool>* find(Test&& test);

  Broker& broker_;
  std::recursive_mutex control_;
  std::mutex lock_;  // changes of owned_ and sets_
  ReadSections reads_;
  Gate gate_;
  std::atomic<bool> remember_{false};
  std::atomic<bool> missed_{false};
  std::atomic<const ToolSet*> tools_;
  std::vector<std::unique_ptr<Tool>> owned_;
  // Older ones that a call may still see; the last is published.
  std::vector<std::unique_ptr<const ToolSet>> sets_;
  uint32_t slots_used_ = 0;  // bit i: tool slot i is taken; under control_, as is what follows
  uint32_t next_slot_ = 0;   // slots rest before they are taken again
  platMstxToolId_t last_id_ = 0;
  std::vector<mstxInitInjectionFunc> starting_;  // on the stack: a tool may attach another, not itself
};

}  // namespace plat::mstx
