// SPDX-License-Identifier: Apache-2.0
#include "cli/live_trace.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "inspect/trace/reader.h"
#include "os/child.h"
#include "os/file.h"
#include "os/process.h"

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
    // A recorder that was let go leaves pages of its trace behind, until the threads that have them call
    // again.
    if (reader && reader->info().pid == static_cast<uint32_t>(pid) && !reader->info().ended) return file;
  }
  return "";
}

std::unique_ptr<LiveTrace> LiveTrace::begin(int pid, double patience_s, const std::function<bool()>& stop,
                                            std::string& problem) {
  auto live = std::make_unique<LiveTrace>();
  live->attachment_ = Attachment::find(pid, problem);
  if (!live->attachment_) return nullptr;
  live->path_ = (std::filesystem::temp_directory_path() /
                 fmt::format("plat-top-{}-{:x}.trace", pid, os::random_number()))
                    .string();
  if (!live->attachment_->attach(live->path_, "fp", patience_s, stop, problem)) return nullptr;
  if (os::file_exists(live->path_)) return live;
  problem = "it wrote its trace where we cannot see it, as in another container";
  return nullptr;
}

LiveTrace::~LiveTrace() {
  attachment_.reset();
  forget_name();
}

void LiveTrace::forget_name() {
  if (!path_.empty()) os::remove_file(path_);
  path_.clear();
}

}  // namespace plat::cli
