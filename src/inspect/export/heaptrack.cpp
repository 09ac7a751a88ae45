// SPDX-License-Identifier: Apache-2.0
// heaptrack's text: every line a letter and hexadecimal numbers, definitions before their use. Strings,
// places and traces count from 1, sizes of allocations from 0.
#include <fmt/format.h>

#include <algorithm>

#include "inspect/export/export.h"

namespace plat::inspect {

namespace {

class HeaptrackWriter {
 public:
  HeaptrackWriter(const History& history, NamedStacks& stacks) : history_(history), stacks_(stacks) {}

  std::string write() {
    text_ = fmt::format("v 10400 2\nX {}\nI 1000 0\n", one_line(history_.info.program));
    uint64_t told_ms = 0;
    for (const Step& step : history_.steps) {
      const Life& life = history_.lives[step.life];
      if (!life.counts) continue;
      const uint64_t ms = history_.time_of(step) / 1'000'000;
      if (ms > told_ms) text_ += fmt::format("c {:x}\n", told_ms = ms);
      const uint64_t allocation = allocation_of(life);
      text_ += fmt::format("{} {:x}\n", step.birth ? '+' : '-', allocation);
    }
    text_ += fmt::format("c {:x}\n", std::max(told_ms, history_.end_ns / 1'000'000));
    return std::move(text_);
  }

 private:
  static std::string one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    return text;
  }

  uint64_t string_of(const std::string& text) {
    if (text.empty()) return 0;
    const auto [found, is_new] = strings_.emplace(text, strings_.size() + 1);
    if (is_new) text_ += fmt::format("s {}\n", one_line(text));
    return found->second;
  }

  uint64_t place_of(uint32_t number) {
    const auto known = places_.find(number);
    if (known != places_.end()) return known->second;
    const NamedFrame& frame = stacks_.frame(number);
    const uint64_t module = string_of(frame.module.empty() ? "device" : frame.module);
    const uint64_t function = string_of(frame.name);
    const uint64_t file = string_of(frame.file);
    // Frames are told apart by their names, so their numbers will do as addresses.
    text_ += fmt::format("i {:x} {:x} {:x} {:x} {:x}\n", number + 1, module, function, file,
                         std::max(frame.line, 0));
    return places_.emplace(number, places_.size() + 1).first->second;
  }

  // A trace is its innermost place and the trace of its callers.
  uint64_t trace_of(const Site& site) {
    const std::vector<uint32_t>& frames = stacks_.of(site);
    uint64_t trace = 0;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      const uint64_t place = place_of(*frame);
      const auto [found, is_new] = traces_.emplace(std::pair(place, trace), traces_.size() + 1);
      if (is_new) text_ += fmt::format("t {:x} {:x}\n", place, trace);
      trace = found->second;
    }
    return trace;
  }

  uint64_t allocation_of(const Life& life) {
    const uint64_t trace = trace_of(life.born);
    const auto [found, is_new] = allocations_.emplace(std::pair(life.size, trace), allocations_.size());
    if (is_new) text_ += fmt::format("a {:x} {:x}\n", life.size, trace);
    return found->second;
  }

  const History& history_;
  NamedStacks& stacks_;
  std::string text_;
  std::map<std::string, uint64_t> strings_;
  std::map<uint32_t, uint64_t> places_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> traces_, allocations_;
};

}  // namespace

std::string to_heaptrack(const History& history, NamedStacks& stacks) {
  return HeaptrackWriter(history, stacks).write();
}

}  // namespace plat::inspect
