// SPDX-License-Identifier: Apache-2.0
// Opens what people have: a trace of plat record, or what other tools recorded, as if it were one.
#pragma once

#include <optional>
#include <string>

#include "inspect/trace/reader.h"

namespace plat::inspect {

// A file as it is, or unpacked if it is gzipped. A packed file of a few bytes can be any size: up to a limit.
bool read_whole_file(const std::string& path, std::string& content, std::string& why, uint64_t unpacked_max);

// nothing, with the reason, if the file cannot be read whole.
std::optional<Source> open_any(const std::string& path, std::string& problem);

}  // namespace plat::inspect
