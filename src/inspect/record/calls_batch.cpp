// SPDX-License-Identifier: Apache-2.0
// Batches: the call, and before it each of its copies or prefetches as an event of its own.
#include "inspect/record/hook.h"

namespace plat::inspect {
namespace {

struct Batch {
  void** dsts;
  size_t* maxs;
  void** srcs;
  size_t* sizes;
  size_t count;
};

// A batch that the device will refuse for its form has no copies in it.
constexpr size_t kEntriesMax = 4096;

void write_entries(const void* frame, const Batch& batch, aclrtStream stream) {
  const bool whole = batch.dsts != nullptr && batch.maxs != nullptr && batch.srcs != nullptr &&
                     batch.sizes != nullptr && batch.count <= kEntriesMax;
  const Writing writing(t_state);
  const EventHead head{.ticks = ticks(), .stack = capture_stack(frame)};
  for (size_t i = 0; whole && i < batch.count; ++i)
    write<Op::MemcpyBatchEntry>(head, {word(batch.dsts[i]), word(batch.srcs[i]), batch.sizes[i],
                                       batch.maxs[i] - batch.sizes[i], kBatchDirection, word(stream)});
}

struct Prefetches {
  const void** ptrs;
  size_t* sizes;
  size_t count;
  aclrtMemManagedLocation* places;
  size_t* firsts;  // of each place: the first entry that it is for
  size_t place_count;
};

void write_entries(const void* frame, const Prefetches& batch, aclrtStream stream) {
  const bool whole = batch.ptrs != nullptr && batch.sizes != nullptr && batch.places != nullptr &&
                     batch.firsts != nullptr && batch.place_count != 0 && batch.count <= kEntriesMax;
  const Writing writing(t_state);
  const EventHead head{.ticks = ticks(), .stack = capture_stack(frame)};
  size_t place = 0;
  for (size_t i = 0; whole && i < batch.count; ++i) {
    if (place + 1 < batch.place_count && batch.firsts[place + 1] <= i) ++place;
    write<Op::ManagedPrefetchEntry>(head,
                                    {word(batch.ptrs[i]), batch.sizes[i], word(batch.places[place].type),
                                     word(batch.places[place].id), word(stream)});
  }
}

template <Op op, class Entries, class Call, size_t Words>
int observe_batch(const void* frame, const Entries& batch, aclrtStream stream, Call&& call,
                  const std::array<uint64_t, Words>& words) {
  return observe<op, When::Before>(
      frame,
      [&] {
        write_entries(frame, batch, stream);
        return call();
      },
      [&](int) { return words; });
}

}  // namespace
}  // namespace plat::inspect

#define PLAT_BATCH_HOOK(name, parameters, arguments, stream, ...)                                 \
  extern "C" ACL_FUNC_VISIBILITY int name parameters {                                            \
    static constinit ::plat::inspect::Next<decltype(&name)> next{#name};                          \
    const auto target = next.get();                                                               \
    if (target == nullptr) return ::plat::inspect::kNotThere;                                     \
    return ::plat::inspect::observe_batch<::plat::inspect::Op::name>(                             \
        __builtin_frame_address(0), ::plat::inspect::Batch{dsts, maxs, srcs, sizes, n}, stream,   \
        [&] { return target arguments; },                                                         \
        std::array<uint64_t, ::plat::inspect::words_of(::plat::inspect::Op::name)>{__VA_ARGS__}); \
  }

using Attribute = aclrtMemcpyBatchAttr;

PLAT_BATCH_HOOK(aclrtMemcpyBatch,
                (void** dsts, size_t* maxs, void** srcs, size_t* sizes, size_t n, Attribute* attrs,
                 size_t* indexes, size_t attr_count, size_t* fail),
                (dsts, maxs, srcs, sizes, n, attrs, indexes, attr_count, fail), nullptr, n)
PLAT_BATCH_HOOK(aclrtMemcpyBatchV2,
                (void** dsts, size_t* maxs, void** srcs, size_t* sizes, size_t n, Attribute* attrs,
                 size_t* indexes, size_t attr_count),
                (dsts, maxs, srcs, sizes, n, attrs, indexes, attr_count), nullptr, n)
PLAT_BATCH_HOOK(aclrtMemcpyBatchAsync,
                (void** dsts, size_t* maxs, void** srcs, size_t* sizes, size_t n, Attribute* attrs,
                 size_t* indexes, size_t attr_count, size_t* fail, aclrtStream stream),
                (dsts, maxs, srcs, sizes, n, attrs, indexes, attr_count, fail, stream), stream, n, V(stream))
PLAT_BATCH_HOOK(aclrtMemcpyBatchAsyncV2,
                (void** dsts, size_t* maxs, void** srcs, size_t* sizes, size_t n, Attribute* attrs,
                 size_t* indexes, size_t attr_count, aclrtStream stream),
                (dsts, maxs, srcs, sizes, n, attrs, indexes, attr_count, stream), stream, n, V(stream))

extern "C" ACL_FUNC_VISIBILITY int aclrtMemManagedPrefetchBatchAsync(const void** ptrs, size_t* sizes,
                                                                     size_t count,
                                                                     aclrtMemManagedLocation* places,
                                                                     size_t* firsts, size_t place_count,
                                                                     uint64_t flags, aclrtStream stream) {
  using namespace plat::inspect;
  static constinit Next<decltype(&aclrtMemManagedPrefetchBatchAsync)> next{
      "aclrtMemManagedPrefetchBatchAsync"};
  const auto target = next.get();
  if (target == nullptr) return kNotThere;
  return observe_batch<Op::aclrtMemManagedPrefetchBatchAsync>(
      __builtin_frame_address(0), Prefetches{ptrs, sizes, count, places, firsts, place_count}, stream,
      [&] { return target(ptrs, sizes, count, places, firsts, place_count, flags, stream); },
      std::array<uint64_t, 2>{count, word(stream)});
}
