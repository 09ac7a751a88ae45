// SPDX-License-Identifier: Apache-2.0
// What the pool costs: replays of traces and synthetic loads, as ratios to an uncontended std::mutex pair of
// the same run, and beside them the same loads on an allocator of host memory: mimalloc where it is
// installed, else the C library's. Rounds of all loads are interleaved and medians taken, because other work
// on the machine moves absolute figures. Times are of the thread's own processor time.
//
// bench_pool [rounds] [trace...]: without traces, those of the folder TRACES, or else of tests/traces.
#include <dlfcn.h>
#include <fmt/format.h>
#include <glob.h>
#include <plat/pool.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "replay/trace.h"
#include "support/counting_acl.h"
#include "support/measure.h"

using namespace plat::bench;

namespace {

double cpu_ns() { return thread_ns(); }

plat_pool* new_pool() {
  plat_pool_options options;
  plat_pool_options_init(&options);
  options.device = 0;
  plat_pool* pool = nullptr;
  plat_pool_create(&options, &pool);
  return pool;
}

// Who serves a load.
struct OurPool {
  plat_pool* pool = new_pool();
  void take(uint64_t bytes, void** address) const { plat_pool_alloc(pool, bytes, address); }
  void give(void* address) const { plat_pool_free(pool, address); }
};
struct HostHeap {
  const char* name = "malloc";
  void* (*allocate)(size_t) = std::malloc;
  void (*release)(void*) = std::free;
  HostHeap() {
    // Opened rather than linked, or it would serve everybody in this process.
    void* const library = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    name = "mimalloc";
    allocate = reinterpret_cast<void* (*)(size_t)>(dlsym(library, "mi_malloc"));
    release = reinterpret_cast<void (*)(void*)>(dlsym(library, "mi_free"));
  }
  void take(uint64_t bytes, void** address) const { *address = allocate(bytes); }
  void give(void* address) const { release(address); }
};
// Hands out numbers: what a load costs without any heap.
struct NoHeap {
  void take(uint64_t bytes, void** address) const { *address = reinterpret_cast<void*>(bytes); }
  void give(void* address) const { asm volatile("" ::"r"(address)); }
};
template <class Heap>
const Heap& shared_heap() {
  static const Heap heap;
  return heap;
}

struct Figure {
  std::function<double()> round{};  // ns per operation; empty where there is nothing to measure
  Series samples{};
  void sample() {
    if (round) samples.add(round());
  }
  double median() const { return samples.median(); }
};

struct Load {
  std::string name;
  Figure ours;
  Figure host{};  // the same on the host's heap
  double median() const { return ours.median(); }
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

// Replaces `hot` of `live` blocks in turn, at random addresses, log-uniform sizes; ns per operation of this
// thread. They are in order in the array, so that what is measured is not the way to it.
template <class Heap>
double churn(const Heap& heap, uint64_t low, uint64_t high, size_t live, int operations, uint64_t seed,
             size_t hot = 0) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> sizes(4096);
  const double span = std::log2(static_cast<double>(high) / static_cast<double>(low));
  for (auto& size : sizes)
    size = static_cast<uint64_t>(static_cast<double>(low) *
                                 std::exp2(span * static_cast<double>(random() % 10000) / 10000));
  std::vector<void*> blocks(live);
  for (size_t i = 0; i < live; ++i) heap.take(sizes[i % 4096], &blocks[i]);
  std::shuffle(blocks.begin(), blocks.end(), random);
  const double start = cpu_ns();
  if (hot == 0) hot = live;
  size_t next = 0;
  for (int i = 0; i < operations; ++i) {
    void*& block = blocks[next];
    if (++next == hot) next = 0;
    heap.give(block);
    heap.take(sizes[static_cast<size_t>(i * 7) % 4096], &block);
  }
  const double time = cpu_ns() - start;
  for (void* block : blocks) heap.give(block);
  return time / (2.0 * operations);
}

// How long single operations take: every one of a churn that needs no growth is timed, the clock itself
// included. Wall time: whoever waits for an allocation waits for the scheduler too.
void print_percentiles() {
  using Clock = std::chrono::steady_clock;
  plat_pool* pool = new_pool();
  churn(OurPool{pool}, 512, 1 << 20, 1000, 60000, 3);  // grows, and leaves everything free
  std::mt19937_64 random(3);
  std::vector<void*> blocks(1000);
  auto size = [&] { return uint64_t{512} << random() % 11; };
  for (void*& block : blocks) plat_pool_alloc(pool, size(), &block);
  plat_pool_stats before;
  plat_pool_get_stats(pool, &before);
  constexpr size_t kOperations = 400000;
  std::vector<double> times;
  times.reserve(2 * kOperations);
  for (size_t i = 0; i < kOperations; ++i) {
    void*& block = blocks[random() % blocks.size()];
    const uint64_t bytes = size();
    const auto start = Clock::now();
    plat_pool_free(pool, block);
    const auto middle = Clock::now();
    plat_pool_alloc(pool, bytes, &block);
    const auto end = Clock::now();
    times.push_back(std::chrono::duration<double, std::nano>(middle - start).count());
    times.push_back(std::chrono::duration<double, std::nano>(end - middle).count());
  }
  plat_pool_stats after;
  plat_pool_get_stats(pool, &after);
  std::sort(times.begin(), times.end());
  auto at = [&](double part) {
    return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))];
  };
  fmt::print(
      "one operation, clock included: p50 {:.0f} ns, p99 {:.0f} ns, p99.99 {:.0f} ns, worst {:.0f} ns; "
      "{} pages came meanwhile\n",
      at(0.5), at(0.99), at(0.9999), times.back(), after.maps - before.maps);
  for (void* block : blocks) plat_pool_free(pool, block);
  plat_pool_destroy(pool);
}

