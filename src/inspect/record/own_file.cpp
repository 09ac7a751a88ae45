// SPDX-License-Identifier: Apache-2.0
#include "inspect/record/own_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace plat::inspect {

namespace {

// A second number for a file, above those that programs close and open again.
int high_number(int fd) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  const auto ceiling = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1024));
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, std::max(3, ceiling - std::min(128, ceiling / 2)));
  return high >= 0 ? high : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

}  // namespace

bool OwnFile::is_this(int fd) const {
  struct stat status {};
  return fstat(fd, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

void OwnFile::keep(int fd, const char* path) {
  struct stat status {};
  fstat(fd, &status);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  // Absolute: the program may change its directory.
  if (realpath(path, path_) == nullptr) path_[0] = '\0';
  fd_ = high_number(fd);
  if (fd_ >= 0) {
    close(fd);
  } else {
    fd_ = fd;  // no number is left; this one will do
  }
}

// The program has closed the kept number, or it is another file's by now. Not by a link: the file was no link
// when it was made.
int OwnFile::find_again() {
  const int fd = open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return -1;
  if (!is_this(fd)) {
    close(fd);
    errno = ESTALE;
    return -1;
  }
  fd_ = high_number(fd);
  return fd;
}

int OwnFile::borrow() {
  if (fd_ >= 0 && is_this(fd_)) {  // asked first: closing a copy of the program's file would drop its locks
    const int fd = high_number(fd_);
    if (fd >= 0 && is_this(fd)) return fd;
    if (fd >= 0) close(fd);
    if (fd < 0 && errno == EMFILE && is_this(fd_)) return fd_;  // the program has all numbers there are
  }
  return find_again();
}

void OwnFile::give_back(int fd) const {
  if (fd != fd_) close(fd);
}

void OwnFile::drop() {
  if (fd_ >= 0 && is_this(fd_)) close(fd_);
  fd_ = -1;
}

}  // namespace plat::inspect
