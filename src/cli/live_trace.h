// Finding the trace that a process is writing.
#pragma once

#include <string>

namespace plat::cli {

// The recorder keeps the trace mapped, so the system knows its name. Empty if there is none.
std::string trace_of_process(int pid);

}  // namespace plat::cli
