// SPDX-License-Identifier: Apache-2.0
// Folded stacks: a semicolon parts frames, the last blank parts the weight, a newline ends the stack.
#include <fmt/format.h>

#include <algorithm>

#include "inspect/export/export.h"

namespace plat::inspect {

namespace {

std::string text_of(const NamedFrame& frame) {
  std::string text = frame.name;
  // The folder tells nothing that the name of the file does not, and makes bars unreadable.
  if (frame.line > 0)
    text += fmt::format(" ({}:{})", frame.file.substr(frame.file.find_last_of('/') + 1), frame.line);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ';' || static_cast<unsigned char>(c) < ' '; }, '_');
  return text;
}

}  // namespace

std::string to_folded(const History& history, NamedStacks& stacks, Which which, Weight weight) {
  std::map<std::string, uint64_t> lines;  // different frames may have one text
  for (const auto& [frames, value] : weigh(history, stacks, which, weight)) {
    std::string line;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
      line += (line.empty() ? "" : ";") + text_of(stacks.frame(*frame));
    lines[line] += value;
  }
  std::string text;
  for (const auto& [line, value] : lines) text += fmt::format("{} {}\n", line, value);
  return text;
}

}  // namespace plat::inspect
