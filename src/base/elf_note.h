// SPDX-License-Identifier: Apache-2.0
// The mark in the file of our device library by which the recorder tells it from anybody else's of that name:
// a note, as compilers leave build ids. It is no symbol: none of ours is in a process that has the vendor's
// library.
#pragma once

#include <cstdint>

namespace plat {

struct ElfNote {
  uint32_t name_bytes;
  uint32_t content_bytes;
  uint32_t type;
  char name[8];
  uint32_t content;
};
inline constexpr ElfNote kDeviceNote{5, 4, 1, {'P', 'l', 'a', 't'}, 1};

}  // namespace plat
