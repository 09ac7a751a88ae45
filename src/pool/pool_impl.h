// Pool: zones, spans, caches and streams put together. pool_impl.cpp has the calls, growth.cpp how memory
// comes and goes, chunks.cpp the same for sources without pages, teardown.cpp the end, sleep.cpp sleep and
// wake, deferred.cpp the blocks that several streams use, telling.cpp what tools hear, companions.cpp memory
// of other sources than the pool's own.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pool/resource.h"
#include "pool/source.h"
#include "pool/streams.h"
#include "pool/thread_cache.h"
#include "pool/tool_hook.h"
#include "pool/zone.h"

namespace plat::pool {

class Pool final : public plat_pool {
 public:
  static plat_pool_status create(const plat_pool_options& options, Pool** pool);
  // Over a source of the caller's making, for replays.
  static plat_pool_status create(const plat_pool_options& options, std::unique_ptr<Source> source,
                                 Pool** pool);
  ~Pool() override;

  plat_pool_status allocate(const Request& request, void** address) override;
  plat_pool_status release(void* address, plat_stream stream) override;
  plat_pool_status use_on(void* address, plat_stream stream) override;
  plat_pool_status forget_stream(plat_stream stream) override;
  plat_pool_status resize(void* address, uint64_t bytes) override;
  plat_pool_status usable(const void* address, uint64_t* bytes, uint64_t* with_tail) override;
  plat_pool_status stats(plat_pool_stats* stats) override;
  plat_pool_status tag_bytes(uint16_t tag, uint64_t* used, uint64_t* reserved) override;
  plat_pool_status trim(uint64_t keep_bytes) override;
  plat_pool_status reset() override;
  uint64_t resets() const override { return resets_; }
  plat_pool_status set_oom_callback(plat_pool_oom_callback callback, void* user) override;
  plat_pool_status flush_thread() override;
  plat_pool_status sleep(uint16_t tag, bool save) override;
  plat_pool_status wake(uint16_t tag) override;
  plat_pool_status close() override;
  bool on_host(const void* address) override;
  plat_pool_status name_block(void* address, const char* name) override;

  uint64_t id() const { return id_; }
  // A thread joins / ends; its cache must be known to statistics and returned at the end.
  void enlist(ThreadCache& cache);
  void retire(ThreadCache& cache);

  // The short way for large blocks, out of memory that is there and with nobody in the way. False, and
  // nothing happened, when anything is out of the ordinary.
  bool allocate_plain(uint64_t bytes, plat_stream stream, void** address);
  bool release_plain(void* address, plat_stream stream);

  // Pages for a helper that maps them itself (the KV cache). All or none.
  plat_pool_status take_pages(size_t count, std::vector<void*>& pages);
  void give_pages(std::vector<void*>& pages);
  Source& source() { return *source_; }
  // PLAT_POOL_INVALID, and said, for a stream that never was.
  plat_pool_status check_stream(plat_stream stream);
  // For helpers that hand out pieces of blocks.
  bool asleep_now() const { return large_->is_asleep(); }
  // For helpers that tell tools of pieces of blocks, or of memory that they map themselves.
  ToolHook& tool() { return tool_; }
  void tell_piece(const void* address, uint64_t bytes, const std::string& name);

 private:
  struct Saved {  // a sleeping zone
    struct Page {
      uint32_t index;
      void* handle;                      // null: given back to the device
      std::unique_ptr<char[]> contents;  // null when not saved
      bool mapped = false;               // the device refused to take the mapping away
    };
    std::vector<Page> pages;
  };
  // Pages on their way somewhere: those that do not get there, whatever goes wrong, stay in the bank.
  struct Pages {
    Pages(std::vector<void*>& bank, size_t count) : bank_(bank) {
      bank.reserve(bank.size() + count);
      list.reserve(count);
    }
    ~Pages() { bank_.insert(bank_.end(), list.begin(), list.end()); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    std::vector<void*> list;

   private:
    std::vector<void*>& bank_;
  };
  struct Shared {  // a freed block that several streams still use
    void* address;
    plat_stream stream;
    std::vector<void*> events;
    std::vector<plat_stream> unmarked;  // streams that have no event yet
  };

  // `root`: whose companion it is; null for a pool of its own.
  explicit Pool(const plat_pool_options& options, Pool* root = nullptr);
  static plat_pool_status create(const plat_pool_options& options, std::unique_ptr<Source> source, Pool* root,
                                 Pool** pool);

  // A block's bytes with the tail that the owner's rule gives it, and the granules that hold them.
  uint64_t segment_bytes(uint64_t bytes) const { return ((bytes + 31) & ~uint64_t{31}) + tail_; }
  uint32_t granules_of(uint64_t bytes) const;

