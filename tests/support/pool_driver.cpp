// SPDX-License-Identifier: Apache-2.0
#include "support/pool_driver.h"

#include <plat/pool.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "support/counting_acl.h"

namespace plat::test {

namespace {

struct Live {
  uint64_t bytes;
  uint8_t pattern;
  uint16_t tag;
};

class Driver {
 public:
  Driver(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  std::string run() {
    reset_device();
    device().capacity_bytes = (uint64_t{24} + byte() % 64) << 20;
    plat_pool_options options;
    plat_pool_options_init(&options);
    options.name = "driven";
    options.thread_cache = byte() % 2;
    options.release = static_cast<plat_pool_release>(byte() % 4);
    options.release_watermark = 4 << 20;
    options.slack = byte() % 2 ? 0.05 : -1;
    options.reuse_waits = byte() % 2;
    const uint8_t source = byte() % 4;
    if (source == 1) options.source = PLAT_POOL_SOURCE_MALLOC;
    if (source == 2) options.source = PLAT_POOL_SOURCE_MEDIA;
    options.chunk_bytes = 4 << 20;
    media_ = source == 2;
    pages_ = source != 1 && source != 2;
    if (plat_pool_create(&options, &pool_) != PLAT_POOL_OK) return "the pool cannot be created";
    while (problem_.empty() && at_ < size_) step();
    if (problem_.empty()) finish();
    plat_pool_destroy(pool_);
    if (problem_.empty() && device().broken_rules != 0)
      problem_ = "a rule of the device was broken: " + device().first_broken;
    if (problem_.empty() && !device().clean()) problem_ = "something is left on the device";
    return problem_;
  }

 private:
  uint8_t byte() { return at_ < size_ ? data_[at_++] : 0; }
  uint64_t size_of(uint8_t code) {
    // Small, middling and large, with odd and exact sizes at the edges of classes, pages and spans.
    const uint64_t base = uint64_t{1} << (5 + code % 18);
    return base + (code & 0x20 ? byte() * 37u : 0) - (code & 0x40 ? 1 : 0);
  }
  void fail(const std::string& what) {
    if (problem_.empty()) problem_ = "step at byte " + std::to_string(at_) + ": " + what;
  }

  void step() {
    const uint8_t op = byte();
    switch (op % 16) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
        return allocate(op);
      case 6:
      case 7:
      case 8:
      case 9:
      case 10:
        return release(byte(), op & 0x10 ? stream(byte()) : nullptr);
      case 11:
        device().fail_call = 1 + byte() % 8;
        return;
      case 12:
        return resize();
      case 13:
        if (op & 0x10) plat_pool_trim(pool_, uint64_t{byte()} << 20);
        if (op & 0x20) plat_pool_flush_thread(pool_);
        if (op & 0x40) device().finish();
        if (op & 0x80) device().streams_finish = !device().streams_finish;
        return;
      case 14:
        if (!asleep_ && !live_.empty() && op & 0x10) {
          auto block = pick(byte());
          if (plat_pool_use_on(pool_, block->first, stream(byte())) != PLAT_POOL_OK)
            fail("a live block cannot be used");
        }
        return;
      default:
        return sleep_or_wake(op);
    }
  }

  void allocate(uint8_t op) {
    if (asleep_) return;  // others would take the memory that must come back
    const uint64_t bytes = size_of(byte());
    void* address = nullptr;
    uint64_t alignment = media_ ? 128 : 64;
    uint16_t tag = 0;
    plat_pool_status status;
    if (op & 0x10) {
      alignment = uint64_t{1} << (byte() % 22);
      status = plat_pool_alloc_aligned(pool_, bytes, alignment, &address);
    } else if (op & 0x20) {
      const auto purpose = static_cast<plat_pool_purpose>(byte() % 4);
      if (purpose == PLAT_POOL_MEDIA) alignment = 128;
      if (purpose >= PLAT_POOL_HOST) alignment = 64;
      status = plat_pool_alloc_for(pool_, bytes, purpose, &address);
    } else if (op & 0x40) {
      tag = static_cast<uint16_t>(1 + byte() % 2);
      status = plat_pool_alloc_tagged(pool_, bytes, tag, &address);
    } else if (op & 0x80) {
      status = plat_pool_alloc_on(pool_, bytes, stream(byte()), &address);
    } else {
      status = plat_pool_alloc(pool_, bytes, &address);
    }
    if (status != PLAT_POOL_OK) {
      if (status == PLAT_POOL_INVALID || status == PLAT_POOL_NOT_OWNED)
        fail("a good request was refused: " + std::string(plat_pool_last_error()));
      return;
    }
    const auto start = reinterpret_cast<uint64_t>(address);
    if (start % 64 != 0 || start % alignment != 0) fail("a start is not aligned");
    const uint64_t own = ((bytes + 31) & ~uint64_t{31}) + 32;
    auto after = live_.upper_bound(address);
    if (after != live_.end() && start + own > reinterpret_cast<uint64_t>(after->first))
      fail("a block reaches into the next one");
    if (after != live_.begin()) {
      auto before = std::prev(after);
      const uint64_t end =
          reinterpret_cast<uint64_t>(before->first) + ((before->second.bytes + 31) & ~uint64_t{31}) + 32;
      if (end > start) fail("a block starts inside the one before it");
    }
    uint64_t usable = 0;
    if (plat_pool_usable(pool_, address, &usable, nullptr) != PLAT_POOL_OK || usable < bytes)
      fail("a block is shorter than asked for");
    const Live live{bytes, static_cast<uint8_t>(++counter_), tag};
    fill(address, live);
    live_[address] = live;
  }

