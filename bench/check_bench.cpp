// SPDX-License-Identifier: Apache-2.0
// What looking for races costs a check of a trace: its processor time and memory with it, in multiples of
// those without, for 16 streams that synchronise, and for such as never do, so that all they did must be
// remembered.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "inspect/check/checker.h"
#include "inspect/trace/writer.h"
#include "ratio.h"

namespace {

using plat::inspect::Op;

constexpr uint64_t kStreams = 16;
constexpr uint64_t kBlock = 0x100000000;
constexpr uint64_t kBlockSize = uint64_t{256} << 20;
constexpr uint64_t kSlice = kBlockSize / kStreams;
constexpr double kTarget = 2;

// Writes down what it does.
class Program {
 public:
  explicit Program(uint64_t events) : events_(events) { apply(Op::aclrtMalloc, {kBlock, kBlockSize, 0}); }

  bool goes_on() const { return number_ < events_; }
  uint64_t pick(uint64_t count) { return random_() % count; }
  uint64_t pick_stream() { return 1 + pick(kStreams); }
  void fill(uint64_t offset, uint64_t size, uint64_t stream) {
    apply(Op::aclrtMemsetAsync, {kBlock + offset, size, 0, stream});
  }
  void copy(uint64_t to, uint64_t from, uint64_t size, uint64_t stream) {
    apply(Op::aclrtMemcpyAsync, {kBlock + to, kBlock + from, size, 0, 3, stream});
  }
  void wait(uint64_t stream) {
    apply(Op::aclrtSynchronizeStream, {stream}, true);
    apply(Op::aclrtSynchronizeStream, {stream});
  }
  std::string finish() { return writer_.finish(); }

 private:
  void apply(Op op, std::initializer_list<uint64_t> words, bool begins = false) {
    ++number_;
    writer_.event(op, {number_, 1, 1 + static_cast<uint32_t>(number_ % 50), begins}, words);
  }

  plat::inspect::TraceWriter writer_{1, "bench"};
  std::mt19937_64 random_{1};
  uint64_t number_ = 0;
  uint64_t events_;
};

// Each stream in its part of the block; the host waits for one of them now and then.
void synchronises(Program& program) {
  while (program.goes_on()) {
    const uint64_t stream = program.pick_stream(), part = (stream - 1) * kSlice;
    const uint64_t size = 64 * (1 + program.pick(64));
    program.fill(part + 64 * program.pick(4096), size, stream);
    program.copy(part + kSlice / 2 + 64 * program.pick(4096), part + 64 * program.pick(4096), size, stream);
    if (program.pick(32) == 0) program.wait(stream);
  }
}

// The same, and nobody ever waits.
void never_waits(Program& program) {
  while (program.goes_on()) {
    const uint64_t stream = program.pick_stream(), part = (stream - 1) * kSlice;
    const uint64_t size = 64 * (1 + program.pick(64));
    program.fill(part + 64 * program.pick(4096), size, stream);
    program.copy(part + kSlice / 2 + 64 * program.pick(4096), part + 64 * program.pick(4096), size, stream);
  }
}

// All read what nobody writes, each range in a way of its own.
void reads_together(Program& program) {
  while (program.goes_on()) {
    const uint64_t stream = program.pick_stream(), part = (stream - 1) * kSlice;
    const uint64_t size = 64 * (1 + program.pick(64));
    program.copy(part + kSlice / 2 + 64 * program.pick(4096), 64 * program.pick(16384), size, stream);
  }
}

// Everything races with everything.
void races(Program& program) {
  while (program.goes_on()) {
    const uint64_t size = 64 * (1 + program.pick(64));
    program.fill(64 * program.pick(65536), size, program.pick_stream());
    program.copy(64 * program.pick(65536), 64 * program.pick(65536), size, program.pick_stream());
  }
}

struct Cost {
  double ns = 0;
  double bytes = 0;
};

// In a process of its own, so that its memory is its own too.
Cost measure(const std::string& path, bool races) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const double start = plat::bench::cpu_ns();
    std::string problem;
    auto source = plat::inspect::source_of_file(path, problem);
    auto reader = source ? plat::inspect::Reader::open(*source, problem) : std::nullopt;
    if (!reader) _exit(1);
    plat::inspect::CheckOptions options;
    options.races = races;
    plat::inspect::Checker checker(options);
    for (plat::inspect::Event event; reader->next(event);) checker.apply(event);
    Cost cost{plat::bench::cpu_ns() - start, 0};
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    cost.bytes = static_cast<double>(usage.ru_maxrss) * 1024;
    _exit(write(ends[1], &cost, sizeof cost) == sizeof cost ? 0 : 1);
  }
  Cost cost;
  const bool read_all = read(ends[0], &cost, sizeof cost) == sizeof cost;
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]);
  close(ends[1]);
  if (!read_all || status != 0) std::exit(1);
  return cost;
}

void print(const char* name, const char* what, std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  const double middle = ratios[ratios.size() / 2];
  std::printf("races, %s: %-*s %6.2f [%.2f..%.2f] x  %.0f %s\n", name, 32 - static_cast<int>(strlen(name)),
              what, middle, ratios.front(), ratios.back(), kTarget, middle <= kTarget ? "ok" : "MISSED");
}

// Written by another process, whose memory does not count.
void write_trace(const std::string& path, void (*program)(Program&), uint64_t events) {
  const pid_t child = fork();
  if (child == 0) {
    Program made(events);
    program(made);
    std::ofstream(path, std::ios::binary) << made.finish();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
}

void compare(const char* name, void (*program)(Program&), uint64_t events) {
  const std::string path = "/tmp/plat-bench-check-" + std::to_string(getpid());
  write_trace(path, program, events);
  std::vector<double> time, memory;
  for (int round = 0; round < 3; ++round) {
    const Cost without = measure(path, false), with = measure(path, true);
    time.push_back(with.ns / without.ns);
    memory.push_back(with.bytes / without.bytes);
  }
  unlink(path.c_str());
  print(name, "time", time);
  print(name, "memory", memory);
}

}  // namespace

int main(int count, char** arguments) {
  const uint64_t events = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 200'000;
  compare("they synchronise", synchronises, events);
  compare("they never wait", never_waits, events);
  compare("they read together", reads_together, events);
  compare("they race", races, events);
}