  plat_pool_status allocate_slow(const Request& request, uint64_t segment, void** address);
  plat_pool_status allocate_small(const Request& request, uint32_t index, uint16_t domain, void** address);
  plat_pool_status allocate_large(const Request& request, uint16_t domain, void** address);
  SmallTable::Mark* mark_of(const void* address, uint32_t index) const;
  bool close_small(Space& space, const void* address);
  plat_pool_status release_slow(Space* space, void* address, plat_stream stream);
  plat_pool_status release_now(Space* space, void* address, plat_stream stream);
  plat_pool_status release_told(Space* space, void* address, plat_stream stream);
  plat_pool_status no_stream(plat_stream stream) const;
  plat_pool_status asleep() const;
  plat_pool_status unknown(const void* address) const;
  Zone& zone_for(const Request& request, bool small);
  Zone* tag_zone(uint16_t tag, bool small);
  Zone* own_shard(ThreadCache& cache);
  void found_taken();
  Lane* lane_of(ThreadCache& cache, plat_stream stream);
  Lane* fresh_lane(ThreadCache& cache, plat_stream stream);
  void drop_ended(ThreadCache& cache);
  void end_lanes(plat_stream stream);
  bool wait_for_lanes();
  void flush_lane(Lane& lane, uint32_t index, uint32_t count);
  void flush_cache(ThreadCache& cache);
  uint32_t span_of(const void* small_block) const;
  void return_block(Zone& zone, uint32_t span, uint32_t index, void* address, uint16_t domain);
  void drop_span(Zone& zone, uint32_t span);
  void live_blocks(Zone& zone, const Span& span, std::vector<const void*>& out);
  void after_release(Zone& zone);
  void release_idle();
  void obey_release();
  void reset_locked();
  // Read without the locks: each is written under one, and a peak that is late by one block is made up by the
  // next.
  void note_peak() {
    Pool& root = *root_;
    const uint64_t used = root.large_->awake_bytes() + root.small_->awake_bytes() +
                          root.elsewhere_.load(std::memory_order_relaxed);
    uint64_t peak = root.used_peak_.load(std::memory_order_relaxed);
    while (used > peak && !root.used_peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
    }
  }
  void add_stats(plat_pool_stats& stats);
  void refresh_front();

  // growth.cpp
  Got climb(uint16_t domain, plat_stream stream, const std::function<Got()>& attempt);
  Got gather(uint64_t bytes, uint16_t domain, plat_stream stream, const std::function<Got()>& attempt);
  bool give_up_idle(uint64_t keep_bytes);
  plat_pool_status short_of(Got got, const std::string& what);
  bool drop_bank(uint64_t keep_bytes);
  Got gather_pages(size_t count, std::vector<void*>* out);
  plat_pool_status grow(Zone& zone, uint32_t granules, uint32_t align, const Request& request,
                        uint16_t domain, uint32_t* block);
  Got grow_once(Zone& zone, uint32_t granules, uint32_t align, uint16_t domain, uint32_t* block);
  Got add_space(Zone& zone, uint32_t granules);
  Got collect_pages(Zone& zone, const core::RangePlan& plan, bool may_move, size_t count,
                    std::vector<void*>& pages);
  Got create_pages(size_t count, uint64_t ceiling, std::vector<void*>& pages);
  bool move_out(Zone& zone, const core::RangePlan& skip, size_t count, std::vector<void*>& pages);
  Got map_plan(Zone& zone, const core::RangePlan& plan, std::vector<void*>& pages);
  bool tightly(Zone& zone, uint32_t granules) const;
  uint64_t movable_pages();
  uint64_t hard_limit_pages() const;
  uint64_t soft_limit_pages() const;
  void reclaim_spans();
  bool trim_locked(uint64_t keep_bytes);
  std::string account();
  bool settle(Streams::Effort effort, plat_stream waiter, uint16_t for_domain);
  void settle_zone(Zone& zone, uint16_t domain, uint32_t batch, uint16_t to, uint32_t to_batch);

  // chunks.cpp
  Got grow_chunk(Zone& zone, uint32_t granules, uint32_t align, uint16_t domain, uint32_t* block);
  Got add_chunk(Zone& zone, uint64_t bytes, uint64_t need);
  bool drop_chunk(void* base, uint64_t bytes);
  bool trim_chunks(Zone& zone, uint64_t keep_bytes);

