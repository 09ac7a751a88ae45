// SPDX-License-Identifier: Apache-2.0
// Bell: what other processes ring. A thread of the library listens to it; but a host thread that waits for a
// stream which waits for another process may as well listen itself, and is then woken without a detour.
#pragma once

#include <cstdint>

#include "stream/ids.h"

namespace plat::stream {

class Bell {
 public:
  virtual ~Bell() = default;
  // Listens in place of the library's thread. False if another host thread does already.
  virtual bool attend() = 0;
  // To be called once for each attend: the library's thread listens again.
  virtual void leave() = 0;
  // How often it has rung.
  virtual uint32_t heard() const = 0;
  // Lets the streams look that are parked there. With no lock held.
  virtual void pass_on() = 0;
  // Until it rings once more than was heard. May return early.
  virtual void sleep(uint32_t heard, Deadline deadline) = 0;
  // Ends the sleep of the thread that attends.
  virtual void rouse() = 0;
};

}  // namespace plat::stream
