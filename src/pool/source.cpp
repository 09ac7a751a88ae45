// SPDX-License-Identifier: Apache-2.0
#include "pool/source.h"

#include <acl/acl_rt.h>
#include <acl/ops/acl_dvpp.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "pool/on_device.h"

namespace plat::pool {

std::string& Source::error() {
  static thread_local std::string text;
  return text;
}

bool Source::taken(const char* call, int code) {
  if (code != ACL_SUCCESS) failed(call, code);
  return code == ACL_SUCCESS;
}

Outcome Source::failed(const char* call, int code) {
  const char* text = aclGetRecentErrMsg();
  error() =
      fmt::format("{} returned {}{}{}", call, code, text != nullptr ? ": " : "", text != nullptr ? text : "");
  const bool memory = code == ACL_ERROR_RT_MEMORY_ALLOCATION || code == ACL_ERROR_RT_DEVICE_OOM ||
                      code == ACL_ERROR_BAD_ALLOC || code == ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
  return memory ? Outcome::kNoMemory : Outcome::kFailed;
}

namespace {

// Pages of 2 MiB, each its own handle: the documents promise only that a handle is mapped whole.
class VmmSource final : public Source {
 public:
  explicit VmmSource(int32_t device) {
    device_ = device;
    prop_.handleType = ACL_MEM_HANDLE_TYPE_NONE;
    prop_.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    prop_.memAttr = ACL_HBM_MEM_HUGE;
    prop_.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = static_cast<uint32_t>(device);
    // Asked once, in the thread that makes the pool: others may have no device.
    const OnDevice here(device);
    size_t free = 0;
    size_t total = 0;
    if (aclrtGetMemInfo(ACL_HBM_MEM, &free, &total) == ACL_SUCCESS) total_bytes_ = total;
  }
  bool has_pages() const override { return true; }
  Outcome reserve(uint64_t bytes, void** base) override {
    const aclError code = aclrtReserveMemAddress(base, bytes, 0, nullptr, 0);
    return code == ACL_SUCCESS ? Outcome::kDone : failed("aclrtReserveMemAddress", code);
  }
  bool unreserve(void* base) override {
    return taken("aclrtReleaseMemAddress", aclrtReleaseMemAddress(base));
  }
  Outcome create_page(void** page) override {
    const aclError code = aclrtMallocPhysical(page, kPageBytes, &prop_, 0);
    return code == ACL_SUCCESS ? Outcome::kDone : failed("aclrtMallocPhysical", code);
  }
  bool destroy_page(void* page) override { return taken("aclrtFreePhysical", aclrtFreePhysical(page)); }
  Outcome map_page(void* address, void* page) override {
    const aclError code = aclrtMapMem(address, kPageBytes, 0, page, 0);
    return code == ACL_SUCCESS ? Outcome::kDone : failed("aclrtMapMem", code);
  }
  Outcome unmap_page(void* address) override {
    const aclError code = aclrtUnmapMem(address);
    return code == ACL_SUCCESS ? Outcome::kDone : failed("aclrtUnmapMem", code);
  }
  uint64_t total_bytes() const override { return total_bytes_; }

