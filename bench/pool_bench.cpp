// What the pool costs: replays of traces and synthetic loads, as ratios to an uncontended std::mutex pair of
// the same run. Rounds of all loads are interleaved and medians taken, because other work on the machine
// moves absolute figures. Times are of the thread's own processor time.
#include <fmt/format.h>
#include <plat/pool.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cli/replay_trace.h"
#include "support/counting_acl.h"

namespace {

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

plat_pool* new_pool() {
  plat_pool_options options;
  plat_pool_options_init(&options);
  options.device = 0;
  plat_pool* pool = nullptr;
  plat_pool_create(&options, &pool);
  return pool;
}

struct Load {
  std::string name;
  std::function<double()> round;  // ns per operation
  std::vector<double> samples{};
  double median() {
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
  }
};

double mutex_pair() {
  static std::mutex mutex;
  constexpr int kPairs = 200000;
  const double start = cpu_ns();
  for (int i = 0; i < kPairs; ++i) {
    std::lock_guard guard(mutex);
    asm volatile("" ::: "memory");
  }
  return (cpu_ns() - start) / kPairs;
}

// The whole trace again on a pool that has seen it once: steady state, thread-safe, stream argument passed,
// statistics kept.
struct TraceLoad {
  plat::replay::Trace trace;
  plat_pool* pool = new_pool();
  std::vector<void*> addresses;
  double operator()() {
    addresses.assign(trace.blocks, nullptr);
    const double start = cpu_ns();
    for (const auto& event : trace.events) {
      if (event.allocate)
        plat_pool_alloc(pool, event.bytes, &addresses[event.block]);
      else
        plat_pool_free(pool, addresses[event.block]);
      if (!event.allocate) addresses[event.block] = nullptr;
    }
    const double time = cpu_ns() - start;
    for (void* address : addresses)
      if (address != nullptr) plat_pool_free(pool, address);
    return time / static_cast<double>(trace.events.size());
  }
};

// Replaces random ones of `live` blocks, log-uniform sizes; ns per operation of this thread.
double churn(plat_pool* pool, uint64_t low, uint64_t high, size_t live, int operations, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> sizes(4096);
  std::vector<uint32_t> picks(4096);
  const double span = std::log2(static_cast<double>(high) / static_cast<double>(low));
  for (auto& size : sizes)
    size = static_cast<uint64_t>(static_cast<double>(low) *
                                 std::exp2(span * static_cast<double>(random() % 10000) / 10000));
  for (auto& pick : picks) pick = static_cast<uint32_t>(random() % live);
  std::vector<void*> blocks(live);
  for (size_t i = 0; i < live; ++i) plat_pool_alloc(pool, sizes[i % 4096], &blocks[i]);
  const double start = cpu_ns();
  for (int i = 0; i < operations; ++i) {
    void*& block = blocks[picks[static_cast<size_t>(i) % 4096]];
    plat_pool_free(pool, block);
    plat_pool_alloc(pool, sizes[static_cast<size_t>(i * 7) % 4096], &block);
  }
  const double time = cpu_ns() - start;
  for (void* block : blocks) plat_pool_free(pool, block);
  return time / (2.0 * operations);
}

double two_threads(uint64_t low, uint64_t high) {
  static plat_pool* pool = new_pool();
  std::atomic<int> ready{0};
  std::array<double, 2> times{};
  std::array<std::thread, 2> threads;
  for (int t = 0; t < 2; ++t)
    threads[t] = std::thread([&, t] {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      times[t] = churn(pool, low, high, 1000, 40000, 17 + t);
    });
  for (auto& thread : threads) thread.join();
  return (times[0] + times[1]) / 2;
}

// One thread allocates, another frees: blocks cross in batches of 256 through a ring.
double remote_frees() {
  static plat_pool* pool = new_pool();
  constexpr size_t kBatch = 256;
  constexpr int kBatches = 300;
  std::vector<void*> ring(kBatch * 4);
  std::atomic<int> filled{0};
  std::atomic<int> emptied{0};
  double frees = 0;
  std::thread consumer([&] {
    for (int b = 0; b < kBatches; ++b) {
      while (filled.load(std::memory_order_acquire) <= b) std::this_thread::yield();
      const double start = cpu_ns();
      for (size_t i = 0; i < kBatch; ++i)
        plat_pool_free(pool, ring[(static_cast<size_t>(b) % 4) * kBatch + i]);
      frees += cpu_ns() - start;
      emptied.store(b + 1, std::memory_order_release);
    }
  });
  double allocations = 0;
  for (int b = 0; b < kBatches; ++b) {
    while (emptied.load(std::memory_order_acquire) + 4 <= b) std::this_thread::yield();
    const double start = cpu_ns();
    for (size_t i = 0; i < kBatch; ++i)
      plat_pool_alloc(pool, 512 + (i % 32) * 480, &ring[(static_cast<size_t>(b) % 4) * kBatch + i]);
    allocations += cpu_ns() - start;
    filled.store(b + 1, std::memory_order_release);
  }
  consumer.join();
  return (frees + allocations) / (2.0 * kBatch * kBatches);
}

double local_frees() {
  static plat_pool* pool = new_pool();
  constexpr size_t kBatch = 256;
  std::vector<void*> blocks(kBatch);
  const double start = cpu_ns();
  for (int b = 0; b < 300; ++b) {
    for (size_t i = 0; i < kBatch; ++i) plat_pool_alloc(pool, 512 + (i % 32) * 480, &blocks[i]);
    for (size_t i = 0; i < kBatch; ++i) plat_pool_free(pool, blocks[i]);
  }
  return (cpu_ns() - start) / (2.0 * kBatch * 300);
}

}  // namespace

