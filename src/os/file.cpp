// SPDX-License-Identifier: Apache-2.0
#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string_view>

#include "base/unsignalled.h"

namespace plat::os {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = other.release();
  }
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

Fd move_high(Fd fd) {
  if (!fd) return fd;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return fd;
  const auto ceiling = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1024));
  const int moved = fcntl(fd.get(), F_DUPFD_CLOEXEC, std::max(3, ceiling - std::min(128, ceiling / 2)));
  return moved >= 0 ? Fd(moved) : std::move(fd);
}

int set_size(int fd, uint64_t size_bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size_bytes > limit.rlim_cur)
    return EFBIG;
  return ftruncate(fd, static_cast<off_t>(size_bytes)) == 0 ? 0 : errno;
}

Fd create_memory_file(const char* name, uint64_t size_bytes) {
  Fd fd(memfd_create(name, MFD_CLOEXEC));
  if (!fd) return fd;
  if (const int error = set_size(fd.get(), size_bytes); error != 0) {
    fd = Fd();
    errno = error;
    return fd;
  }
  return move_high(std::move(fd));
}

Fd open_private_file(const std::string& path, bool create) {
  Fd fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0), 0600));
  if (!fd) return fd;
  struct stat info {};
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & 077) != 0) {
    fd = Fd();
    errno = EPERM;
    return fd;
  }
  return move_high(std::move(fd));
}

Fd open_to_read(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (fd && (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))) {
    fd = Fd();
    errno = EINVAL;
  }
  return fd;
}

bool read_at(int fd, void* target, uint64_t size_bytes, uint64_t offset) {
  auto* at = static_cast<char*>(target);
  while (size_bytes > 0) {
    const ssize_t got = pread(fd, at, size_bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    offset += static_cast<uint64_t>(got);
    size_bytes -= static_cast<uint64_t>(got);
  }
  return true;
}

std::vector<std::string> list_directory(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory.get()))
    if (entry->d_name != std::string_view(".") && entry->d_name != std::string_view(".."))
      names.emplace_back(entry->d_name);
  return names;
}

int remove_file(const std::string& path) { return unlink(path.c_str()) == 0 ? 0 : errno; }

namespace {

// errno; EPERM when somebody else could meddle with it.
int check_private_directory(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return errno;
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 022) != 0) return EPERM;
  return 0;
}

}  // namespace

int make_private_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return errno;
  return check_private_directory(path);
}

bool can_be_private_directory(const std::string& path) {
  const int error = check_private_directory(path);
  if (error != ENOENT) return error == 0;
  return access(path.substr(0, path.find_last_of('/')).c_str(), W_OK | X_OK) == 0;
}

std::optional<FileIdentity> identify(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return std::nullopt;
  return FileIdentity{info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size), info.st_nlink > 0};
}

namespace {

int lock_operation(int fd, int command, short type, uint64_t byte) {
  struct flock request {};
  request.l_type = type;
  request.l_whence = SEEK_SET;
  request.l_start = static_cast<off_t>(byte);
  request.l_len = 1;
  return fcntl(fd, command, &request) == 0 ? 0 : errno;
}

}  // namespace

int try_lock_byte(int fd, uint64_t byte) {
  const int error = lock_operation(fd, F_OFD_SETLK, F_WRLCK, byte);
  return error == EACCES ? EAGAIN : error;
}

int unlock_byte(int fd, uint64_t byte) { return lock_operation(fd, F_OFD_SETLK, F_UNLCK, byte); }

bool is_byte_locked(int fd, uint64_t byte) {
  struct flock request {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  request.l_start = static_cast<off_t>(byte);
  request.l_len = 1;
  return fcntl(fd, F_OFD_GETLK, &request) == 0 && request.l_type != F_UNLCK;
}

std::optional<std::string> read_small_file(const std::string& path) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

uint64_t write_at(int fd, const void* source, uint64_t size_bytes, uint64_t offset) {
  const Unsignalled unsignalled;  // the program may have set a limit of file sizes
  uint64_t done = 0;
  while (done < size_bytes) {
    const ssize_t written = pwrite(fd, static_cast<const std::byte*>(source) + done, size_bytes - done,
                                   static_cast<off_t>(offset + done));
    if (written <= 0) break;
    done += static_cast<uint64_t>(written);
  }
  return done;
}

void append(const std::string& path, const std::string& text) {
  const Fd file(path.empty() ? -1 : open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  const Unsignalled unsignalled;  // it may be a pipe that nobody reads any more
  [[maybe_unused]] const ssize_t written = write(file ? file.get() : STDERR_FILENO, text.data(), text.size());
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

void close_number(int fd) { close(fd); }

}  // namespace plat::os
