// SPDX-License-Identifier: Apache-2.0
#include "pool/ladder.h"

#include <fmt/format.h>

#include <array>
#include <mutex>

#include "base/text.h"
#include "base/thread_sanitizer.h"
#include "pool/pool.h"
#include "pool/tool_batch.h"

namespace plat::pool {

std::span<const Ladder::Rung> Ladder::rungs() {
  static constexpr std::array<Rung, 5> kRungs = {{
      {"return what threads keep", &Ladder::return_caches},
      {"ask the streams how far they are", &Ladder::ask_streams},
      {"make the stream wait for others, if it may", &Ladder::make_the_stream_wait},
      {"wait for the streams", &Ladder::wait_for_streams},
      {"take what is idle in other pools", &Ladder::ask_other_pools},
  }};
  return kRungs;
}

bool Ladder::return_caches(const Need&) { return recycler_.return_caches(), true; }

bool Ladder::ask_streams(const Need& need) {
  const bool settled = recycler_.settle(Streams::Effort::kPoll, nullptr, need.domain);
  if (!recycler_.collect(false) && !settled) return false;
  return recycler_.reclaim_spans(), true;
}

bool Ladder::make_the_stream_wait(const Need& need) {
  return options_.reuse_waits != 0 && need.domain != 0 && need.stream != nullptr &&
         recycler_.settle(Streams::Effort::kPoll, need.stream, need.domain);
}

bool Ladder::wait_for_streams(const Need& need) {
  const bool settled = recycler_.settle(Streams::Effort::kWait, nullptr, need.domain);
  if (!recycler_.collect(true) && !settled) return false;
  return recycler_.reclaim_spans(), true;
}

bool Ladder::ask_other_pools(const Need&) {
  family_.for_each([&](Pool& relative) {
    if (&relative != &pool_ && backing_.shares_device(relative.backing())) relative.shrink(0);
  });
  for_other_pools(pool_, [](Pool& other, Pool& asking) {
    if (&other.family() == &asking.family() || !other.backing().shares_device(asking.backing())) return;
    // The other one may be growing and waiting for us: then it has nothing to give.
    std::unique_lock theirs(other.family().growth, std::try_to_lock);
    if (theirs) other.shrink(0);
  });
  return backing_.ask_again(), true;
}

Outcome Ladder::climb(const Need& need, const Attempt& attempt) {
  Outcome outcome = attempt();
  for (const Rung& rung : rungs()) {
    if (outcome != Outcome::kNoMemory) break;
    if ((this->*rung.climb)(need)) outcome = attempt();
  }
  return outcome;
}

Outcome Ladder::gather(const Need& need, const Attempt& attempt) {
  Source::error().clear();
  plat_pool_oom_callback callback = nullptr;
  void* user = nullptr;
  {
    std::lock_guard guard(family_.growth);
    // Memory that another stream has finished with is better than new memory.
    if (streams_.count() > 1 || (streams_.count() == 1 && need.domain == 0))
      recycler_.settle(Streams::Effort::kPoll, nullptr, need.domain);
    const Outcome outcome = climb(need, attempt);
    if (outcome != Outcome::kNoMemory) return outcome;
    callback = family_.callback;
    user = family_.user;
  }
  if (callback == nullptr) return Outcome::kNoMemory;
  {
    const OutsideBatch outside;  // what the program frees is freed, and told
    if (tsan::watched(callback, user, family_.handle, need.bytes, account().c_str()) == 0)
      return Outcome::kNoMemory;
  }
  std::lock_guard guard(family_.growth);
  backing_.ask_again();
  return climb(need, attempt);
}

plat_pool_status Ladder::place(Zone& zone, uint32_t granules, uint32_t align, const Need& need,
                               core::RangeId* block) {
  const uint64_t before = backing_.held_bytes();
  const Outcome outcome =
      gather(need, [&] { return backing_.place(zone, granules, align, need.domain, block); });
  if (outcome == Outcome::kDone) return PLAT_POOL_OK;
  if (backing_.held_bytes() > before) {
    // What was taken for nothing goes back: others may need it.
    std::lock_guard guard(family_.growth);
    backing_.trim_spare(before);
  }
  ++times_exhausted_;
  return short_of(outcome, fmt::format("no room for {}", format_bytes(need.bytes)));
}

Outcome Ladder::gather_pages(size_t count, std::vector<void*>* pages) {
  const uint64_t before = backing_.held_bytes();
  const Outcome outcome = gather(Need{count * kPageBytes}, [&] {
    std::vector<void*> taken;
    const Outcome result = backing_.take_pages(count, taken);
    if (result == Outcome::kDone && pages != nullptr)
      pages->swap(taken);
    else
      backing_.keep_pages(taken);
    return result;
  });
  if (outcome != Outcome::kDone) {
    std::lock_guard guard(family_.growth);
    backing_.trim_spare(before);
  }
  return outcome;
}

plat_pool_status Ladder::short_of(Outcome outcome, const std::string& what) {
  const std::string& refusal = Source::error();
  return report(outcome == Outcome::kNoMemory ? PLAT_POOL_NO_MEMORY : PLAT_POOL_DEVICE,
                fmt::format("pool {}: {} ({}){}{}", name_, what, account(),
                            refusal.empty() ? "" : "; last refusal: ", refusal));
}

std::string Ladder::account() {
  uint64_t used = 0;
  uint64_t sleeping = 0;
  uint64_t free = 0;
  uint64_t queued = 0;
  uint64_t movable = 0;
  uint64_t mapped = 0;
  uint64_t blocks = 0;
  zones_.for_each([&](Zone& zone) {
    std::lock_guard guard(zone.lock());
    if (zone.is_asleep()) {
      sleeping += zone.used_bytes();
      return;
    }
    mapped += uint64_t{zone.heap().mapped_pages()} * kPageBytes;
    used += zone.used_bytes();
    blocks += zone.live_blocks();
    free += zone.heap().free_granules(0) << core::kGranuleShift;
    movable += uint64_t{zone.heap().movable_pages()} * kPageBytes;
    for (uint16_t domain = 1; domain <= streams_.count(); ++domain)
      queued += zone.heap().free_granules(domain) << core::kGranuleShift;
  });
  const uint64_t held = backing_.held_bytes();
  const uint64_t limit = family_.limit_of(backing_.source().on_device());
  uint64_t family = 0;
  family_.for_each([&](Pool& member) { family += member.backing().held_bytes(); });
  std::string text = fmt::format(
      "holds {}{}: {} in {} live blocks, {} free of which {} in whole pages, {} freed on streams that have "
      "not passed",
      format_bytes(held), limit != 0 ? " of a limit of " + format_bytes(limit) : "", format_bytes(used),
      blocks, format_bytes(free), format_bytes(movable), format_bytes(queued));
  if (backing_.source().has_pages() && held > mapped)
    text += fmt::format(", {} in KV caches and in pages that are nowhere", format_bytes(held - mapped));
  if (sleeping != 0) text += fmt::format("; {} sleep beside it", format_bytes(sleeping));
  if (options_.max_remaps != 0)
    text += fmt::format("; pages moved for one request: at most {}", options_.max_remaps);
  if (family != held) text += fmt::format("; with what it keeps for other purposes {}", format_bytes(family));
  return text;
}

}  // namespace plat::pool
