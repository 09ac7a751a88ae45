// SPDX-License-Identifier: Apache-2.0
// A shared library that has mstx built in, as header alone.
#include "mstx/ms_tools_ext_mem.h"

extern "C" __attribute__((visibility("default"))) void mark_from_image(const char* text) {
  mstxMarkA(text, nullptr);
}
