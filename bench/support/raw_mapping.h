// SPDX-License-Identifier: Apache-2.0
// The yardstick: mmap(MAP_FIXED) of 2 MiB of a memory file, at neighbouring addresses and offsets.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "support/measure.h"

namespace plat::bench {

inline constexpr size_t kPage = size_t{2} << 20;

class RawMapping {
 public:
  explicit RawMapping(size_t count) : count_(count), fd_(memfd_create("raw", MFD_CLOEXEC)) {
    must(ftruncate(fd_, static_cast<off_t>(count * kPage)), "ftruncate");
    base_ = static_cast<char*>(
        mmap(nullptr, count * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    must(base_ == MAP_FAILED ? 1 : 0, "mmap");
  }
  RawMapping(const RawMapping&) = delete;
  RawMapping& operator=(const RawMapping&) = delete;
  ~RawMapping() {
    munmap(base_, count_ * kPage);
    close(fd_);
  }

  // Nanoseconds for each of `count` maps; then everything is as before.
  double round() {
    const double cost = ns_each(count_, [&](size_t i) {
      mmap(base_ + i * kPage, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_,
           static_cast<off_t>(i * kPage));
    });
    mmap(base_, count_ * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return cost;
  }

 private:
  size_t count_;
  int fd_;
  char* base_ = nullptr;
};

}  // namespace plat::bench
