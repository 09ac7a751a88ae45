// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "cli/screen.h"
#include "os/environment.h"
#include "os/process.h"

namespace plat::cli {

namespace {

constexpr uint64_t kFirstMs = 300;  // nobody wonders before
constexpr uint64_t kNextMs = 100;

uint64_t first_ms() {
  const auto given = os::variable("PLAT_SHOW_AFTER_MS");
  const auto number = given ? parse_number(*given) : std::nullopt;
  return std::min(number.value_or(kFirstMs), uint64_t{1} << 40);  // no clock gets there
}

}  // namespace

Progress::Progress(const std::string& what)
    : what_(visible(what)), is_terminal_(isatty(STDERR_FILENO) == 1), first_ms_(first_ms()) {
  if (!is_terminal_) return;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) width_ = size.ws_col;
  next_ns_ = os::monotonic_nanoseconds() + first_ms_ * 1'000'000;
}

void Progress::at(double part) {
  if (!is_terminal_) return;
  const uint64_t now = os::monotonic_nanoseconds();
  if (now < next_ns_) return;
  next_ns_ = now + std::min(first_ms_, kNextMs) * 1'000'000;
  is_shown_ = true;
  const std::string line = fmt::format("{:3.0f} % {}", std::clamp(part, 0.0, 1.0) * 100, what_);
  // Not into the last column, where some terminals go on in the next line.
  fmt::print(stderr, "\r{}\x1b[K", cut(line, std::max<size_t>(width_, 2) - 1));
  std::fflush(stderr);
}

void Progress::done() {
  if (!is_shown_) return;
  is_shown_ = false;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

inspect::Source watched(inspect::Source source, Progress& progress, unsigned times) {
  const double whole = static_cast<double>(std::max<uint64_t>(source.size, 1)) * times;
  const auto done = std::make_shared<double>(0);
  source.read = [read = std::move(source.read), whole, done, &progress](void* target, uint64_t offset,
                                                                        size_t size) {
    const size_t got = read(target, offset, size);
    *done += static_cast<double>(got);
    progress.at(*done / whole);
    return got;
  };
  return source;
}

}  // namespace plat::cli
