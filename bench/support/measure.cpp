// SPDX-License-Identifier: Apache-2.0
#include "support/measure.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "acl/acl.h"

namespace plat::bench {

double thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double Series::quantile(double part) const {
  if (values_.empty()) return 0;
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1) + 0.5)];
}

Series ratio(const Series& of, const Series& to) {
  Series result;
  for (size_t i = 0; i < std::min(of.values().size(), to.values().size()); ++i)
    result.add(of.values()[i] / to.values()[i]);
  return result;
}

void print_header(const char* title) {
  fmt::print("\n{}\n{:<52} {:>9} {:>19} {:>6} {:>8}  {}\n", title, "", "median", "[p10..p90]", "", "target",
             "");
}

void print_row(const std::string& what, const Series& measured, const char* unit, double target,
               const std::string& note) {
  const double median = measured.median();
  const char* verdict = target == 0 ? "" : median <= target ? "ok" : "MISSED";
  fmt::print("{:<52} {:>9.4g} {:>19} {:>6} {:>8}  {:<7}{}\n", what, median,
             fmt::format("[{:.4g}..{:.4g}]", measured.quantile(0.1), measured.quantile(0.9)), unit,
             target == 0 ? "-" : fmt::format("{:g}", target), verdict, note);
  fflush(stdout);
}

std::string in_ns(const Series& series) { return fmt::format("{:.0f} ns", series.median()); }

void in_child(const std::vector<std::pair<const char*, std::string>>& settings,
              const std::function<void()>& body) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : settings) setenv(name, value.c_str(), 1);
    body();
    fflush(nullptr);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) fmt::print("a benchmark ended early, status {}\n", status);
}

void must(int code, const char* what) {
  if (code == 0) return;
  fmt::print("{} returned {}: {}\n", what, code, aclGetRecentErrMsg());
  fflush(nullptr);
  _exit(1);
}

}  // namespace plat::bench
