// SPDX-License-Identifier: Apache-2.0
// A line on stderr, in a program that is not ours: it may be a pipe that nobody reads any more.
#pragma once

#include <initializer_list>

namespace plat::inspect {

__attribute__((format(printf, 1, 2))) void warn(const char* format, ...);
// In the handler of a signal, whose stack may be small: the parts one behind the other, with nothing put
// together before. At most six.
void warn_in_handler(std::initializer_list<const char*> parts);

}  // namespace plat::inspect
