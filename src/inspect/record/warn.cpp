// SPDX-License-Identifier: Apache-2.0
#include "inspect/record/warn.h"

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

}  // namespace plat::inspect
