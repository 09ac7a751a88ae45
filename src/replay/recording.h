// SPDX-License-Identifier: Apache-2.0
// The allocations in a recording of the inspector, which plat record writes.
//
// What counts is the smallest thing that the program was handed: regions of mstx where there are any, else
// blocks of the device and physical handles. Memory that a heap or a region lies in is the pool's, and no
// allocation of the program. Blocks of stream-ordered pools come with their streams, and with the other
// streams whose copies and fills touch them.
#pragma once

#include <string>

#include "replay/builder.h"

namespace plat::replay {

bool is_recording(const std::string& content);
bool read_recording(const std::string& content, Builder& builder, std::string& why);

}  // namespace plat::replay