 private:
  aclrtPhysicalMemProp prop_{};
  uint64_t total_bytes_ = 0;
};

class BlockSource final : public Source {
 public:
  BlockSource(plat_pool_source kind, int32_t device) : kind_(kind) {
    device_ = device;
    on_device_ = kind != PLAT_POOL_SOURCE_HOST;
    if (kind == PLAT_POOL_SOURCE_MEDIA) start_alignment_ = 128;
  }
  // Device calls add 32 bytes behind what they are asked for, where the product has such tails. Nothing but
  // the tail of the last block ever lies there, and with them a chunk takes whole pages and no page more.
  Outcome create_block(uint64_t bytes, void** base) override {
    const OnDevice here(device_);
    bytes = asked_bytes(bytes);
    aclError code = ACL_SUCCESS;
    const char* call = "";
    switch (kind_) {
      case PLAT_POOL_SOURCE_HOST:
        code = aclrtMallocHost(base, bytes);
        call = "aclrtMallocHost";
        break;
      case PLAT_POOL_SOURCE_MEDIA:
        code = acldvppMalloc(base, bytes);
        call = "acldvppMalloc";
        break;
      case PLAT_POOL_SOURCE_CACHED:
        code = aclrtMallocCached(base, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
        call = "aclrtMallocCached";
        break;
      default:
        code = aclrtMalloc(base, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
        call = "aclrtMalloc";
    }
    return code == ACL_SUCCESS ? Outcome::kDone : failed(call, code);
  }
  uint64_t asked_bytes(uint64_t bytes) const override {
    return on_device_ && tail_bytes_ >= kAdded ? bytes - kAdded : bytes;
  }
  bool destroy_block(void* base) override {
    const OnDevice here(device_);
    if (kind_ == PLAT_POOL_SOURCE_HOST) return taken("aclrtFreeHost", aclrtFreeHost(base));
    if (kind_ == PLAT_POOL_SOURCE_MEDIA) return taken("acldvppFree", acldvppFree(base));
    return taken("aclrtFree", aclrtFree(base));
  }

 private:
  static constexpr uint64_t kAdded = 32;
  plat_pool_source kind_;
};

// One range that the caller brought; it is taken once and never given back to anybody.
class CallerSource final : public Source {
 public:
  CallerSource(void* base, uint64_t bytes) : base_(base), bytes_(bytes) {
    const auto start = reinterpret_cast<uint64_t>(base);
    largest_alignment_ = std::min(kPageBytes, start & (~start + 1));
  }
  Outcome create_block(uint64_t bytes, void** base) override {
    if (taken_ || bytes > bytes_) {
      error() = fmt::format("the caller's range of {} is all there is", format_bytes(bytes_));
      return Outcome::kNoMemory;
    }
    taken_ = true;
    *base = base_;
    return Outcome::kDone;
  }
  bool destroy_block(void*) override { return taken_ = false, true; }

 private:
  void* base_;
  uint64_t bytes_;
  bool taken_ = false;
};

// By name, since a call that is refused would be an error in the program's log: Ascend 310 has none, nor has
// 310B where programs run on the device itself.
bool has_virtual_memory(const char* soc) {
  if (soc == nullptr) return true;
  if (std::strcmp(soc, "Ascend310") == 0) return false;
  aclrtRunMode mode = ACL_HOST;
  return std::strncmp(soc, "Ascend310B", 10) != 0 || aclrtGetRunMode(&mode) != ACL_SUCCESS ||
         mode != ACL_DEVICE;
}

}  // namespace

std::unique_ptr<Source> Source::create(plat_pool_options& options, std::string* why) {
  int32_t device = options.device;
  if (device < 0 && options.source != PLAT_POOL_SOURCE_CALLER && aclrtGetDevice(&device) != ACL_SUCCESS) {
    *why = "no device is set in this thread and the options name none";
    return nullptr;
  }
  uint32_t count = 0;
  if (device >= 0 && aclrtGetDeviceCount(&count) == ACL_SUCCESS && static_cast<uint32_t>(device) >= count) {
    *why = fmt::format("device is {}, and there are {}, counted from 0", device, count);
    return nullptr;
  }
  const char* const soc = aclrtGetSocName();
  if (options.source == PLAT_POOL_SOURCE_DEVICE)
    options.source = has_virtual_memory(soc) ? PLAT_POOL_SOURCE_VMM : PLAT_POOL_SOURCE_MALLOC;
  std::unique_ptr<Source> source;
  if (options.source == PLAT_POOL_SOURCE_VMM)
    source = std::make_unique<VmmSource>(device);
  else if (options.source == PLAT_POOL_SOURCE_CALLER)
    source = std::make_unique<CallerSource>(options.caller_base, options.caller_bytes);
  else
    source = std::make_unique<BlockSource>(options.source, device < 0 ? 0 : device);
  // The Ascend 950 generation reads nothing past the payload, so its segments need no tail. Media memory
  // keeps the tail everywhere.
  const bool no_tail = soc != nullptr && std::strncmp(soc, "Ascend950", 9) == 0 &&
                       options.source != PLAT_POOL_SOURCE_MEDIA && options.source != PLAT_POOL_SOURCE_HOST;
  // Memory of the caller's may be any device's.
  source->events_ = Events::of_device(options.source == PLAT_POOL_SOURCE_CALLER ? options.device : device);
  source->tail_bytes_ = options.tail_bytes >= 0 ? static_cast<uint32_t>(options.tail_bytes)
                        : no_tail               ? 0
                                                : 32;
  return source;
}

}  // namespace plat::pool
