// SPDX-License-Identifier: Apache-2.0
#include "inspect/record/hook.h"
#include "inspect/record/warn.h"

namespace plat::inspect {

void* find_next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    // Not loaded yet, or loaded where a search does not look: a program that opened us and then the device.
    static void* const device = dlopen("libascendcl.so", RTLD_LAZY | RTLD_LOCAL);
    if (device != nullptr) found = look_up(device, name);
  }
  if (found == nullptr) warn("the device library has no %s", name);
  return found;
}

}  // namespace plat::inspect
