// SPDX-License-Identifier: Apache-2.0
// A trace as a file that other tools open.
#pragma once

#include <string>

namespace plat::inspect_python {

// The bytes of the file; throws std::runtime_error if the trace is none, is damaged or holds no allocation.
std::string export_trace(const std::string& trace, const std::string& format);

}  // namespace plat::inspect_python
