// SPDX-License-Identifier: Apache-2.0
// A KV cache that maps memory on demand.
//
// Each sequence reserves addresses for as many tokens as it may ever have; physical memory comes when tokens
// do. When the device is full, the sequence that has waited longest gives its memory up.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

#include "acl/acl.h"

#define CHECK_ACL(call)                                                                   \
  do {                                                                                    \
    const aclError code_ = (call);                                                        \
    if (code_ != ACL_SUCCESS) {                                                           \
      std::fprintf(stderr, "[ERROR] %s:%d %s: %d %s\n", __FILE__, __LINE__, #call, code_, \
                   aclGetRecentErrMsg());                                                 \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

namespace {

constexpr size_t kPageBytes = 2 << 20;
constexpr size_t kTokenBytes = 64 << 10;
constexpr size_t kTokensMax = 8192;  // 512 MiB of addresses to a sequence

class Sequence {
 public:
  explicit Sequence(uint8_t mark) : mark_(mark) {
    CHECK_ACL(aclrtReserveMemAddress(&base_, kTokensMax * kTokenBytes, 0, nullptr, 1));
  }
  ~Sequence() {
    for (size_t page = 0; page < pages_.size(); ++page) {
      CHECK_ACL(aclrtUnmapMem(at(page * kPageBytes)));
      CHECK_ACL(aclrtFreePhysical(pages_[page]));
    }
    CHECK_ACL(aclrtReleaseMemAddress(base_));
  }
  Sequence(const Sequence&) = delete;

  // False when the device is full.
  bool append() {
    if ((tokens_ + 1) * kTokenBytes > pages_.size() * kPageBytes && !grow()) return false;
    const std::vector<uint8_t> token(kTokenBytes, value_of(tokens_));
    CHECK_ACL(aclrtMemcpy(at(tokens_ * kTokenBytes), kTokenBytes, token.data(), kTokenBytes,
                          ACL_MEMCPY_HOST_TO_DEVICE));
    ++tokens_;
    return true;
  }

  void verify() const {
    std::vector<uint8_t> token(kTokenBytes);
    for (size_t i = 0; i < tokens_; ++i) {
      CHECK_ACL(aclrtMemcpy(token.data(), kTokenBytes, at(i * kTokenBytes), kTokenBytes,
                            ACL_MEMCPY_DEVICE_TO_HOST));
      for (const uint8_t byte : token)
        if (byte != value_of(i)) {
          std::fprintf(stderr, "[ERROR] token %zu of sequence %d was overwritten\n", i, mark_);
          std::exit(1);
        }
    }
  }
  size_t tokens() const { return tokens_; }

 private:
  char* at(size_t offset) const { return static_cast<char*>(base_) + offset; }
  uint8_t value_of(size_t token) const { return static_cast<uint8_t>(mark_ * 31 + token); }

  bool grow() {
    aclrtPhysicalMemProp prop = {};
    prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
    prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 0;
    aclrtDrvMemHandle page = nullptr;
    const aclError code = aclrtMallocPhysical(&page, kPageBytes, &prop, 0);
    if (code == ACL_ERROR_RT_MEMORY_ALLOCATION) return false;
    CHECK_ACL(code);
    CHECK_ACL(aclrtMapMem(at(pages_.size() * kPageBytes), kPageBytes, 0, page, 0));
    pages_.push_back(page);
    return true;
  }

  const uint8_t mark_;
  void* base_ = nullptr;
  size_t tokens_ = 0;
  std::vector<aclrtDrvMemHandle> pages_;
};

}  // namespace

int main() {
  CHECK_ACL(aclInit(nullptr));
  CHECK_ACL(aclrtSetDevice(0));
  size_t before = 0, after = 0, total = 0;
  CHECK_ACL(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
  size_t evicted = 0, written = 0;
  {
    std::deque<std::unique_ptr<Sequence>> live;
    for (uint8_t mark = 0; mark < 24; ++mark) {
      live.push_back(std::make_unique<Sequence>(mark));
      const size_t wanted = 20 + mark * 7u % 100;
      while (live.back()->tokens() < wanted) {
        if (live.back()->append()) {
          ++written;
          continue;
        }
        if (live.size() == 1) {
          std::fprintf(stderr, "[ERROR] one sequence alone does not fit\n");
          return 1;
        }
        live.front()->verify();
        live.pop_front();
        ++evicted;
      }
    }
    for (const auto& sequence : live) sequence->verify();
  }
  CHECK_ACL(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
  if (before != after) {
    std::fprintf(stderr, "[ERROR] %zu bytes of the device are missing\n", before - after);
    return 1;
  }
  CHECK_ACL(aclrtResetDevice(0));
  CHECK_ACL(aclFinalize());
  std::printf("%zu tokens cached on a device of %zu MiB, %zu sequences made room for others\n", written,
              total >> 20, evicted);
  return 0;
}
