// SPDX-License-Identifier: Apache-2.0
#include "os/control_groups.h"

#include <unistd.h>

#include <charconv>
#include <optional>
#include <sstream>

#include "os/file.h"

namespace plat::os {

namespace {

struct Hierarchy {
  const char* filesystem;
  const char* limit;
  const char* usage;
};
constexpr Hierarchy kVersion1{"cgroup", "memory.limit_in_bytes", "memory.usage_in_bytes"};
constexpr Hierarchy kVersion2{"cgroup2", "memory.max", "memory.current"};

// Where the groups of a hierarchy are to be seen.
struct Mount {
  std::string root;   // the group that is mounted; not "/" inside some containers
  std::string point;  // the directory
};

bool has_word(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

// A line is: id parent device root point options [tags...] - filesystem source options
std::optional<Mount> mount_of(const std::string& mounts, const Hierarchy& hierarchy) {
  std::istringstream lines(mounts);
  for (std::string line; std::getline(lines, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream left(line.substr(0, dash));
    std::istringstream right(line.substr(dash + 3));
    std::string skipped;
    Mount mount;
    std::string filesystem;
    std::string options;
    left >> skipped >> skipped >> skipped >> mount.root >> mount.point;
    right >> filesystem >> skipped >> options;
    if (filesystem != hierarchy.filesystem) continue;
    if (&hierarchy == &kVersion1 && !has_word(options, "memory")) continue;
    return mount;
  }
  return std::nullopt;
}

// The path of this process's group. A line is: number:controllers:path; version 2 is number 0 without names.
std::optional<std::string> own_group(const std::string& groups, const Hierarchy& hierarchy) {
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_it = &hierarchy == &kVersion2 ? line.rfind("0::", 0) == 0 : has_word(controllers, "memory");
    if (is_it) return line.substr(second + 1);
  }
  return std::nullopt;
}

void add_limits(std::vector<MemoryLimit>& found, const std::string& root, const Hierarchy& hierarchy) {
  const auto path = own_group(read_small_file(root + "/proc/self/cgroup").value_or(""), hierarchy);
  const auto mount = mount_of(read_small_file(root + "/proc/self/mountinfo").value_or(""), hierarchy);
  if (!path || !mount) return;
  // Seen from inside a container the group may lie outside what is mounted; then the mount itself is its own.
  std::string below = *path;
  if (mount->root != "/") {
    const bool is_inside = below == mount->root || below.rfind(mount->root + "/", 0) == 0;
    below = is_inside ? below.substr(mount->root.size()) : "";
  }
  while (!below.empty() && below.back() == '/') below.pop_back();
  for (;;) {
    const std::string group = root + mount->point + below;
    MemoryLimit limit{group, group + "/" + hierarchy.limit, group + "/" + hierarchy.usage};
    if (access(limit.limit_file.c_str(), R_OK) == 0) found.push_back(std::move(limit));
    if (below.empty()) return;
    below.erase(below.find_last_of('/'));
  }
}

std::optional<uint64_t> number_in(const std::string& path) {
  const auto text = read_small_file(path);
  uint64_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc{})
    return std::nullopt;  // "max" too
  return value;
}

}  // namespace

uint64_t MemoryLimit::left_bytes() const {
  const auto limit = number_in(limit_file);
  const auto used = limit ? number_in(usage_file) : std::nullopt;
  // Version 1 says "no limit" with a number near the largest there is.
  if (!used || *limit >= uint64_t{1} << 62) return UINT64_MAX;
  return *limit > *used ? *limit - *used : 0;
}

std::vector<MemoryLimit> memory_limits(const std::string& root) {
  std::vector<MemoryLimit> found;
  add_limits(found, root, kVersion2);
  add_limits(found, root, kVersion1);
  return found;
}

}  // namespace plat::os
