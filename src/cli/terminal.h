// SPDX-License-Identifier: Apache-2.0
// The door to the terminal: all text that may hold a name from a program, a trace or a file goes through it.
//
// Who makes the text writes names with visible(), so that a line stays a line. What was forgotten still comes
// out without a command for the terminal in it.
#pragma once

#include <cstdio>
#include <string>

namespace plat::cli {

void show(std::FILE* to, const std::string& text);

}  // namespace plat::cli
