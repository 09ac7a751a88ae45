// SPDX-License-Identifier: Apache-2.0
// Two buffers, two streams: while one batch is worked on, the next one is copied in.
//
//   copy stream:  wait for "free", copy a batch in, record "filled"
//   work stream:  wait for "filled", work, copy the result out, record "free"
#include <cstdint>
#include <cstdio>
#include <cstdlib>

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

constexpr size_t kBatchBytes = 256 << 10;
constexpr size_t kBatches = 64;

struct Buffer {
  void* input = nullptr;
  void* result = nullptr;
  aclrtEvent filled = nullptr;
  aclrtEvent free = nullptr;
};

uint8_t value_of(size_t batch, size_t at) { return static_cast<uint8_t>(batch * 37 + at * 11); }

}  // namespace

int main() {
  CHECK_ACL(aclInit(nullptr));
  CHECK_ACL(aclrtSetDevice(0));
  aclrtStream copies = nullptr, work = nullptr;
  CHECK_ACL(aclrtCreateStream(&copies));
  CHECK_ACL(aclrtCreateStream(&work));
  // Page-locked, so that copies really are asynchronous.
  uint8_t* source = nullptr;
  uint8_t* target = nullptr;
  CHECK_ACL(aclrtMallocHost(reinterpret_cast<void**>(&source), kBatches * kBatchBytes));
  CHECK_ACL(aclrtMallocHost(reinterpret_cast<void**>(&target), kBatches * kBatchBytes));
  for (size_t batch = 0; batch < kBatches; ++batch)
    for (size_t at = 0; at < kBatchBytes; ++at) source[batch * kBatchBytes + at] = value_of(batch, at);
  Buffer buffers[2];
  for (Buffer& buffer : buffers) {
    CHECK_ACL(aclrtMalloc(&buffer.input, kBatchBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_ACL(aclrtMalloc(&buffer.result, kBatchBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_ACL(aclrtCreateEvent(&buffer.filled));
    CHECK_ACL(aclrtCreateEvent(&buffer.free));
  }

  for (size_t batch = 0; batch < kBatches; ++batch) {
    Buffer& buffer = buffers[batch % 2];
    if (batch >= 2) CHECK_ACL(aclrtStreamWaitEvent(copies, buffer.free));
    CHECK_ACL(aclrtMemcpyAsync(buffer.input, kBatchBytes, source + batch * kBatchBytes, kBatchBytes,
                               ACL_MEMCPY_HOST_TO_DEVICE, copies));
    CHECK_ACL(aclrtRecordEvent(buffer.filled, copies));

    CHECK_ACL(aclrtStreamWaitEvent(work, buffer.filled));
    // The work: the first 64 bytes are set to the number of the batch, the rest is taken over.
    CHECK_ACL(aclrtMemcpyAsync(buffer.result, kBatchBytes, buffer.input, kBatchBytes,
                               ACL_MEMCPY_DEVICE_TO_DEVICE, work));
    CHECK_ACL(aclrtMemsetAsync(buffer.result, kBatchBytes, static_cast<int32_t>(batch), 64, work));
    CHECK_ACL(aclrtMemcpyAsync(target + batch * kBatchBytes, kBatchBytes, buffer.result, kBatchBytes,
                               ACL_MEMCPY_DEVICE_TO_HOST, work));
    CHECK_ACL(aclrtRecordEvent(buffer.free, work));
  }
  CHECK_ACL(aclrtSynchronizeStream(work));

  for (size_t batch = 0; batch < kBatches; ++batch)
    for (size_t at = 0; at < kBatchBytes; ++at) {
      const uint8_t expected = at < 64 ? static_cast<uint8_t>(batch) : value_of(batch, at);
      if (target[batch * kBatchBytes + at] == expected) continue;
      std::fprintf(stderr, "[ERROR] batch %zu is wrong at byte %zu\n", batch, at);
      return 1;
    }
  for (Buffer& buffer : buffers) {
    CHECK_ACL(aclrtDestroyEvent(buffer.filled));
    CHECK_ACL(aclrtDestroyEvent(buffer.free));
    CHECK_ACL(aclrtFree(buffer.input));
    CHECK_ACL(aclrtFree(buffer.result));
  }
  CHECK_ACL(aclrtFreeHost(source));
  CHECK_ACL(aclrtFreeHost(target));
  CHECK_ACL(aclrtDestroyStream(copies));
  CHECK_ACL(aclrtDestroyStream(work));
  CHECK_ACL(aclrtResetDevice(0));
  CHECK_ACL(aclFinalize());
  std::printf("%zu batches went through two buffers, in order\n", kBatches);
  return 0;
}
