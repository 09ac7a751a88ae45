// SPDX-License-Identifier: Apache-2.0
// The size of the system's pages: 4 KiB on most machines, up to 64 KiB on some of aarch64.
#pragma once

#include <cstdint>

namespace plat::os {

inline constexpr uint64_t kLargestPageBytes = 65536;

// What the kernel says.
uint64_t kernel_page_bytes();

// What the house rounds to: the same, or PLAT_PAGE_BYTES if that is a larger power of two. With it, tests see
// on any machine what becomes of larger pages.
uint64_t page_bytes();

}  // namespace plat::os
