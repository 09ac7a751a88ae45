// guards: a red zone before and after each block, and a pattern in new and freed memory. A write outside a
// block is found when the block is freed. Everything goes through device copies, so it works on memory that
// the host cannot touch, and is slow.
#include <acl/acl_rt.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "pool/decorator.h"
#include "pool/guarded.h"

namespace plat::pool {

namespace {

constexpr int kNew = 0xCD;
constexpr int kFreed = 0xDD;
constexpr int kGuard = 0xFD;

class Guards final : public Decorator {
 public:
  Guards(plat_pool* upstream, uint64_t bytes)
      : Decorator(upstream), guard_(align_up(std::max<uint64_t>(bytes, 1), 512)) {}

  plat_pool_status allocate(const Request& request, void** address) override {
    Request wider = request;
    // The front guard keeps the alignment that was asked for.
    const uint64_t lead = std::max(guard_, align_up(request.alignment, 512));
    wider.bytes = lead + align_up(request.bytes, 32) + 32 + guard_;
    void* base = nullptr;
    const plat_pool_status status = upstream_->allocate(wider, &base);
    if (status != PLAT_POOL_OK) return status;
    char* user = static_cast<char*>(base) + lead;
    Record record{base, lead, request.bytes, wider.bytes - lead - guard_, upstream_->on_host(base), true};
    // Where the device refuses to write a guard, none can be looked at.
    record.guarded = fill(record, static_cast<char*>(base), lead, kGuard) &&
                     fill(record, user + record.own, guard_, kGuard);
    fill(record, user, request.bytes, kNew);
    std::lock_guard guard(mutex_);
    records_[user] = record;
    *address = user;
    return PLAT_POOL_OK;
  }

  plat_pool_status release(void* address, plat_stream stream) override {
    if (address == nullptr) return PLAT_POOL_OK;
    Record record{};
    {
      std::lock_guard guard(mutex_);
      auto found = records_.find(address);
      if (found == records_.end()) return not_mine(address);
      record = found->second;
      records_.erase(found);
    }
    if (stream != nullptr)
      aclrtSynchronizeStream(stream);  // what is queued may still be the one that writes too far
    char* user = static_cast<char*>(address);
    const int64_t before = broken(record, static_cast<char*>(record.base), record.front);
    const int64_t after = broken(record, user + record.own, guard_);
    fill(record, user, record.bytes, kFreed);
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
  plat_pool_status use_on(void* address, plat_stream stream) override {
    std::lock_guard guard(mutex_);
    auto found = records_.find(address);
    return found == records_.end() ? not_mine(address) : upstream_->use_on(found->second.base, stream);
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
    bool guarded;
  };
  static plat_pool_status not_mine(const void* address) {
    return report(PLAT_POOL_NOT_OWNED, fmt::format("{} is no live block of the guarded pool", address));
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
      [&] { return *pool = new plat::pool::Guards(upstream, guard_bytes), PLAT_POOL_OK; });
}
