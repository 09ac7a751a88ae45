// SPDX-License-Identifier: Apache-2.0
// A line on stderr, in a program that is not ours: it may be a pipe that nobody reads any more.
#pragma once

namespace plat::inspect {

__attribute__((format(printf, 1, 2))) void warn(const char* format, ...);

}  // namespace plat::inspect
