// SPDX-License-Identifier: Apache-2.0
// Which frames of call stacks a command shows: the same two options for all that show any.
#pragma once

#include "cli/parser.h"
#include "inspect/check/symbols.h"

namespace plat::cli {

// The filter must live as long as the parser.
void add_frame_options(Parser& app, inspect::FrameFilter& filter);

}  // namespace plat::cli
