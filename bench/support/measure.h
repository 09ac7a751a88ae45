// SPDX-License-Identifier: Apache-2.0
// Measuring on a machine that others use too: CPU time of the thread, and ratios of things that were measured
// in the same round, so that what slows one slows the other.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace plat::bench {

// CPU time of this thread so far, in nanoseconds.
double thread_ns();

// The mean cost of body(0) .. body(count - 1).
template <class Body>
double ns_each(size_t count, Body&& body) {
  const double start = thread_ns();
  for (size_t i = 0; i < count; ++i) body(i);
  return (thread_ns() - start) / static_cast<double>(count);
}

// One number for each round.
class Series {
 public:
  void add(double value) { values_.push_back(value); }
  double quantile(double part) const;
  double median() const { return quantile(0.5); }
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> values_;
};

// Round by round: case / base.
Series ratio(const Series& of, const Series& to);

// A line of the table. A target of 0 is none, on purpose, and shows as "-". `note` says what people ask next,
// such as the nanoseconds behind a ratio.
void print_header(const char* title);
void print_row(const std::string& what, const Series& measured, const char* unit, double target,
               const std::string& note = "");
std::string in_ns(const Series& series);

// Runs the body in a process of its own, with these settings. A benchmark that fails says so and the rest
// goes on.
void in_child(const std::vector<std::pair<const char*, std::string>>& settings,
              const std::function<void()>& body);

// Ends the process unless the call succeeded.
void must(int code, const char* what);

}  // namespace plat::bench
