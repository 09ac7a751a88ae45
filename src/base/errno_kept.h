// SPDX-License-Identifier: Apache-2.0
// The program's errno, as it was: what it calls to tell tools something is no failure of its own, and may be
// called from a handler in the middle of anything.
#pragma once

#include <cerrno>

namespace plat {

class ErrnoKept {
 public:
  ErrnoKept() : errno_(errno) {}
  ~ErrnoKept() { errno = errno_; }
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;

 private:
  int errno_;
};

}  // namespace plat
