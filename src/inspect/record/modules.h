// SPDX-License-Identifier: Apache-2.0
// Which files the code of the program came from, for whoever names the frames later.
#pragma once

#include <cstdint>

namespace plat::inspect {

// Writes down every loaded file that the trace does not know yet.
void note_modules();
void forget_modules();

// Whether an address is code of this library.
bool is_own_code(uintptr_t address);

}  // namespace plat::inspect
