#include "cli/live_trace.h"

#include <fmt/format.h>

#include <set>
#include <sstream>

#include "inspect/trace/reader.h"
#include "os/file.h"

namespace plat::cli {

std::string trace_of_process(int pid) {
  const auto maps = os::read_small_file(fmt::format("/proc/{}/maps", pid));
  if (!maps) return "";
  std::set<std::string> files;
  std::istringstream lines(*maps);
  for (std::string line; std::getline(lines, line);) {
    // Shared and writable, as hardly anything else is.
    if (line.find(" rw-s ") == std::string::npos) continue;
    if (const size_t path = line.find('/'); path != std::string::npos) files.insert(line.substr(path));
  }
  for (const std::string& file : files) {
    std::string problem;
    const auto source = inspect::source_of_file(file, problem);
    if (!source) continue;
    const auto reader = inspect::Reader::open(*source, problem);
    if (reader && reader->info().pid == static_cast<uint32_t>(pid)) return file;
  }
  return "";
}

}  // namespace plat::cli
