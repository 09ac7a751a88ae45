// SPDX-License-Identifier: Apache-2.0
// What Python says in the trace, between the calls that the recorder sees: which line makes the call, and
// where a check begins and ends. Told as mstx ranges of a domain of its own, so that any reader can pass over
// them.
//
// A call: stream is the number of a stack; its first range has the stack as text, a line for each frame.
// A check: stream is 0, and the text says what.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "inspect/trace/event.h"

namespace plat::inspect_python {

inline constexpr char kDomain[] = "plat.python";

struct PythonFrame {
  std::string function;
  std::string file;
  int line = 0;
};

struct PythonStack {
  bool by_pool = false;  // a pool makes the call, for itself or for the caller
  std::vector<PythonFrame> frames;
};

// Writes to the recorder of this process, as an image with the mstx header in it would.
class NoteWriter {
 public:
  // A recorder that is loaded before the calls bind, from now on in the scope of all libraries. The reason,
  // if it cannot be.
  static std::string load(const std::string& path);
  // Whether calls that bind now go through a recorder.
  static bool is_loaded();
  // False: the recorder does not take notes.
  bool connect();
  uint64_t begin(uint64_t number, const char* text) const;
  void end(uint64_t id) const;
};

// Reads along with the events of a trace.
class NoteReader {
 public:
  // The check to look at; 0: all of the trace.
  explicit NoteReader(uint64_t window) : window_(window), open_(window == 0) {}

  // True: the event is a note and nothing else.
  bool take(const inspect::Event& event);
  // Number of the Python stack that a thread is in; 0: none.
  uint64_t stack_of(uint32_t thread) const;
  const PythonStack* find(uint64_t number) const;
  bool inside() const { return open_ && held_ == 0; }
  bool has_begun() const { return begun_ || window_ == 0; }
  bool is_over() const { return over_; }
  // Whether an mstx domain was made inside.
  bool is_own_domain(uint64_t domain) const { return own_domains_.contains(domain); }

 private:
  void control(const std::string& text);

  uint64_t window_;
  bool open_;
  bool begun_ = false;
  bool over_ = false;
  uint32_t held_ = 0;
  std::set<uint64_t> domains_;
  std::set<uint64_t> own_domains_;
  struct Call {
    uint64_t id;
    uint64_t stack;
  };
  std::map<uint32_t, std::vector<Call>> calls_;  // by thread, innermost last
  std::map<uint64_t, PythonStack> stacks_;
};

}  // namespace plat::inspect_python
