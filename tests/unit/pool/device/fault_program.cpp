// SPDX-License-Identifier: Apache-2.0
#include "unit/pool/device/fault_program.h"

#include <utility>

#include "base/units.h"
#include "support/machine.h"

namespace plat::test {

void FaultProgram::problem(const std::string& what) {
  if (problem_.empty()) problem_ = what;
}

// A call of the pool. One that fails leaves everything as it was, and works when it is made again.
template <class Call>
void FaultProgram::step(const char* what, Call&& call) {
  if (!problem_.empty()) return;
  plat_pool_status status = call();
  if (status == PLAT_POOL_OK) return;
  const std::string why = plat_pool_last_error();
  if (status != PLAT_POOL_DEVICE && status != PLAT_POOL_NO_MEMORY)
    return problem(std::string(what) + " failed with status " + std::to_string(status) + ": " + why);
  if (why.empty()) return problem(std::string(what) + " failed without a word");
  check_contents();
  check_counts();
  status = call();
  if (status != PLAT_POOL_OK)
    problem(std::string(what) + " failed again: " + plat_pool_last_error() + "; at first: " + why);
}

// A call of the program itself, which may be the one that fails.
template <class Call>
void FaultProgram::device(const char* what, Call&& call) {
  if (!problem_.empty()) return;
  if (call() != ACL_SUCCESS && call() != ACL_SUCCESS)
    problem(std::string(what) + ": " + aclGetRecentErrMsg());
}

void* FaultProgram::take(uint64_t bytes, plat_pool_purpose purpose, uint16_t tag, aclrtStream stream) {
  plat_pool_request request{};
  request.bytes = bytes;
  request.purpose = purpose;
  request.tag = tag;
  request.stream = stream;
  void* address = nullptr;
  step("an allocation", [&] { return plat_pool_alloc_request(pool_, &request, &address); });
  if (address == nullptr) return nullptr;
  live_.push_back({address, bytes, ++pattern_, purpose == PLAT_POOL_HOST});
  for (const uint64_t at : {uint64_t{0}, bytes - 1}) write(static_cast<char*>(address) + at, live_.back());
  return address;
}

void FaultProgram::release(size_t index) {
  if (index >= live_.size()) return;
  step("a free", [&] { return plat_pool_free(pool_, live_[index].address); });
  live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
}

void FaultProgram::write(void* to, const Live& block) {
  if (block.host)
    *static_cast<unsigned char*>(to) = block.pattern;
  else
    device("a copy", [&] { return aclrtMemcpy(to, 1, &block.pattern, 1, ACL_MEMCPY_HOST_TO_DEVICE); });
}

unsigned char FaultProgram::read(const Live& block, uint64_t at) {
  const auto* from = static_cast<unsigned char*>(block.address) + at;
  unsigned char seen = 0;
  if (block.host) return *from;
  device("a copy back", [&] { return aclrtMemcpy(&seen, 1, from, 1, ACL_MEMCPY_DEVICE_TO_HOST); });
  return seen;
}

void FaultProgram::check_contents() {
  for (const Live& block : live_)
    for (const uint64_t at : {uint64_t{0}, block.bytes - 1})
      if (problem_.empty() && read(block, at) != block.pattern)
        problem("a block of " + std::to_string(block.bytes) + " bytes lost its contents at " +
                std::to_string(at));
}

void FaultProgram::check_counts() {
  plat_pool_stats stats;
  if (pool_ == nullptr || plat_pool_get_stats(pool_, &stats) != PLAT_POOL_OK) return;
  uint64_t used = used_bytes();
  if (used == UINT64_MAX) used = used_bytes();
  if (used != stats.reserved_bytes - stats.host_bytes)
    problem("the device counts " + std::to_string(used) + " bytes, the pool " +
            std::to_string(stats.reserved_bytes - stats.host_bytes));
}

void FaultProgram::start() {
  device("aclInit", [] { return aclInit(nullptr); });
  device("aclrtSetDevice", [] { return aclrtSetDevice(0); });
  for (aclrtStream* stream : {&first_, &second_})
    device("aclrtCreateStream", [&] { return aclrtCreateStream(stream); });
  plat_pool_options options;
  plat_pool_options_init(&options);
  options.device = 0;
  options.chunk_bytes = 4_MiB;
  options.limit_bytes = 40_MiB;
  step("plat_pool_create", [&] { return plat_pool_create(&options, &pool_); });
}

void FaultProgram::grow() {
  for (const uint64_t bytes : {uint64_t{100}, uint64_t{30000}, 100_KiB, 3_MiB}) take(bytes);
}

// Every second block goes, and the next one is longer than any hole that they leave.
void FaultProgram::remap() {
  const size_t before = live_.size();
  for (int i = 0; i < 7; ++i) take(4_MiB - 16_KiB);
  for (size_t i = 0; i < 4; ++i) release(before + i);
  take(11_MiB);
  plat_pool_stats stats;
  plat_pool_get_stats(pool_, &stats);
  if (stats.remaps == 0) problem("no page was moved");
  while (problem_.empty() && live_.size() > before) release(before);
}

void FaultProgram::use_streams() {
  for (const uint64_t bytes : {uint64_t{500}, 2_MiB}) {
    void* block = take(bytes, PLAT_POOL_COMPUTE, 0, first_);
    if (!problem_.empty()) return;
    device("aclrtMemsetAsync", [&] { return aclrtMemsetAsync(block, 64, 7, 64, second_); });
    step("plat_pool_use_on", [&] { return plat_pool_use_on(pool_, block, second_); });
    step("plat_pool_free_on", [&] { return plat_pool_free_on(pool_, block, first_); });
    live_.pop_back();
    take(bytes, PLAT_POOL_COMPUTE, 0, second_);
    step("plat_pool_free_on", [&] { return plat_pool_free_on(pool_, live_.back().address, second_); });
    live_.pop_back();
  }
  // More than is left while the streams' memory is not back: the pool has to ask, and to wait.
  take(30_MiB);
  release(live_.size() - 1);
}

void FaultProgram::serve_purposes() {
  take(100_KiB, PLAT_POOL_HOST);
  take(100_KiB, PLAT_POOL_CACHED);
  take(1000, PLAT_POOL_MEDIA);
}

void FaultProgram::sleep_and_wake() {
  take(3_MiB, PLAT_POOL_COMPUTE, 5);
  for (const uint16_t tag : {uint16_t{5}, uint16_t{PLAT_POOL_ALL_TAGS}}) {
    step("plat_pool_sleep", [&] { return plat_pool_sleep(pool_, tag, 1); });
    check_counts();
    // What sleeps has no contents to look at until it is awake again.
    const auto asleep = std::exchange(live_, {});
    step("plat_pool_wake", [&] { return plat_pool_wake(pool_, tag); });
    live_ = asleep;
    check_contents();
  }
}

void FaultProgram::use_an_arena() {
  plat_arena* arena = nullptr;
  plat_arena* inner = nullptr;
  void* block = nullptr;
  step("plat_arena_create", [&] { return plat_arena_create(pool_, 1_MiB, &arena); });
  step("plat_arena_nest", [&] { return plat_arena_nest(arena, 0, &inner); });
  for (plat_arena* each : {arena, inner})
    for (int i = 0; i < 3; ++i)
      step("plat_arena_alloc", [&] { return plat_arena_alloc(each, 400_KiB, 0, &block); });
  step("plat_arena_destroy", [&] { return plat_arena_destroy(arena); });
}

void FaultProgram::use_a_cache() {
  plat_kv_cache* cache = nullptr;
  step("plat_kv_create", [&] { return plat_kv_create(pool_, 64_KiB, 1000, &cache); });
  step("plat_kv_set_tokens", [&] { return plat_kv_set_tokens(cache, 60); });
  if (!problem_.empty()) return;
  live_.push_back({plat_kv_base(cache), 60 * 64_KiB, ++pattern_, false});
  for (const uint64_t at : {uint64_t{0}, 60 * 64_KiB - 1})
    write(static_cast<char*>(plat_kv_base(cache)) + at, live_.back());
  step("plat_kv_set_tokens", [&] { return plat_kv_set_tokens(cache, 100); });
  check_contents();
  live_.pop_back();
  step("plat_kv_set_tokens", [&] { return plat_kv_set_tokens(cache, 1); });
  step("plat_kv_destroy", [&] { return plat_kv_destroy(cache); });
}

void FaultProgram::finish() {
  check_contents();
  step("plat_pool_trim", [&] { return plat_pool_trim(pool_, 0); });
  while (problem_.empty() && !live_.empty()) release(0);
  for (aclrtStream stream : {first_, second_})
    step("plat_pool_forget_stream", [&] { return plat_pool_forget_stream(pool_, stream); });
  step("plat_pool_trim", [&] { return plat_pool_trim(pool_, 0); });
  check_counts();
  plat_pool_stats stats;
  plat_pool_get_stats(pool_, &stats);
  if (stats.live_blocks != 0 || stats.reserved_bytes != 0)
    problem("an empty pool holds " + std::to_string(stats.reserved_bytes) + " bytes and " +
            std::to_string(stats.live_blocks) + " blocks");
  take(3_MiB);  // for the end of the pool, which a call may fail in too
  take(100, PLAT_POOL_HOST);
  if (plat_pool_destroy(pool_) != PLAT_POOL_OK)
    problem(std::string("plat_pool_destroy: ") + plat_pool_last_error());
  pool_ = nullptr;
  uint64_t used = used_bytes();
  if (used == UINT64_MAX) used = used_bytes();
  if (used != 0) problem("the device has " + std::to_string(used) + " bytes less at the end");
  for (aclrtStream stream : {first_, second_})
    device("aclrtDestroyStream", [&] { return aclrtDestroyStream(stream); });
}

std::string FaultProgram::run() {
  for (auto part : {&FaultProgram::start, &FaultProgram::grow, &FaultProgram::remap,
                    &FaultProgram::use_streams, &FaultProgram::serve_purposes, &FaultProgram::sleep_and_wake,
                    &FaultProgram::use_an_arena, &FaultProgram::use_a_cache, &FaultProgram::finish}) {
    if (!problem_.empty()) break;
    (this->*part)();
  }
  return problem_;
}

}  // namespace plat::test
