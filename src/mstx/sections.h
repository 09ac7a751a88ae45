// SPDX-License-Identifier: Apache-2.0
// The two kinds of section that a call runs in, and how a call goes out to the tools.
#pragma once

#include <vector>

#include "mstx/tools.h"

namespace plat::mstx {

class ReadSection {
 public:
  explicit ReadSection(Tools& tools) : gate_(tools.reads_), thread_(this_thread()) {
    gate_.enter(thread_);
    tools_ = tools.tools_.load(std::memory_order_seq_cst);
  }
  ~ReadSection() { gate_.leave(thread_); }
  ReadSection(const ReadSection&) = delete;
  ReadSection& operator=(const ReadSection&) = delete;

  ThreadState& thread() { return thread_; }
  const ToolSet& tools() const { return *tools_; }

 private:
  ReadSections& gate_;
  ThreadState& thread_;
  const ToolSet* tools_;
};

class ChangeSection {
 public:
  ChangeSection(Tools& tools, const char* call) : owner_(tools), thread_(this_thread()), call_(call) {
    owner_.gate_.enter(thread_);
    tools_ = owner_.tools_.load(std::memory_order_seq_cst);
  }
  ~ChangeSection();  // sends the notices
  ChangeSection(const ChangeSection&) = delete;
  ChangeSection& operator=(const ChangeSection&) = delete;

  ThreadState& thread() { return thread_; }
  const ToolSet& tools() const { return *tools_; }
  bool remembers() const { return owner_.remembers(); }

  // Whether a memory call has anybody to go to.
  bool memory_matters() const;

  // To be told, at the end of the call, to the tools that want to know.
  void notice(platMstxNoticeCode code, uint64_t value = 0, uint64_t index = 0) {
    notices_.push_back({sizeof(platMstxNotice_t), static_cast<uint32_t>(code), call_, index, value});
  }
  void notice(platMstxNoticeCode code, const void* value, uint64_t index = 0) {
    notice(code, reinterpret_cast<uint64_t>(value), index);
  }

 private:
  Tools& owner_;
  ThreadState& thread_;
  const char* call_;
  const ToolSet* tools_;
  std::vector<platMstxNotice_t> notices_;
};

// One function that a tool may have: where it stands, and its type.
template <auto Module, int Id, class Function>
struct ToolCall {
  static Function of(const Tool& tool) { return load<Function>((tool.functions->*Module)[Id]); }
};
template <int Id, class Function>
using Core = ToolCall<&ToolSlots::core, Id, Function>;
template <int Id, class Function>
using InDomain = ToolCall<&ToolSlots::domain, Id, Function>;
template <int Id, class Function>
using Mem = ToolCall<&ToolSlots::mem, Id, Function>;
template <int Id, class Function>
using Ext = ToolCall<&ToolSlots::ext, Id, Function>;

// call(function) for one tool, if it has the function and is not on this thread's stack already.
template <class Call, class Do>
bool tell(ThreadState& thread, Tool& tool, Do&& call) {
  const auto function = Call::of(tool);
  if (function == nullptr) return false;
  const InsideTool inside(thread, tool);
  if (!inside) return false;
  call(function);
  return true;
}

// call(tool, function) for all of them.
template <class Call, class Section, class Do>
void tell_all(Section& section, Do&& call) {
  for (Tool* tool : section.tools())
    tell<Call>(section.thread(), *tool, [&](auto function) { call(*tool, function); });
}

// Tools make strings of what they get.
inline const char* text_or_empty(const char* text) { return text != nullptr ? text : ""; }

}  // namespace plat::mstx
