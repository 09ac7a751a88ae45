// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <string_view>

#include "notes.h"

namespace plat::inspect_python {

using inspect::Event;
using inspect::Op;

namespace {

std::string_view cut(std::string_view& text, char at) {
  const std::string_view part = text.substr(0, text.find(at));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

// "call" or "pool", then a line for each frame: line, function, file.
PythonStack stack_of_text(std::string_view text) {
  PythonStack stack;
  stack.by_pool = cut(text, '\n') == "pool";
  while (!text.empty()) {
    std::string_view row = cut(text, '\n');
    const std::string_view number = cut(row, '\t');
    PythonFrame frame;
    std::from_chars(number.data(), number.data() + number.size(), frame.line);
    frame.function = cut(row, '\t');
    frame.file = row;
    stack.frames.push_back(std::move(frame));
  }
  return stack;
}

}  // namespace

void NoteReader::control(const std::string& text) {
  if (window_ == 0) return;
  const std::string number = std::to_string(window_);
  if (text == "hold " + number) ++held_;
  if (text == "go on " + number && held_ > 0) --held_;
  if (text == "begin " + number) open_ = begun_ = true;
  if (text == "end " + number) {
    open_ = false;
    over_ = true;
  }
}

bool NoteReader::take(const Event& event) {
  if (event.op == Op::mstxDomainCreate) {
    if (event.text == kDomain) return domains_.insert(event.domain()), true;
    if (inside()) own_domains_.insert(event.domain());
    return false;
  }
  if ((event.op != Op::mstxRangeStart && event.op != Op::mstxRangeEnd) || !domains_.contains(event.domain()))
    return false;
  auto& calls = calls_[event.thread];
  if (event.op == Op::mstxRangeEnd) {
    const auto ended = [&](const Call& call) { return call.id == event.range(); };
    calls.erase(std::find_if(calls.begin(), calls.end(), ended), calls.end());
  } else if (event.stream() == 0) {
    control(event.text);
  } else {
    if (!event.text.empty()) stacks_.try_emplace(event.stream(), stack_of_text(event.text));
    calls.push_back({event.range(), event.stream()});
  }
  return true;
}

uint64_t NoteReader::stack_of(uint32_t thread) const {
  const auto found = calls_.find(thread);
  return found != calls_.end() && !found->second.empty() ? found->second.back().stack : 0;
}

const PythonStack* NoteReader::find(uint64_t number) const {
  const auto found = stacks_.find(number);
  return found != stacks_.end() ? &found->second : nullptr;
}

}  // namespace plat::inspect_python
