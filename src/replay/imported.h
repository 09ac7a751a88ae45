// SPDX-License-Identifier: Apache-2.0
// The allocations in what another tool has recorded: what pools handed out, and what was taken from the
// device and not divided by a pool. Of the device that did the most.
#pragma once

#include <string>

#include "replay/builder.h"

namespace plat::replay {

bool read_imported(const std::string& content, Builder& builder, std::string& why);

}  // namespace plat::replay
