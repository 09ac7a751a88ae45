// SPDX-License-Identifier: Apache-2.0
// guards: a red zone before and after each block, and a pattern in new and freed memory. A write outside a
// block is found when the block is freed. Everything goes through device copies, so it works on memory that
// the host cannot touch, and is slow. Copies and fills run at once and not in stream order, so whatever is
// queued on the streams of a block is waited for first.
#include <acl/acl_rt.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/units.h"
#include "pool/decorator.h"
#include "pool/guarded.h"
#include "pool/router.h"

namespace plat::pool {

namespace {

constexpr int kNew = 0xCD;
constexpr int kFreed = 0xDD;
constexpr int kGuard = 0xFD;

class Guards final : public Decorator {
 public:
  Guards(plat_pool* upstream, uint64_t bytes)
      : Decorator(upstream), guard_(align_up(std::max<uint64_t>(bytes, 1), 512)) {}

  plat_pool_status allocate_otherwise(const Request& request, void** address) override {
    *address = nullptr;
    // Looked at here: with the guards, 0 is no longer 0, and the largest sizes are small ones.
    if (request.bytes == 0 || request.bytes > kLargestRequest)
      return report(PLAT_POOL_INVALID, fmt::format("a block of {} bytes cannot be had", request.bytes));
    Request wider = request;
    // The front guard keeps the alignment that was asked for.
    const uint64_t lead = align_up(guard_, std::max<uint64_t>(512, request.alignment));
    wider.bytes = lead + align_up(request.bytes, 32) + 32 + guard_;
    void* base = nullptr;
    const plat_pool_status status = upstream_->allocate(wider, &base);
    if (status != PLAT_POOL_OK) return status;
    char* user = static_cast<char*>(base) + lead;
    Record record{base, lead, request.bytes, wider.bytes - lead - guard_, upstream_->on_host(base)};
    record.tag = request.tag;
    // Earlier work of the stream may still use the memory.
    if (finished(request.stream)) {
      write_guards(record, user);
      fill(record, user, request.bytes, kNew);
    }
    std::lock_guard guard(mutex_);
    records_[user] = std::move(record);
    *address = user;
    return PLAT_POOL_OK;
  }

  plat_pool_status release_otherwise(void* address, plat_stream stream) override {
    if (address == nullptr) return PLAT_POOL_OK;
    // Refused before the block is looked at, which forgets it.
    if (const auto status = base_pool().check_stream(stream); status != PLAT_POOL_OK) return status;
    Record record{};
    {
      std::lock_guard guard(mutex_);
      auto found = records_.find(address);
      if (found == records_.end()) return not_mine(address);
      record = std::move(found->second);
      records_.erase(found);
    }
    // What is queued may still be the one that writes too far, and must find its bytes as they were.
    bool still = finished(stream) && !record.asleep;
    for (plat_stream user : record.users) still = finished(user) && still;
    char* user = static_cast<char*>(address);
    int64_t before = -1;
    int64_t after = -1;
    if (still) {
      before = broken(record, static_cast<char*>(record.base), record.front);
      after = broken(record, user + record.own, guard_);
      fill(record, user, record.bytes, kFreed);
    }
    const plat_pool_status status = upstream_->release(record.base, stream);
    if (before >= 0)
      return report(PLAT_POOL_CORRUPT,
                    fmt::format("the block at {} ({} bytes) was written {} bytes before its start", address,
                                record.bytes, record.front - static_cast<uint64_t>(before)));
    if (after >= 0)
      return report(PLAT_POOL_CORRUPT,
                    fmt::format("the block at {} ({} bytes) was written {} bytes past its end", address,
                                record.bytes, record.own - record.bytes + static_cast<uint64_t>(after)));
    return status;
  }
  plat_pool_status resize(void*, uint64_t) override {
    return report(PLAT_POOL_UNSUPPORTED, "a guarded block keeps its size");
  }
  plat_pool_status usable(const void* address, uint64_t* bytes, uint64_t* with_tail) override {
    std::lock_guard guard(mutex_);
    auto found = records_.find(const_cast<void*>(address));
    if (found == records_.end()) return not_mine(address);
    if (bytes != nullptr) *bytes = found->second.bytes;
    if (with_tail != nullptr) *with_tail = found->second.own;
    return PLAT_POOL_OK;
  }
  plat_pool_status owner(const void* address, plat_pool_block* block) override {
    std::lock_guard guard(mutex_);
    for (const auto& [user, record] : records_) {
      const auto offset = static_cast<uint64_t>(static_cast<const char*>(address) - static_cast<char*>(user));
      if (offset >= record.own) continue;
      *block = described(user, record);
      return PLAT_POOL_OK;
    }
    return not_mine(address);
  }
  plat_pool_status list(std::vector<plat_pool_block>& blocks) override {
    std::lock_guard guard(mutex_);
    for (const auto& [user, record] : records_) blocks.push_back(described(user, record));
    return PLAT_POOL_OK;
  }
  plat_pool_status use_on(void* address, plat_stream stream) override {
    std::lock_guard guard(mutex_);
    auto found = records_.find(address);
    if (found == records_.end()) return not_mine(address);
    auto& users = found->second.users;
    users.reserve(users.size() + 1);
    const plat_pool_status status = upstream_->use_on(found->second.base, stream);
    if (status == PLAT_POOL_OK && std::find(users.begin(), users.end(), stream) == users.end())
      users.push_back(stream);
    return status;
  }
  plat_pool_status forget_stream(plat_stream stream) override {
    const plat_pool_status status = upstream_->forget_stream(stream);
    if (status != PLAT_POOL_OK) return status;
    std::lock_guard guard(mutex_);
    for (auto& [address, record] : records_) std::erase(record.users, stream);
    return status;
  }
  // Memory that sleeps is not touched, nor what may sleep although the call failed.
  plat_pool_status sleep(uint16_t tag, bool save) override {
    std::lock_guard guard(mutex_);
    const plat_pool_status status = upstream_->sleep(tag, save);
    if (status == PLAT_POOL_UNSUPPORTED) return status;
    for (auto& [address, record] : records_) {
      if (record.on_host || !(tag == PLAT_POOL_ALL_TAGS || tag == record.tag)) continue;
      record.asleep = true;
      record.lost = record.lost || !save;
    }
    return status;
  }
  // What was not saved has lost its guards: they are written anew.
  plat_pool_status wake(uint16_t tag) override {
    std::lock_guard guard(mutex_);
    const plat_pool_status status = upstream_->wake(tag);
    if (status != PLAT_POOL_OK) return status;
    for (auto& [address, record] : records_) {
      if (!record.asleep || !(tag == PLAT_POOL_ALL_TAGS || tag == record.tag)) continue;
      if (record.lost) write_guards(record, static_cast<char*>(address));
      record.asleep = record.lost = false;
    }
    return status;
  }
  plat_pool_status name_block(void* address, const char* name) override {
    std::lock_guard guard(mutex_);
    auto found = records_.find(address);
    return found == records_.end() ? not_mine(address) : upstream_->name_block(found->second.base, name);
  }
  plat_pool_status reset() override {
    std::lock_guard guard(mutex_);
    const plat_pool_status status = upstream_->reset();
    if (status == PLAT_POOL_OK) records_.clear();
    return status;
  }
  bool on_host(const void* address) override {
    std::lock_guard guard(mutex_);
    auto found = records_.find(const_cast<void*>(address));
    return found != records_.end() && found->second.on_host;
  }

