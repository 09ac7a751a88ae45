// SPDX-License-Identifier: Apache-2.0
#include "cli/live_trace.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "inspect/trace/reader.h"
#include "os/file.h"
#include "os/process.h"

namespace plat::cli {

namespace {

// What is known of a trace that is being written. A recorder that was let go leaves pages of its trace
// behind, until the threads that have them call again.
std::optional<inspect::TraceInfo> being_written(const std::string& file) {
  std::string problem;
  const auto source = inspect::source_of_file(file, problem);
  const auto reader = source ? inspect::Reader::open(*source, problem) : std::nullopt;
  if (!reader || reader->info().ended) return std::nullopt;
  return reader->info();
}

// Among the files that the process has open, and of those one that has no name.
std::string nameless_trace_of(int pid) {
  const std::string directory = fmt::format("/proc/{}/fd", pid);
  for (const std::string& number : os::list_directory(directory)) {
    std::error_code error;
    std::string path = directory + "/" + number;
    const std::string target = std::filesystem::read_symlink(path, error).string();
    if (target.ends_with(" (deleted)") && std::filesystem::is_regular_file(path, error) &&
        being_written(path))
      return path;
  }
  return "";
}

}  // namespace

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
  for (const std::string& file : files)
    if (const auto info = being_written(file); info && info->pid == static_cast<uint32_t>(pid)) return file;
  return "";
}

std::unique_ptr<LiveTrace> LiveTrace::begin(int pid, double patience_s, const std::function<bool()>& stop,
                                            std::string& problem) {
  auto live = std::make_unique<LiveTrace>();
  live->attachment_ = Attachment::find(pid, problem);
  if (!live->attachment_) return nullptr;
  const std::string directory = (std::filesystem::temp_directory_path() / "").string();
  if (!live->attachment_->attach(directory, "fp", patience_s, stop, problem)) return nullptr;
  live->path_ = nameless_trace_of(pid);
  if (!live->path_.empty()) return live;
  problem = fmt::format("it could not write its trace into {}", directory);
  return nullptr;
}

}  // namespace plat::cli
