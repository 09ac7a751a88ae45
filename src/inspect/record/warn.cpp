// SPDX-License-Identifier: Apache-2.0
#include "inspect/record/warn.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdarg>
#include <cstdio>

#include "base/unsignalled.h"

namespace plat::inspect {

void warn(const char* format, ...) {
  char line[PATH_MAX + 512] = "plat: ";
  constexpr int kPrefix = 6;
  va_list values;
  va_start(values, format);
  const int size = std::vsnprintf(line + kPrefix, sizeof line - kPrefix - 1, format, values);
  va_end(values);
  if (size < 0) return;
  const int end = kPrefix + std::min(size, static_cast<int>(sizeof line) - kPrefix - 2);
  line[end] = '\n';
  const Unsignalled quiet;
  // One write, so that lines of several threads do not mix.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, static_cast<size_t>(end) + 1);
}

void warn_in_handler(std::initializer_list<const char*> parts) {
  iovec pieces[8];
  int count = 0;
  const auto add = [&](const char* text) {
    size_t size = 0;
    while (text[size] != '\0') ++size;
    pieces[count++] = {const_cast<char*>(text), size};
  };
  add("plat: ");
  for (const char* part : parts) add(part);
  add("\n");
  const Unsignalled quiet;
  // Also one write.
  [[maybe_unused]] const ssize_t written = ::writev(STDERR_FILENO, pieces, count);
}

}  // namespace plat::inspect