// pool_bench [rounds] [trace...]
int main(int argc, char** argv) {
  plat::test::device().backed = false;
  plat::test::device().capacity_bytes = uint64_t{4} << 40;
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::hours(1));
  }).detach();  // a threaded process locks for real

  std::vector<Load> loads;
  loads.push_back({"std::mutex pair", mutex_pair});
  static plat_pool* pool = new_pool();
  loads.push_back(
      {"small, one thread (16 B-1 KiB, 1000 live)", [] { return churn(pool, 16, 1024, 1000, 100000, 3); }});
  loads.push_back(
      {"512 B-32 KiB, one thread (1000 live)", [] { return churn(pool, 512, 32000, 1000, 100000, 3); }});
  loads.push_back(
      {"512 B-1 MiB, one thread (1000 live)", [] { return churn(pool, 512, 1 << 20, 1000, 60000, 3); }});
  loads.push_back({"512 B-32 KiB, two threads", [] { return two_threads(512, 32000); }});
  loads.push_back({"512 B-1 MiB, two threads", [] { return two_threads(512, 1 << 20); }});
  loads.push_back({"batches, freed by the same thread", local_frees});
  loads.push_back({"batches, freed by another thread", remote_frees});
  loads.push_back(
      {"512 B-16 KiB (mean 4.5 KiB), 1,000 live", [] { return churn(pool, 512, 16384, 1000, 40000, 5); }});
  loads.push_back({"512 B-16 KiB (mean 4.5 KiB), 1,000,000 live", [] {
                     static plat_pool* large = new_pool();
                     return churn(large, 512, 16384, 1000000, 40000, 5);
                   }});
  const size_t fixed = loads.size();
  for (int i = 2; i < argc; ++i) {
    auto load = std::make_shared<TraceLoad>();
    std::string why;
    if (!plat::replay::read_trace(argv[i], load->trace, why)) {
      fmt::print(stderr, "{}\n", why);
      return 2;
    }
    std::string name = argv[i];
    (*load)();  // the first pass grows
    loads.push_back({name.substr(name.rfind('/') + 1), [load] { return (*load)(); }});
  }
  for (int round = 0; round < rounds; ++round)
    for (Load& load : loads) load.samples.push_back(load.round());
  const double mutex = loads[0].median();
  double product = 0;
  fmt::print("{:<46} {:>9} {:>8}\n", "load", "ns/op", "x mutex");
  for (size_t i = 0; i < loads.size(); ++i) {
    fmt::print("{:<46.46} {:>9.1f} {:>8.2f}\n", loads[i].name, loads[i].median(), loads[i].median() / mutex);
    if (i >= fixed) product += std::log(loads[i].median());
  }
  if (loads.size() > fixed) {
    const double mean = std::exp(product / static_cast<double>(loads.size() - fixed));
    fmt::print("{:<46} {:>9.1f} {:>8.2f}\n", "geometric mean of the traces", mean, mean / mutex);
  }
  fmt::print(
      "two threads, throughput over one: {:.2f} (to 32 KiB), {:.2f} (to 1 MiB); remote frees {:.2f} x local; "
      "1,000,000 live {:.2f} x 1,000\n",
      2 * loads[2].median() / loads[4].median(), 2 * loads[3].median() / loads[5].median(),
      loads[7].median() / loads[6].median(), loads[9].median() / loads[8].median());
  return 0;
}
