// SPDX-License-Identifier: Apache-2.0
// What daemons leave in the directory of the control files: a socket, what they said, and the two files whose
// locks say that there is one daemon and one starter. They do no harm; `plat clean` removes those of daemons
// that are gone.
#pragma once

#include <string>
#include <vector>

#include "device/machines.h"
#include "os/file.h"

namespace plat::fabric {

// Opens a file and locks it, both for as long as the result lives; empty, with errno, when it cannot be
// (EAGAIN: somebody has the lock). Never a file that was removed meanwhile, which would lock nobody out.
os::Fd lock_file(const std::string& path);

// By name.
std::vector<std::string> nodes_with_daemon_files(const std::string& directory);

// Nothing is removed while a daemon of the node lives, or is being started, or with `only_look`.
std::vector<device::Removal> remove_daemon_files(const std::string& directory, const std::string& node,
                                                 bool only_look);

}  // namespace plat::fabric
