// SPDX-License-Identifier: Apache-2.0
// Whose the device's library is.
#pragma once

namespace plat::inspect {

// The file that a function is in if that is not Plat's device; nullptr if it is, or if nobody knows.
const char* foreign_file_of(const void* function);

}  // namespace plat::inspect
