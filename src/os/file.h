// SPDX-License-Identifier: Apache-2.0
// Files, memory files and byte-range locks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plat::os {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_ = -1;
};

// Moves the descriptor to a high number: programs that close and reopen low numbers then never meet it.
Fd move_high(Fd fd);

// A memory file of the given size that lives as long as somebody holds it. An empty Fd and errno on failure.
Fd create_memory_file(const char* name, uint64_t size_bytes);

// Opens (and creates, if asked) a file of this user's alone: no symbolic link, owner and mode checked.
Fd open_private_file(const std::string& path, bool create);

// Opens a regular file to look at it; no symbolic link.
Fd open_to_read(const std::string& path);
// Reads exactly that many bytes; false if there are fewer.
bool read_at(int fd, void* target, uint64_t size_bytes, uint64_t offset);
// Writes as much of it as the system takes; how many bytes that were. Raises no signal.
uint64_t write_at(int fd, const void* source, uint64_t size_bytes, uint64_t offset);

// Adds text to a file that everybody may read, or to standard error when the path is empty or cannot be
// opened: in one write, so that lines of several threads and processes do not mix. Raises no signal.
void append(const std::string& path, const std::string& text);

bool exists(const std::string& path);
// Closes a number whose owner cannot: a forked child has no use for its parent's.
void close_number(int fd);

// Names of what a directory holds, in no order; nothing if it cannot be read.
std::vector<std::string> list_directory(const std::string& path);
// Returns errno.
int remove_file(const std::string& path);

// Makes (if needed) a directory of this user's alone. Returns errno, EPERM when somebody else could meddle
// with it.
int make_private_directory(const std::string& path);

// Whether make_private_directory would succeed. Makes nothing.
bool can_be_private_directory(const std::string& path);

// Sets the size; fails with EFBIG rather than raising SIGXFSZ under a file-size limit.
int set_size(int fd, uint64_t size_bytes);

struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size_bytes = 0;
  bool has_name = true;  // false: removed from its directory
  friend bool operator==(const FileIdentity& a, const FileIdentity& b) {
    return a.device == b.device && a.inode == b.inode;
  }
};
std::optional<FileIdentity> identify(int fd);

// Byte locks that belong to the open file description: they end with the last holder of the file, whatever
// ends it. Each returns errno; try_lock returns EAGAIN when another description holds the byte.
int try_lock_byte(int fd, uint64_t byte);
int unlock_byte(int fd, uint64_t byte);
// Whether somebody else holds the byte.
bool is_byte_locked(int fd, uint64_t byte);

// The whole of a small file (from /proc or /sys); nothing if it cannot be read.
std::optional<std::string> read_small_file(const std::string& path);

}  // namespace plat::os
