// SPDX-License-Identifier: Apache-2.0
// Ratios between two ways of doing a thing, measured in turns so that noise of the machine meets both.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace plat::bench {

// Processor time of this thread: a loaded machine makes wall time useless.
inline double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Runs ours and theirs `repeats` times in each round, and prints medians over the rounds.
template <class Ours, class Theirs>
void compare(const char* name, int rounds, int repeats, const Ours& ours, const Theirs& theirs) {
  std::vector<double> our_ns;
  std::vector<double> their_ns;
  std::vector<double> ratios;
  for (int round = 0; round < rounds + 2; ++round) {
    const double start = cpu_ns();
    for (int i = 0; i < repeats; ++i) theirs(i);
    const double middle = cpu_ns();
    for (int i = 0; i < repeats; ++i) ours(i);
    const double end = cpu_ns();
    if (round < 2) continue;  // warming up
    their_ns.push_back((middle - start) / repeats);
    our_ns.push_back((end - middle) / repeats);
    ratios.push_back(our_ns.back() / their_ns.back());
  }
  std::printf("%-44s %12.1f ns  %12.1f ns  ratio %6.3f\n", name, median(our_ns), median(their_ns),
              median(ratios));
}

}  // namespace plat::bench
