// SPDX-License-Identifier: Apache-2.0
// What every campaign of the soak has: a seed that makes it repeatable, a time after which it ends by itself,
// counts of what it did, and violations, each said with the seed that shows it again. The last line it prints
// is its summary, which scripts/soak.py adds up.
//   soak_NAME --seed N --seconds S
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>

namespace plat::soak {

inline constexpr int kSkipped = 77;

class Campaign {
 public:
  Campaign(const char* name, int argc, char** argv) : name_(name) {
    for (int i = 1; i + 1 < argc; i += 2) {
      if (std::strcmp(argv[i], "--seed") == 0) seed_ = strtoull(argv[i + 1], nullptr, 10);
      if (std::strcmp(argv[i], "--seconds") == 0) seconds_ = strtod(argv[i + 1], nullptr);
    }
    deadline_ = Clock::now() + std::chrono::microseconds(static_cast<int64_t>(seconds_ * 1e6));
  }

  uint64_t seed() const { return seed_; }
  bool time_left() const { return Clock::now() < deadline_; }
  double seconds() const { return seconds_; }

  std::atomic<uint64_t> calls{0};  // of the library
  std::atomic<uint64_t> kills{0};
  std::atomic<uint64_t> rounds{0};

  void violation(const std::string& what) {
    if (violations_.fetch_add(1) < 10)
      fprintf(stderr, "VIOLATION in %s --seed %llu: %s\n", name_, static_cast<unsigned long long>(seed_),
              what.c_str());
  }

  // A machine of its own, whose files go when the campaign has ended.
  void use_machine(const char* capacity, const char* devices = "2") {
    node_ = fmt::format("soak-{}-{}", name_, getpid());
    setenv("PLAT_NODE", node_.c_str(), 1);
    setenv("PLAT_CAPACITY", capacity, 1);
    setenv("PLAT_DEVICES", devices, 1);
    setenv("PLAT_HOST_CAPACITY", "64MiB", 1);
    setenv("PLAT_QUIET", "1", 1);
    setenv("PLAT_LOG", "off", 1);
  }

  bool is_clean() const { return violations_ == 0; }

  // What it takes is not to be had here: the exit code that says so, with the reason.
  int skip(const char* reason) {
    printf("{\"campaign\": \"%s\", \"seed\": %llu, \"skipped\": \"%s\"}\n", name_, number(seed_), reason);
    return kSkipped;
  }

  // The summary, and the exit code. A campaign that did nothing proves nothing.
  int finish() {
    if (calls == 0) violation("nothing was called");
    printf(
        "{\"campaign\": \"%s\", \"seed\": %llu, \"calls\": %llu, \"kills\": %llu, \"rounds\": %llu, "
        "\"violations\": %llu}\n",
        name_, number(seed_), number(calls), number(kills), number(rounds), number(violations_));
    fflush(stdout);
    remove_machine();
    return violations_ == 0 ? 0 : 1;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static unsigned long long number(uint64_t value) { return value; }

  void remove_machine() const {
    std::error_code none;
    for (const char* place : {"/dev/shm", "/tmp", "/var/tmp"})
      for (const auto& file :
           std::filesystem::directory_iterator(fmt::format("{}/plat-{}", place, geteuid()), none))
        if (!node_.empty() && file.path().filename().string().starts_with(node_ + "-"))
          std::filesystem::remove(file.path(), none);
  }

  const char* const name_;
  uint64_t seed_ = 1;
  double seconds_ = 2;
  Clock::time_point deadline_;
  std::string node_;
  std::atomic<uint64_t> violations_{0};
};

}  // namespace plat::soak
