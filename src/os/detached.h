// SPDX-License-Identifier: Apache-2.0
// A program that lives on by itself: no child of this process, without its terminal and its files.
#pragma once

#include <string>
#include <vector>

#include "os/child.h"
#include "os/file.h"

namespace plat::os {

// Starts the program at the path command[0]; variables replace those of the environment, and "" removes one.
// What it says goes to the file `log`, which begins anew. Whoever waits for children hears nothing of it. The
// file that comes back is at its end when the program is; it is empty, with errno, if nothing was started.
Fd start_detached(const std::vector<std::string>& command, const Variables& variables,
                  const std::string& log);

// Whether a program of start_detached has ended; waits for that no longer than the time.
bool has_ended(const Fd& program, int timeout_ms);

}  // namespace plat::os
