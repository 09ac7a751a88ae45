// SPDX-License-Identifier: Apache-2.0
// Words that many findings share.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace plat::inspect {

inline const char* verb(bool writes) { return writes ? "writes" : "reads"; }
// "1 byte", "4096 bytes"
inline std::string bytes(uint64_t count) { return fmt::format("{} byte{}", count, count == 1 ? "" : "s"); }

}  // namespace plat::inspect
