// SPDX-License-Identifier: Apache-2.0
// What plat info shows of a process's managed memory: advice, and where it was last prefetched to.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace plat::cli {

// A line for each block; empty if there is none.
std::string managed_text(int32_t pid);
// A list; null if there is none.
nlohmann::ordered_json managed_json(int32_t pid);

}  // namespace plat::cli
