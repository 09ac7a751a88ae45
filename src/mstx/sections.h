// SPDX-License-Identifier: Apache-2.0
// The two kinds of section that a call runs in, and how a call goes out to the tools.
#pragma once

#include <vector>

#include "mstx/broker.h"

namespace plat::mstx {

class ReadSection {
 public:
  explicit ReadSection(Broker& broker) : broker_(broker), thread_(this_thread()) {
    broker_.reads_.enter(thread_);
    tools_ = broker_.tools_.load(std::memory_order_seq_cst);
  }
  ~ReadSection() { broker_.reads_.leave(thread_); }
  ReadSection(const ReadSection&) = delete;
  ReadSection& operator=(const ReadSection&) = delete;

  ThreadState& thread() { return thread_; }
  const ToolSet& tools() const { return *tools_; }

 private:
  Broker& broker_;
  ThreadState& thread_;
  const ToolSet* tools_;
};

class ChangeSection {
 public:
  explicit ChangeSection(Broker& broker) : broker_(broker), thread_(this_thread()) {
    broker_.gate_.enter(thread_);
    tools_ = broker_.tools_.load(std::memory_order_seq_cst);
  }
  ~ChangeSection();  // sends the notices
  ChangeSection(const ChangeSection&) = delete;
  ChangeSection& operator=(const ChangeSection&) = delete;

  ThreadState& thread() { return thread_; }
  const ToolSet& tools() const { return *tools_; }
  bool remembers() const { return broker_.remember_.load(std::memory_order_relaxed); }

  // Whether a memory call has anybody to go to.
  bool memory_matters() const;

  // To be told, at the end of the call, to the tools that want to know.
  void notice(platMstxNoticeCode code, const char* function, uint64_t index, uint64_t value) {
    notices_.push_back({sizeof(platMstxNotice_t), static_cast<uint32_t>(code), function, index, value});
  }
  void notice(platMstxNoticeCode code, const char* function, uint64_t index, const void* value) {
    notice(code, function, index, reinterpret_cast<uint64_t>(value));
  }

 private:
  Broker& broker_;
  ThreadState& thread_;
  const ToolSet* tools_;
  std::vector<platMstxNotice_t> notices_;
};

// call(tool, function) for one tool, if it has the function and is not on this thread's stack already.
template <auto Array, int Id, class Function, class Call>
bool tell(ThreadState& thread, Tool& tool, Call&& call) {
  const auto function = load<Function>((tool.functions->*Array)[Id]);
  if (function == nullptr) return false;
  const InsideTool inside(thread, tool);
  if (!inside) return false;
  call(tool, function);
  return true;
}

template <auto Array, int Id, class Function, class Section, class Call>
void tell_all(Section& section, Call&& call) {
  for (Tool* tool : section.tools()) tell<Array, Id, Function>(section.thread(), *tool, call);
}

// Tools make strings of what they get.
inline const char* text_or_empty(const char* text) { return text != nullptr ? text : ""; }

}  // namespace plat::mstx