 private:
  struct Record {
    void* base;
    uint64_t front;
    uint64_t bytes;
    uint64_t own;  // payload with its tail
    bool on_host;
    bool guarded = false;
    bool asleep = false;
    bool lost = false;  // asleep, and the guards are gone
    uint16_t tag = 0;
    std::vector<plat_stream> users = {};  // as noted by use_on
  };
  static plat_pool_block described(void* user, const Record& record) {
    plat_pool_block block;
    block.address = user;
    block.bytes = record.bytes;
    block.with_tail = record.own;
    block.tag = record.tag;
    block.on_host = record.on_host ? 1 : 0;
    block.asleep = record.asleep ? 1 : 0;
    return block;
  }
  static plat_pool_status not_mine(const void* address) {
    return report(PLAT_POOL_NOT_OWNED, fmt::format("{} is no live block of the guarded pool", address));
  }
  Pool& base_pool() const { return static_cast<Router*>(upstream_->base())->main(); }
  // Through the pool, which knows the device of its streams and the name of the default one.
  bool finished(plat_stream stream) const {
    return stream == nullptr || base_pool().source().events().wait_for_stream(stream);
  }
  // Where the device refuses to write a guard, none can be looked at.
  void write_guards(Record& record, char* user) const {
    record.guarded = fill(record, static_cast<char*>(record.base), record.front, kGuard) &&
                     fill(record, user + record.own, guard_, kGuard);
  }
  static bool fill(const Record& record, char* start, uint64_t bytes, int value) {
    if (!record.on_host) return aclrtMemset(start, bytes, value, bytes) == ACL_SUCCESS;
    std::memset(start, value, bytes);
    return true;
  }
  // The offset of the first changed byte; -1 when all are as they were.
  static int64_t broken(const Record& record, const char* start, uint64_t bytes) {
    if (!record.guarded) return -1;
    std::vector<unsigned char> copy(bytes);
    if (record.on_host)
      std::memcpy(copy.data(), start, bytes);
    else if (aclrtMemcpy(copy.data(), bytes, start, bytes, ACL_MEMCPY_DEVICE_TO_HOST) != ACL_SUCCESS)
      return -1;
    for (uint64_t i = 0; i < bytes; ++i)
      if (copy[i] != kGuard) return static_cast<int64_t>(i);
    return -1;
  }
  const uint64_t guard_;
  std::mutex mutex_;
  std::unordered_map<void*, Record> records_;
};

}  // namespace

}  // namespace plat::pool

extern "C" plat_pool_status plat_pool_with_guards(plat_pool* upstream, uint64_t guard_bytes,
                                                  plat_pool** pool) {
  if (upstream == nullptr || pool == nullptr || guard_bytes > (1u << 20))
    return plat::pool::report(PLAT_POOL_INVALID,
                              "plat_pool_with_guards: an argument is NULL, or the guard above 1 MiB");
  return plat::pool::guarded(
      *upstream, [&] { return *pool = new plat::pool::Guards(upstream, guard_bytes), PLAT_POOL_OK; });
}
