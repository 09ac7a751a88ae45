// SPDX-License-Identifier: Apache-2.0
// The recorder, let into a process that was started without it.
//
// Needs Plat's libms_tools_ext.so in that process, and a call of mstx by the program after the request: the
// program's own thread lets the recorder in. What can be seen this way are heaps, regions, marks and ranges,
// those that live first if the broker remembers them (PLAT_MSTX_REMEMBER=1); calls of the device are not.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "os/file.h"

namespace plat::mstx {
struct Board;
enum class Asked : uint32_t;
}  // namespace plat::mstx

namespace plat::cli {

class Attachment {
 public:
  // nullptr, with the reason, if the process has no broker or is not ours to ask.
  static std::unique_ptr<Attachment> find(int pid, std::string& problem);
  // Whether the process is being recorded for somebody who is dead. Its trace ends any moment.
  static bool is_abandoned(int pid);
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // Asks for a trace in this file, which must not be there yet, and waits until the program has answered,
  // `stop` says so, or the time is over. False, with the reason, if nothing is recorded.
  bool attach(const std::string& trace, const std::string& stacks, double patience_s,
              const std::function<bool()>& stop, std::string& problem);
  // Ends the trace, at the program's next call. Waits for it for a moment only.
  void detach();

 private:
  Attachment(int pid, os::Fd file, mstx::Board* board) : pid_(pid), file_(std::move(file)), board_(board) {}
  enum class Waited { Answered, Ended, Stopped, TooLong };
  Waited wait(double patience_s, const std::function<bool()>& stop);

  mstx::Asked withdraw();

  int pid_;
  os::Fd file_;  // of the board, and with it the lock that says that we live
  mstx::Board* board_;
  bool attached_ = false;
};

}  // namespace plat::cli