// Host memory of the records while a million blocks of 4.5 KiB on average are live.
void print_bookkeeping() {
  plat_pool* pool = new_pool();
  std::mt19937_64 random(5);
  std::vector<void*> blocks(1000000);
  for (void*& block : blocks)
    plat_pool_alloc(pool,
                    static_cast<uint64_t>(512 * std::exp2(5 * static_cast<double>(random() % 10000) / 10000)),
                    &block);
  plat_pool_stats stats;
  plat_pool_get_stats(pool, &stats);
  fmt::print("bookkeeping: {:.3f} % of the bytes in use ({:.1f} bytes a block)\n",
             100 * static_cast<double>(stats.bookkeeping_bytes) / static_cast<double>(stats.used_bytes),
             static_cast<double>(stats.bookkeeping_bytes) / static_cast<double>(stats.live_blocks));
  plat_pool_destroy(pool);
}

template <class Heap>
double two_threads(uint64_t low, uint64_t high) {
  static const Heap heap;
  std::atomic<int> ready{0};
  std::array<double, 2> times{};
  std::array<std::thread, 2> threads;
  for (int t = 0; t < 2; ++t)
    threads[t] = std::thread([&, t] {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      times[t] = churn(heap, low, high, 1000, 40000, 17 + t);
    });
  for (auto& thread : threads) thread.join();
  return (times[0] + times[1]) / 2;
}

// One thread allocates, another frees: blocks cross in batches of 256 through a ring.
template <class Heap>
double remote_frees() {
  static const Heap heap;
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
      for (size_t i = 0; i < kBatch; ++i) heap.give(ring[(static_cast<size_t>(b) % 4) * kBatch + i]);
      frees += cpu_ns() - start;
      emptied.store(b + 1, std::memory_order_release);
    }
  });
  double allocations = 0;
  for (int b = 0; b < kBatches; ++b) {
    while (emptied.load(std::memory_order_acquire) + 4 <= b) std::this_thread::yield();
    const double start = cpu_ns();
    for (size_t i = 0; i < kBatch; ++i)
      heap.take(512 + (i % 32) * 480, &ring[(static_cast<size_t>(b) % 4) * kBatch + i]);
    allocations += cpu_ns() - start;
    filled.store(b + 1, std::memory_order_release);
  }
  consumer.join();
  return (frees + allocations) / (2.0 * kBatch * kBatches);
}

template <class Heap>
double local_frees() {
  static const Heap heap;
  constexpr size_t kBatch = 256;
  std::vector<void*> blocks(kBatch);
  const double start = cpu_ns();
  for (int b = 0; b < 300; ++b) {
    for (size_t i = 0; i < kBatch; ++i) heap.take(512 + (i % 32) * 480, &blocks[i]);
    for (size_t i = 0; i < kBatch; ++i) heap.give(blocks[i]);
  }
  return (cpu_ns() - start) / (2.0 * kBatch * 300);
}

