// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "os/child.h"
#include "os/file.h"
#include "os/process.h"

namespace plat::cli {

namespace {

bool complain(const std::string& path, int error) {
  show(stderr, fmt::format("plat: {} cannot be written: {}\n", path, std::strerror(error)));
  return false;
}

}  // namespace

bool can_write(const std::string& path) {
  const bool is_new = !os::file_exists(path);
  const os::Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666));
  // A pipe that nobody reads yet will do.
  if (!fd && errno != ENXIO) return complain(path, errno);
  if (fd && is_new) os::remove_file(path);
  return true;
}

namespace {

// 0, or errno.
int write_all(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    done += static_cast<size_t>(written);
  }
  return 0;
}

// In the file itself: what is no file, such as a pipe, and files in places where no other can be made.
int write_in_place(const std::string& path, const std::string& text) {
  const os::Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  return fd ? write_all(fd.get(), text) : errno;
}

}  // namespace

bool write_file(const std::string& path, const std::string& text) {
  std::error_code none;
  const bool is_there = std::filesystem::exists(path, none);
  // A link stays one, and what it leads to is replaced.
  const auto target = is_there ? std::filesystem::canonical(path, none) : std::filesystem::path(path);
  struct stat before {};
  const bool is_file = is_there && stat(target.c_str(), &before) == 0 && S_ISREG(before.st_mode);
  std::string beside = fmt::format("{}.{:x}", target.string(), os::random_number());
  os::Fd fd;
  if (is_file || !is_there) fd = os::Fd(open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd) {
    const int error = write_in_place(path, text);
    return error == 0 || complain(path, error);
  }
  int error = write_all(fd.get(), text);
  if (is_file && fchmod(fd.get(), before.st_mode & 07777) != 0 && error == 0) error = errno;
  if (close(fd.release()) != 0 && error == 0) error = errno;
  if (error == 0 && rename(beside.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return true;
  os::remove_file(beside);
  return complain(path, error);
}

int refuse(const std::string& what, const std::string& why) {
  show(stderr, fmt::format("plat: {}: {}\n", what, why));
  return kAskedWrongly;
}

}  // namespace plat::cli