  // Only the ends and a page boundary in the middle are looked at: enough to notice a page that went missing.
  template <class Visit>
  static void probes(void* address, uint64_t bytes, Visit&& visit) {
    auto* start = static_cast<uint8_t*>(address);
    visit(start);
    visit(start + bytes - 1);
    visit(start + ((bytes - 1) & ~uint64_t{31}) + 63);  // the last byte of the tail
    visit(start + bytes / 2);
    for (uint64_t at = 0; at < bytes; at += 2u << 20) visit(start + at);
  }
  static void fill(void* address, const Live& live) {
    probes(address, live.bytes, [&](uint8_t* at) { *at = live.pattern; });
  }
  void check(void* address, const Live& live) {
    probes(address, live.bytes, [&](uint8_t* at) {
      if (*at != live.pattern) fail("a block lost its contents");
    });
  }

  std::map<void*, Live>::iterator pick(uint8_t code) {
    auto found = live_.begin();
    std::advance(found, code % live_.size());
    return found;
  }

  void release(uint8_t code, plat_stream stream) {
    if (live_.empty()) return;
    auto block = pick(code);
    if (asleep_) return;
    check(block->first, block->second);
    if (plat_pool_free_on(pool_, block->first, stream) != PLAT_POOL_OK) fail("a live block cannot be freed");
    live_.erase(block);
  }

  void resize() {
    if (live_.empty() || asleep_) return;
    auto block = pick(byte());
    const uint64_t bytes = size_of(byte());
    auto after = std::next(block);
    const plat_pool_status status = plat_pool_resize(pool_, block->first, bytes);
    if (status == PLAT_POOL_NO_MEMORY) return;
    if (status != PLAT_POOL_OK) return fail("a resize failed oddly");
    const uint64_t end = reinterpret_cast<uint64_t>(block->first) + ((bytes + 31) & ~uint64_t{31}) + 32;
    if (after != live_.end() && end > reinterpret_cast<uint64_t>(after->first))
      fail("a resized block reaches into the next one");
    block->second.bytes = bytes;
    fill(block->first, block->second);
  }

  void sleep_or_wake(uint8_t op) {
    if (!pages_ || byte() >= 24) return;  // rarely: it copies every page
    const uint16_t tag = op & 0x20 ? PLAT_POOL_ALL_TAGS : 1;
    if (!asleep_) {
      if (plat_pool_sleep(pool_, tag, 1) != PLAT_POOL_OK) return check_all();
      asleep_ = true;
      if (op & 0x10) return;
    }
    device().fail_call = op & 0x40 ? 1 + byte() % 16 : 0;
    plat_pool_status status = plat_pool_wake(pool_, PLAT_POOL_ALL_TAGS);
    device().fail_call = 0;
    if (status != PLAT_POOL_OK) status = plat_pool_wake(pool_, PLAT_POOL_ALL_TAGS);
    if (status != PLAT_POOL_OK)
      return fail("memory that slept cannot be woken: " + std::string(plat_pool_last_error()));
    asleep_ = false;
    check_all();
  }
  void check_all() {
    for (auto& [address, live] : live_) check(address, live);
  }

  void finish() {
    device().fail_call = 0;
    if (asleep_ && plat_pool_wake(pool_, PLAT_POOL_ALL_TAGS) != PLAT_POOL_OK)
      return fail("memory that slept cannot be woken");
    asleep_ = false;
    check_all();
    while (!live_.empty() && problem_.empty()) release(0, nullptr);
    device().streams_finish = true;
    device().finish();
    for (int s = 1; s <= 3; ++s) plat_pool_forget_stream(pool_, stream(static_cast<uint8_t>(s)));
    plat_pool_flush_thread(pool_);
    plat_pool_trim(pool_, 0);
    plat_pool_stats stats;
    plat_pool_get_stats(pool_, &stats);
    if (stats.used_bytes != 0 || stats.live_blocks != 0)
      fail("an empty pool counts " + std::to_string(stats.used_bytes) + " bytes as used");
    if (stats.reserved_bytes != 0)
      fail("an empty pool holds " + std::to_string(stats.reserved_bytes) + " bytes after a trim");
    if (device().held_bytes != stats.reserved_bytes - stats.host_bytes)
      fail("the pool and the device count differently");
  }

  static plat_stream stream(uint8_t code) {
    return reinterpret_cast<plat_stream>(static_cast<uintptr_t>(0x1000 + code % 3));
  }

  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
  plat_pool* pool_ = nullptr;
  bool media_ = false;
  bool pages_ = true;
  bool asleep_ = false;
  uint64_t counter_ = 0;
  std::map<void*, Live> live_;
  std::string problem_;
};

}  // namespace

std::string drive_pool(const uint8_t* data, size_t size) { return Driver(data, size).run(); }

std::string drive_pool_with_seed(uint64_t seed, size_t length) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> bytes(length);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
  return drive_pool(bytes.data(), bytes.size());
}

}  // namespace plat::test
