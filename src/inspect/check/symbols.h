// SPDX-License-Identifier: Apache-2.0
// Names for the frames of call stacks, read from the files that the program was made of.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "inspect/trace/format.h"
#include "inspect/trace/reader.h"

namespace plat::inspect {

struct Frame {
  uint64_t address = 0;
  std::string function;  // empty: unknown
  std::string file;      // of the source, or of the module
  int line = 0;
  std::string module;  // the file's name, for "in libfoo.so"
  bool is_python() const { return address >= kPythonFrames; }
};

// Which frames of a stack are shown. By default those of the program: a row names the line that asked for the
// memory, not the line of a library that passed the wish on.
struct FrameFilter {
  bool all = false;
  std::vector<std::string> libraries;  // more that pass wishes on: names or patterns of files

  bool hides(const Frame& frame) const;
  bool hides_all_of(const std::string& module) const;
  bool hides_as_ours(const Frame& frame) const;  // not for being in a header of the system
};

class Symbols {
 public:
  explicit Symbols(const TraceInfo& info, FrameFilter filter = {});
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // The frames of a stack, innermost first, down to main or the thread's function, without those that are
  // hidden. If nothing would be left, as where frame pointers are broken, those in headers of the system; if
  // there are none, all; those of the recorder never.
  // Names cost what the files take to read: those of frames that are hidden by their library, or that are the
  // same below every program, are asked for only when they are shown.
  std::vector<Frame> frames_of(uint32_t stack);
  // The first stack that was asked for of those that are shown as this one is. A compiler that copies code,
  // into a loop or a branch of it, makes several stacks of one line.
  uint32_t place_of(uint32_t stack);

 private:
  struct Files;
  enum class Shown { AsAsked, SystemHeadersToo, All };
  std::vector<Frame> frames_of(const std::vector<uint64_t>& stack, Shown which);
  std::string file_at(uint64_t call) const;
  // More than one if functions were inlined there, innermost first.
  std::vector<Frame> name(uint64_t address);

  const TraceInfo& info_;
  FrameFilter filter_;
  std::unique_ptr<Files> files_;
  std::map<uint64_t, std::vector<Frame>> known_;
  std::unordered_map<uint32_t, uint32_t> places_;
  std::map<std::string, uint32_t> first_;  // by what is shown
};

// A name that goes on for lines, with what is in its brackets left out.
std::string shortened(const std::string& name, size_t most);
inline constexpr size_t kFunctionMost = 100;  // letters of a function, where there is room for a line

// "main.cpp:12" or "in libfoo.so"; the whole is "function at place".
std::string to_text(const Frame& frame);

}  // namespace plat::inspect
