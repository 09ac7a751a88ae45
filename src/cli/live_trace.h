// SPDX-License-Identifier: Apache-2.0
// The trace that a process is writing, or is asked to write for as long as somebody looks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/attach.h"

namespace plat::cli {

// The recorder keeps the trace mapped, so the system knows its name. Empty if there is none.
std::string trace_of_process(int pid);

// A trace of a process that was started without the recorder: in a file without a name, of which nothing is
// left when both have closed it, however we end.
class LiveTrace {
 public:
  // nullptr, with the reason, if the recorder was not let in.
  static std::unique_ptr<LiveTrace> begin(int pid, double patience_s, const std::function<bool()>& stop,
                                          std::string& problem);

  // To be opened while the process runs.
  const std::string& path() const { return path_; }

 private:
  std::unique_ptr<Attachment> attachment_;
  std::string path_;
};

}  // namespace plat::cli
