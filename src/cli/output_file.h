// SPDX-License-Identifier: Apache-2.0
// Files that a command reads or writes because it was asked to: a reason if it cannot, before the work if
// possible.
#pragma once

#include <string>

namespace plat::cli {

// Whether the file can be written, now that nothing is lost yet. Changes nothing; complains on stderr if not.
bool can_write(const std::string& path);

// Whole or not at all: what was there before stays until the new text is, and half a text is not left behind.
// Complains on stderr if it does not work.
bool write_file(const std::string& path, const std::string& text);

// Says on stderr what is wrong with a file that was named; what the command returns then.
int refuse(const std::string& what, const std::string& why);

}  // namespace plat::cli
