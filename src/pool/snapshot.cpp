// SPDX-License-Identifier: Apache-2.0
#include "pool/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include "base/pickle.h"

namespace plat::pool {

namespace {

constexpr uint64_t kSmallSegmentMax = uint64_t{1} << 20;  // what PyTorch calls small

const char* name_of(PartState state) {
  switch (state) {
    case PartState::kLive:
      return "active_allocated";
    case PartState::kWaiting:
      return "active_pending_free";
    case PartState::kFree:
      break;
  }
  return "inactive";
}

void write_blocks(Pickle& pickle, const HeldRange& range) {
  const std::string owner = range.tag == 0 ? range.pool : fmt::format("{}, tag {}", range.pool, range.tag);
  uint64_t at = reinterpret_cast<uintptr_t>(range.start);
  pickle.begin_list();
  for (const HeldPart& part : range.parts) {
    pickle.begin_dict();
    pickle.field("address", at);
    pickle.field("size", part.bytes);
    pickle.field("requested_size", part.asked);
    pickle.field("state", name_of(part.state));
    if (part.state != PartState::kFree) pickle.field("user_metadata", owner);
    pickle.text("frames");
    pickle.empty_list();
    pickle.end_dict();
    at += part.bytes;
  }
  pickle.end_list();
}

void write_segment(Pickle& pickle, const HeldRange& range) {
  uint64_t allocated = 0, active = 0, asked = 0;
  for (const HeldPart& part : range.parts) {
    if (part.state == PartState::kLive) allocated += part.bytes;
    if (part.state != PartState::kFree) active += part.bytes;
    asked += part.asked;
  }
  pickle.begin_dict();
  pickle.field("device", static_cast<uint64_t>(range.device));
  pickle.field("address", reinterpret_cast<uintptr_t>(range.start));
  pickle.field("total_size", range.bytes);
  pickle.field("allocated_size", allocated);
  pickle.field("active_size", active);
  pickle.field("requested_size", asked);
  pickle.field("stream", 0);
  pickle.field("segment_type", range.bytes > kSmallSegmentMax ? "large" : "small");
  pickle.text("segment_pool_id");
  pickle.pair(0, 0);
  pickle.text("is_expandable");
  pickle.truth(range.has_pages);
  pickle.text("frames");
  pickle.empty_list();
  pickle.text("blocks");
  write_blocks(pickle, range);
  pickle.end_dict();
}

std::string pickle_of(const std::vector<HeldRange>& ranges) {
  int32_t last = 0;
  for (const HeldRange& range : ranges) last = std::max(last, range.device);
  Pickle pickle;
  pickle.begin_dict();
  pickle.text("segments");
  pickle.begin_list();
  for (const HeldRange& range : ranges) write_segment(pickle, range);
  pickle.end_list();
  pickle.text("device_traces");  // one of each device, and nothing was recorded
  pickle.begin_list();
  for (int32_t device = 0; device <= last; ++device) pickle.empty_list();
  pickle.end_list();
  pickle.end_dict();
  return pickle.finish();
}

// 0, or errno.
int write_bytes(const std::string& path, const std::string& bytes) {
  std::FILE* const file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) return errno;
  int error = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() ? 0 : errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  return error;
}

// What is no file, such as a pipe, is written to; a file is replaced when its successor is there whole.
int replace(const std::string& path, const std::string& bytes) {
  std::error_code failure;
  if (std::filesystem::exists(path, failure) && !std::filesystem::is_regular_file(path, failure))
    return write_bytes(path, bytes);
  static std::atomic<uint64_t> number{0};
  const std::string beside = fmt::format("{}.{}.part", path, ++number);
  int error = write_bytes(beside, bytes);
  if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) std::remove(beside.c_str());
  return error;
}

}  // namespace

plat_pool_status write_snapshot(std::vector<HeldRange>& ranges, const char* path) {
  std::sort(ranges.begin(), ranges.end(),
            [](const HeldRange& a, const HeldRange& b) { return std::less<>()(a.start, b.start); });
  if (const int error = replace(path, pickle_of(ranges)); error != 0)
    return report(PLAT_POOL_INVALID,
                  fmt::format("the snapshot {} cannot be written: {}", path, std::strerror(error)));
  return PLAT_POOL_OK;
}

}  // namespace plat::pool
