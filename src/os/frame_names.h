// SPDX-License-Identifier: Apache-2.0
// Function, file and line of addresses in this process. Read by libdw where it is installed; it is opened
// when somebody asks, so that nothing is linked for it. Without it there are the names that the loader knows.
#pragma once

#include <span>
#include <string>

namespace plat::os {

// A line for each frame, with the indentation given: "step(void*) at train.cpp:11", "f in libfoo.so". Frames
// at the top that are in the library this code belongs to are left out, unless there are no others.
std::string name_frames(std::span<void* const> frames, const char* indentation);

// The same on a descriptor, in a process that has just faulted: a child looks the names up, because locks and
// memory of this process may be in any state. It is ended when it stands still for two seconds, or has worked
// for ten. False if nothing was written, as always under ThreadSanitizer.
bool write_frame_names(std::span<void* const> frames, const char* indentation, int fd);

}  // namespace plat::os