std::vector<std::string> traces_of(int argc, char** argv) {
  if (argc > 2) return {argv + 2, argv + argc};
  const char* const folder = std::getenv("TRACES");
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(fmt::format("{}/*.csv.gz", folder != nullptr ? folder : PLAT_TRACES).c_str(), 0, nullptr,
           &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

// Round by round.
Series geometric_mean(const std::vector<Load>& loads, size_t first) {
  Series means;
  for (size_t round = 0; round < loads[0].ours.samples.values().size(); ++round) {
    double sum = 0;
    for (size_t i = first; i < loads.size(); ++i) sum += std::log(loads[i].ours.samples.values()[round]);
    means.add(std::exp(sum / static_cast<double>(loads.size() - first)));
  }
  return means;
}

}  // namespace

int main(int argc, char** argv) {
  plat::test::device().backed = false;
  plat::test::device().capacity_bytes = uint64_t{4} << 40;
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::hours(1));
  }).detach();  // a threaded process locks for real

  std::vector<Load> loads;
  loads.push_back({"std::mutex pair", {mutex_pair}});
  auto both = [&](const char* name, auto load) {
    loads.push_back({name, {[load] { return load.template operator()<OurPool>(); }}, {[load] {
                       return load.template operator()<HostHeap>();
                     }}});
  };
  both("small, one thread (16 B-1 KiB, 1000 live)",
       []<class Heap>() { return churn(shared_heap<Heap>(), 16, 1024, 1000, 100000, 3); });
  both("512 B-32 KiB, one thread (1000 live)",
       []<class Heap>() { return churn(shared_heap<Heap>(), 512, 32000, 1000, 100000, 3); });
  both("512 B-1 MiB, one thread (1000 live)",
       []<class Heap>() { return churn(shared_heap<Heap>(), 512, 1 << 20, 1000, 60000, 3); });
  both("512 B-32 KiB, two threads", []<class Heap>() { return two_threads<Heap>(512, 32000); });
  both("512 B-1 MiB, two threads", []<class Heap>() { return two_threads<Heap>(512, 1 << 20); });
  both("batches, freed by the same thread", []<class Heap>() { return local_frees<Heap>(); });
  both("batches, freed by another thread", []<class Heap>() { return remote_frees<Heap>(); });
  both("512 B-16 KiB (mean 4.5 KiB), 1,000 live",
       []<class Heap>() { return churn(shared_heap<Heap>(), 512, 16384, 1000, 40000, 5); });
  // Not on the host's heap, which would touch as much memory.
  static const OurPool large;
  loads.push_back(
      {"the same, 999,000 others live", {[] { return churn(large, 512, 16384, 1000000, 40000, 5, 1000); }}});
  loads.push_back({"the same, any of 1,000,000 live (cache misses)",
                   {[] { return churn(large, 512, 16384, 1000000, 40000, 5); }}});
  loads.push_back({"batches to another thread, no heap", {remote_frees<NoHeap>}});
  const size_t fixed = loads.size();
  for (const std::string& path : traces_of(argc, argv)) {
    auto load = std::make_shared<TraceLoad>();
    std::string why;
    if (!plat::replay::read_trace(path, load->trace, why)) {
      fmt::print(stderr, "{}\n", why);
      return 2;
    }
    (*load)();  // the first pass grows
    loads.push_back({path.substr(path.rfind('/') + 1), {[load] { return (*load)(); }}});
  }
  for (int round = 0; round < rounds; ++round)
    for (Load& load : loads) {
      load.ours.sample();
      load.host.sample();
    }
  const double mutex = loads[0].median();
  fmt::print("{:<46} {:>9} {:>8} {:>9}\n", "load", "ns/op", "x mutex", shared_heap<HostHeap>().name);
  for (const Load& load : loads) {
    fmt::print("{:<46.46} {:>9.1f} {:>8.2f}", load.name, load.median(), load.median() / mutex);
    if (load.host.round) fmt::print(" {:>9.1f}", load.host.median());
    fmt::print("\n");
  }
  const auto samples = [&](size_t load) -> const Series& { return loads[load].ours.samples; };
  print_header("The pool's goals; x mutex: of an uncontended std::mutex pair of the same run");
  print_row("small, one thread", samples(1), "ns", 4.1);
  print_row("two threads / one, to 32 KiB", ratio(samples(4), samples(2)), "x", 1.11, "1.8 times as much");
  print_row("two threads / one, to 1 MiB", ratio(samples(5), samples(3)), "x", 1.11, "1.8 times as much");
  print_row("remote frees / local ones", ratio(samples(7), samples(6)), "x", 2, in_ns(samples(7)));
  print_row("of that, the way through the ring", ratio(samples(11), samples(6)), "x", 0, in_ns(samples(11)));
  print_row("1,000,000 live / 1,000", ratio(samples(9), samples(8)), "x", 0, in_ns(samples(9)));
  print_row("the same where each misses the cache", ratio(samples(10), samples(8)), "x", 0,
            in_ns(samples(10)));
  if (loads.size() > fixed) {
    const Series mean = geometric_mean(loads, fixed);
    print_row("geometric mean of the traces", ratio(mean, samples(0)), "mutex", 1.2, in_ns(mean));
  }
  print_percentiles();
  print_bookkeeping();
  return 0;
}
