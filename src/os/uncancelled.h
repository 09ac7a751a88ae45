// SPDX-License-Identifier: Apache-2.0
// Uncancelled: while it lives, pthread_cancel of this thread waits.
//
// A call that was cancelled half way would leave a device half changed, and unwinding does not get through
// code that promises not to throw. So calls are no cancellation points; the thread ends at the next of its
// own.
#pragma once

#include <pthread.h>

namespace plat::os {

class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;
  ~Uncancelled() {
    if (before_ == PTHREAD_CANCEL_ENABLE) pthread_setcancelstate(before_, nullptr);
  }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace plat::os