  // companions.cpp
  bool serves(plat_pool_purpose purpose) const;
  plat_pool_status allocate_elsewhere(const Request& request, void** address);
  plat_pool_status open_companion(plat_pool_source source, Pool** companion);
  Pool* companion_at(const void* address) const;
  void for_companions(const std::function<void(Pool&)>& visit) const;
  void for_relatives(const std::function<void(Pool&)>& visit);
  bool shares_device(const Pool& other) const;
  uint64_t family_bytes() const;
  uint64_t room_bytes() const;
  void note_held();

  // teardown.cpp
  void close_space(Space& space);
  void close_page(void* address, void* page);

  // telling.cpp
  friend class Batch;
  void tell_space(Space& space);
  void tell_added(const void* address, uint64_t bytes, uint16_t tag);
  void tell_resized(Space& space, const void* address, uint64_t bytes);
  void tell_reset();
  void live_regions(Zone& zone, const Space& space, std::vector<const void*>& out);
  plat_pool_status release_heard(Space& space, void* address, plat_stream stream);

  // sleep.cpp
  size_t stay_awake(std::unordered_map<Zone*, std::unique_ptr<Saved>>& plans);

  // deferred.cpp
  enum class Deferred { kNo, kYes, kTwice };
  Deferred defer_shared(void* address, plat_stream stream);
  bool is_deferred(const void* address);
  bool drain_shared(bool wait);
  void mark(Shared& shared);
  bool passed(Shared& shared, bool wait);
  bool forget_uses(plat_stream stream, bool synchronize);
  void forget_shared();

  void for_zones(const std::function<void(Zone&)>& visit);

  plat_pool_options options_;
  std::string name_;
  std::unique_ptr<Source> source_;
  uint64_t id_ = 0;
  uint32_t tail_ = 32;
  // What hot lanes are known by; another one when lanes have ended that threads may hold.
  std::atomic<uint64_t> key_{0};
  std::mutex front_mutex_;             // guards opening and closing the front; taken last
  std::atomic<Space*> home_{nullptr};  // the longest space of the large zone, where most large blocks are
  SpaceIndex index_;
  Streams streams_;
  ToolHook tool_;

  std::mutex zones_mutex_;  // guards adding zones
  std::vector<std::unique_ptr<Zone>> zones_;
  std::array<std::atomic<Zone*>, 16> shards_{};
  Zone* large_ = nullptr;
  Zone* small_ = nullptr;
  std::unordered_map<uint32_t, Zone*> tags_;

  Pool* const root_;  // the pool that a companion belongs to, else itself
  // Companions, opened when first asked for; growth_ guards opening.
  std::atomic<Pool*> host_{nullptr};
  std::atomic<Pool*> cached_{nullptr};

  std::mutex own_growth_;
  std::mutex& growth_;       // the root's; taken before any zone when pages or address space come or go
  std::vector<void*> bank_;  // pages that are held but mapped nowhere; growth_ guards it
  std::vector<std::pair<void*, uint64_t>> refused_chunks_;  // that the device did not take back; growth_
  bool closed_ = false;
  std::unordered_map<Zone*, std::unique_ptr<Saved>> saved_;
  std::atomic<uint64_t> held_bytes_{0};
  std::atomic<uint64_t> held_peak_{0};
  std::atomic<uint64_t> used_peak_{0};  // of the root: the family's
  // Used beside the large and the small zone: by tags, threads and companions.
  std::atomic<uint64_t> elsewhere_{0};
  std::atomic<uint64_t> maps_{0};
  std::atomic<uint64_t> unmaps_{0};
  std::atomic<uint64_t> remaps_{0};
  std::atomic<uint64_t> most_remaps_{0};
  std::atomic<uint64_t> oom_{0};
  std::atomic<uint64_t> resets_{0};
  std::atomic<uint64_t> address_bytes_{0};
  // The least that was idle since the window opened: nobody needed that much. growth_ guards both.
  uint64_t idle_low_bytes_ = 0;
  std::chrono::steady_clock::time_point idle_since_ = std::chrono::steady_clock::now();
  std::atomic<uint64_t> device_full_at_{UINT64_MAX};  // pages held when the device last refused one

  std::mutex caches_mutex_;  // guards the list of caches and adding lanes to them
  std::vector<ThreadCache*> caches_;
  std::atomic<uint64_t> flush_epoch_{0};

  std::mutex shared_mutex_;
  std::unordered_map<void*, std::vector<plat_stream>> uses_;
  std::vector<Shared> shared_;
  std::unordered_set<const void*> deferred_;  // the addresses in shared_
  std::atomic<uint32_t> shared_count_{0};

  plat_pool_oom_callback oom_callback_ = nullptr;
  void* oom_user_ = nullptr;
};

}  // namespace plat::pool
