// Pool: zones, spans, caches and streams put together. pool_impl.cpp has the calls, growth.cpp how memory
// comes and goes, sleep.cpp sleep and wake, deferred.cpp the blocks that several streams use.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
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
  plat_pool_status set_oom_callback(plat_pool_oom_callback callback, void* user) override;
  plat_pool_status flush_thread() override;
  plat_pool_status sleep(uint16_t tag, bool save) override;
  plat_pool_status wake(uint16_t tag) override;

  uint64_t id() const { return id_; }
  // The most pages that were moved for one request.
  uint64_t most_remaps() const { return most_remaps_.load(); }
  // A thread joins / ends; its cache must be known to statistics and returned at the end.
  void enlist(ThreadCache& cache);
  void retire(ThreadCache& cache);

  // Pages for a helper that maps them itself (the KV cache). All or none.
  plat_pool_status take_pages(size_t count, std::vector<void*>& pages);
  void give_pages(std::vector<void*>& pages);
  Source& source() { return *source_; }

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
  struct Shared {  // a freed block that several streams still use
    void* address;
    plat_stream stream;
    std::vector<void*> events;
  };

  explicit Pool(const plat_pool_options& options);

  // A block's bytes with the tail that the owner's rule gives it, and the granules that hold them.
  uint64_t segment_bytes(uint64_t bytes) const { return ((bytes + 31) & ~uint64_t{31}) + tail_; }
  uint32_t granules_of(uint64_t bytes) const;

  bool allocate_plain(const Request& request, void** address);
  bool release_plain(void* address, plat_stream stream);
  plat_pool_status allocate_slow(const Request& request, uint64_t segment, void** address);
  plat_pool_status allocate_small(const Request& request, uint32_t index, uint16_t domain, void** address);
  plat_pool_status allocate_large(const Request& request, uint16_t domain, void** address);
  void open_small(const void* address, uint32_t index);
  bool close_small(Space& space, const void* address);
  plat_pool_status release_slow(Space* space, void* address, plat_stream stream);
  plat_pool_status release_now(Space* space, void* address, plat_stream stream);
  plat_pool_status unknown(const void* address) const;
  Zone& zone_for(const Request& request, bool small);
  Zone* tag_zone(uint16_t tag, bool small);
  Zone* own_shard(ThreadCache& cache);
  void found_taken();
  Lane* lane_of(ThreadCache& cache, plat_stream stream);
  void flush_lane(Lane& lane, uint32_t index, uint32_t count);
  void flush_cache(ThreadCache& cache);
  uint32_t span_of(const void* small_block) const;
  void return_block(Zone& zone, uint32_t span, uint32_t index, void* address, uint16_t domain);
  void drop_span(Zone& zone, uint32_t span);
  void live_blocks(Zone& zone, const Span& span, std::vector<const void*>& out);
  void after_release(Zone& zone);
  void release_idle();
  void note_peak();
  void refresh_key();

  // growth.cpp
  plat_pool_status grow(Zone& zone, uint32_t granules, uint32_t align, const Request& request,
                        uint16_t domain, uint32_t* block);
  Got grow_once(Zone& zone, uint32_t granules, uint32_t align, uint16_t domain, uint32_t* block);
  Got grow_block(Zone& zone, uint32_t granules, uint32_t align, uint16_t domain, uint32_t* block);
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
  uint64_t trim_locked(uint64_t keep_bytes);
  void trim_blocks(Zone& zone, uint64_t keep_bytes);
  std::string account();
  bool settle(Streams::Effort effort, plat_stream waiter, uint16_t for_domain);
  void settle_zone(Zone& zone, uint16_t domain, uint32_t batch, uint16_t to, uint32_t to_batch);

  // sleep.cpp
  size_t stay_awake(std::unordered_map<Zone*, std::unique_ptr<Saved>>& plans);

  // deferred.cpp
  bool defer_shared(void* address, plat_stream stream);
  bool drain_shared(bool wait);
  void forget_shared();

  void for_zones(const std::function<void(Zone&)>& visit);

  plat_pool_options options_;
  std::string name_;
  std::unique_ptr<Source> source_;
  uint64_t id_ = 0;
  uint32_t tail_ = 32;
  std::atomic<uint64_t> key_{UINT64_MAX};  // equals id_ while the fast path is open
  // Nobody listens and no block is used by several streams: the short way is open for large blocks.
  std::atomic<bool> plain_{false};
  // The first space of the small zone, for the fast path.
  std::atomic<uint64_t> small_base_{0};
  std::atomic<uint64_t> small_bytes_{0};
  std::atomic<SmallTable*> small_table_{nullptr};
  SpaceIndex index_;
  Streams streams_;
  ToolHook tool_;

  std::mutex zones_mutex_;  // guards adding zones
  std::vector<std::unique_ptr<Zone>> zones_;
  std::array<std::atomic<Zone*>, 16> shards_{};
  Zone* large_ = nullptr;
  Zone* small_ = nullptr;
  std::unordered_map<uint32_t, Zone*> tags_;

  std::mutex growth_;        // taken before any zone when pages or address space come or go
  std::vector<void*> bank_;  // pages that are held but mapped nowhere; growth_ guards it
  std::unordered_map<Zone*, std::unique_ptr<Saved>> saved_;
  std::atomic<uint64_t> held_bytes_{0};
  std::atomic<uint64_t> held_peak_{0};
  std::atomic<uint64_t> used_peak_{0};
  std::atomic<uint64_t> maps_{0};
  std::atomic<uint64_t> unmaps_{0};
  std::atomic<uint64_t> remaps_{0};
  std::atomic<uint64_t> most_remaps_{0};
  std::atomic<uint64_t> oom_{0};
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
  std::atomic<uint32_t> shared_count_{0};

  plat_pool_oom_callback oom_callback_ = nullptr;
  void* oom_user_ = nullptr;
};

}  // namespace plat::pool
