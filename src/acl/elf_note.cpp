// SPDX-License-Identifier: Apache-2.0
#include "base/elf_note.h"

namespace plat::acl {

[[gnu::section(".note.plat"), gnu::used, gnu::aligned(4)]] static const ElfNote device_note = kDeviceNote;

}  // namespace plat::acl
