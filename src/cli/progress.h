// SPDX-License-Identifier: Apache-2.0
// How far long work has come: a line on stderr, if that is a terminal, which goes away when the work is done.
// What is done soon shows nothing; PLAT_SHOW_AFTER_MS says how soon.
#pragma once

#include <cstdint>
#include <string>

#include "inspect/trace/reader.h"

namespace plat::cli {

class Progress {
 public:
  explicit Progress(const std::string& what);
  ~Progress() { done(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // The part that is done, from 0 to 1.
  void at(double part);
  // The line goes, before something else is said.
  void done();

 private:
  std::string what_;
  size_t width_ = 80;
  bool is_terminal_ = false;
  uint64_t first_ms_;
  bool is_shown_ = false;
  uint64_t next_ns_ = 0;  // when there is something to show again
};

// The same source, and what is read of it moves the line. `times` is how often the work reads the whole of
// it: the reader looks through a trace once before it gives the events.
inspect::Source watched(inspect::Source source, Progress& progress, unsigned times);

}  // namespace plat::cli
