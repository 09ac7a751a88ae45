// SPDX-License-Identifier: Apache-2.0
#include "os/page.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "os/environment.h"

namespace plat::os {

uint64_t kernel_page_bytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

uint64_t page_bytes() {
  static const uint64_t bytes = [] {
    const auto text = variable("PLAT_PAGE_BYTES");
    uint64_t wanted = 0;
    if (text) std::from_chars(text->data(), text->data() + text->size(), wanted);
    const bool makes_sense = std::has_single_bit(wanted) && wanted <= kLargestPageBytes;
    return makes_sense ? std::max(wanted, kernel_page_bytes()) : kernel_page_bytes();
  }();
  return bytes;
}

}  // namespace plat::os
