// SPDX-License-Identifier: Apache-2.0
#include "fabric/daemon_files.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <set>

#include "fabric/wire.h"

namespace plat::fabric {

namespace {

// Of a node's socket path; the lock of the daemon goes last, so that nobody begins beside a removal.
constexpr std::array<const char*, 4> kEndings{"", ".log", ".start", ".lock"};

bool is_locked(const std::string& path) {
  const os::Fd file = os::open_private_file(path, false);
  return file && os::is_byte_locked(file.get(), 0);
}

}  // namespace

os::Fd lock_file(const std::string& path) {
  for (;;) {
    os::Fd file = os::open_private_file(path, true);
    if (!file) return file;
    if (const int error = os::try_lock_byte(file.get(), 0); error != 0) {
      errno = error;
      return {};
    }
    const auto identity = os::identify(file.get());
    if (identity && identity->has_name) return file;
  }
}

std::vector<std::string> nodes_with_daemon_files(const std::string& directory) {
  std::set<std::string> nodes;
  for (const std::string& name : os::list_directory(directory))
    for (const char* ending : kEndings) {
      const std::string whole = socket_path("", "") + ending;  // "/-fabric.lock"
      const std::string_view tail = std::string_view(whole).substr(1);
      if (name.size() > tail.size() && name.ends_with(tail))
        nodes.insert(name.substr(0, name.size() - tail.size()));
    }
  return {nodes.begin(), nodes.end()};
}

std::vector<device::Removal> remove_daemon_files(const std::string& directory, const std::string& node,
                                                 bool only_look) {
  const std::string socket = socket_path(directory, node);
  if (is_locked(socket + ".start") || is_locked(socket + ".lock")) return {{socket, true, ""}};
  std::vector<device::Removal> removals;
  for (const char* ending : kEndings)
    if (os::exists(socket + ending)) removals.push_back({socket + ending, false, ""});
  if (only_look) return removals;
  // In the order in which a starter and its daemon take them.
  const os::Fd starter = lock_file(socket + ".start");
  const os::Fd daemon = starter ? lock_file(socket + ".lock") : os::Fd();
  if (!daemon) return {{socket, errno == EAGAIN, errno == EAGAIN ? "" : std::strerror(errno)}};
  for (const char* ending : kEndings) {
    const int error = os::remove_file(socket + ending);
    for (device::Removal& removal : removals)
      if (removal.path == socket + ending && error != 0) removal.problem = std::strerror(error);
  }
  return removals;
}

}  // namespace plat::fabric
