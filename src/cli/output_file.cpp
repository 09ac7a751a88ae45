#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "os/child.h"
#include "os/file.h"

namespace plat::cli {

namespace {

bool complain(const std::string& path, int error) {
  fmt::print(stderr, "plat: {} cannot be written: {}\n", path, std::strerror(error));
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

bool write_file(const std::string& path, const std::string& text) {
  errno = 0;
  std::FILE* const file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return complain(path, errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (std::fclose(file) != 0) return complain(path, errno);
  return written || complain(path, error);
}

}  // namespace plat::cli
