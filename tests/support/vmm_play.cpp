// SPDX-License-Identifier: Apache-2.0
#include "support/vmm_play.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "acl/acl.h"
#include "base/units.h"

namespace plat::test {

namespace {

constexpr size_t kRemembered = 30;

void* pointer(uint64_t value) { return reinterpret_cast<void*>(value); }

void remember(std::vector<uint64_t>& past, uint64_t value) {
  if (past.size() == 16) past.erase(past.begin());
  past.push_back(value);
}

}  // namespace

Player::Player(const VmmModel::Settings& settings) : model_(settings) {}

bool Player::differ(std::string how) {
  difference_ = std::move(how);
  return false;
}

std::string Player::history() const {
  std::string text;
  for (const Call& call : calls_) {
    text += fmt::format("  {}(", call.name);
    for (size_t i = 0; i < call.arguments.size(); ++i)
      text += fmt::format("{}{:#x}", i == 0 ? "" : ", ", call.arguments[i]);
    text +=
        fmt::format(") = {}, {}\n", call.got, call.wanted.ok() ? "ok" : rules::get(*call.wanted.rule).name);
  }
  return text;
}

bool Player::agree(const char* name, std::vector<uint64_t> arguments, const Verdict& wanted, int got) {
  calls_.push_back({name, std::move(arguments), wanted, got});
  if (calls_.size() > kRemembered) calls_.pop_front();
  const char* wanted_rule = wanted.ok() ? "" : rules::get(*wanted.rule).name;
  const std::string_view message = aclGetRecentErrMsg();
  const std::string_view rule = got == 0 ? "" : message.substr(0, message.find(' '));
  if (got != wanted.code || rule != wanted_rule)
    return differ(fmt::format("{} returned {} {}, wanted {} {}\n  message: {}", name, got, rule, wanted.code,
                              wanted_rule, got == 0 ? "" : message));
  // The accounts of one device after each call, in turn.
  const auto device = static_cast<uint32_t>(steps_ % model_.settings().devices);
  if ((model_.settings().open_devices >> device & 1) == 0) return true;
  size_t free_bytes = 0, total_bytes = 0;
  if (aclrtSetDevice(static_cast<int32_t>(device)) != 0 ||
      aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes) != 0)
    return differ(fmt::format("device {} does not answer: {}", device, aclGetRecentErrMsg()));
  if (free_bytes == model_.free_bytes(device) && total_bytes == model_.settings().capacity_bytes) return true;
  return differ(fmt::format("device {} has {} of {} free, wanted {} of {}", device, free_bytes, total_bytes,
                            model_.free_bytes(device), model_.settings().capacity_bytes));
}

bool Player::play(Script script) {
  for (uint32_t device = 0; device < model_.settings().devices; ++device)
    if ((model_.settings().open_devices >> device & 1) != 0 &&
        aclrtSetDevice(static_cast<int32_t>(device)) != 0)
      return differ(fmt::format("device {} cannot be opened: {}", device, aclGetRecentErrMsg()));
  for (; !script.empty(); script = script.subspan(std::min(kRecordBytes, script.size())))
    if (!step(script.first(std::min(kRecordBytes, script.size())))) return false;
  return ask_about_everything() && take_down();
}

// -- The calls

bool Player::reserve(Choices& choices) {
  uint64_t size = (1 + choices.below(8)) * kPage;
  if (choices.one_in(4))
    size = choices.among<uint64_t>({1, kPage + 1, 512_MiB, 514_MiB, 1_GiB, 3_GiB, 3_GiB, 128_GiB, 128_GiB + 1,
                                    0, SIZE_MAX, SIZE_MAX - kPage + 1});
  uint64_t expected = 0;
  if (choices.one_in(3)) expected = kExpectedBase + choices.below(64) * kPage;
  if (expected != 0 && choices.one_in(4))
    expected = choices.among<uint64_t>({kExpectedBase + 1_GiB, kExpectedBase + 2_GiB, 16_TiB - kPage,
                                        24_TiB - kPage, 24_TiB, kExpectedBase + 4096, kPage,
                                        UINT64_MAX - 4_MiB + 1, some_address(choices)});
  const uint64_t flags = choices.one_in(16) ? choices.among<uint64_t>({1, 2, UINT64_MAX}) : 0;
  const uint64_t alignment = choices.one_in(24) ? kPage : 0;
  void* start = nullptr;
  void** output = choices.one_in(32) ? nullptr : &start;
  const Verdict wanted = model_.reserve(output, size, alignment, expected, flags);
  const int got = aclrtReserveMemAddress(output, size, alignment, pointer(expected), flags);
  if (wanted.ok() && got == 0) {
    const std::string wrong = model_.reserved(reinterpret_cast<uint64_t>(start), size, expected);
    if (!wrong.empty())
      return differ(fmt::format("aclrtReserveMemAddress gave {} for {:#x} bytes: {}", start, size, wrong));
  }
  return agree("aclrtReserveMemAddress",
               {reinterpret_cast<uint64_t>(start), size, alignment, expected, flags}, wanted, got);
}

bool Player::release(uint64_t start) {
  const Verdict wanted = model_.release(start);
  if (wanted.ok()) remember(past_addresses_, start);
  return agree("aclrtReleaseMemAddress", {start}, wanted, aclrtReleaseMemAddress(pointer(start)));
}

bool Player::create(Choices& choices) {
  aclrtPhysicalMemProp prop = some_prop(choices);
  uint64_t size = (1 + choices.below(4)) * kPage;
  if (choices.one_in(4)) {
    const uint64_t all = model_.settings().capacity_bytes;
    size = choices.among<uint64_t>({16_MiB, 32_MiB, all, all + kPage, 1_GiB, kPage + 1, 4096, 0, SIZE_MAX,
                                    SIZE_MAX - kPage + 1, SIZE_MAX - 1_GiB + 1});
  }
  const uint64_t flags = choices.one_in(24) ? 1 : 0;
  const aclrtPhysicalMemProp* input = choices.one_in(32) ? nullptr : &prop;
  aclrtDrvMemHandle handle = nullptr;
  aclrtDrvMemHandle* output = choices.one_in(32) ? nullptr : &handle;
  const Verdict wanted = model_.create(output, size, input, flags);
  const int got = aclrtMallocPhysical(output, size, input, flags);
  const auto value = reinterpret_cast<uint64_t>(handle);
  if (wanted.ok() && got == 0) {
    const std::string wrong = model_.created(value, size, prop);
    if (!wrong.empty()) return differ(fmt::format("aclrtMallocPhysical gave {:#x}: {}", value, wrong));
  }
  return agree("aclrtMallocPhysical",
               {value, size, static_cast<uint64_t>(prop.location.type), prop.location.id,
                static_cast<uint64_t>(prop.memAttr), flags},
               wanted, got);
}

bool Player::free(uint64_t handle) {
  const Verdict wanted = model_.free(handle);
  if (wanted.ok()) remember(past_handles_, handle);
  return agree("aclrtFreePhysical", {handle}, wanted, aclrtFreePhysical(pointer(handle)));
}

bool Player::map(Choices& choices) {
  const uint64_t start = some_address(choices);
  const uint64_t handle = some_handle(choices);
  const auto block = model_.blocks().find(handle);
  uint64_t size = block != model_.blocks().end() ? block->second.size_bytes : kPage;
  if (choices.one_in(6))
    size = choices.among<uint64_t>(
        {kPage, 2 * kPage, size + kPage, kPage + 4096, 1_GiB, 0, SIZE_MAX, SIZE_MAX - kPage + 1});
  const uint64_t offset = choices.one_in(24) ? kPage : 0;
  const uint64_t flags = choices.one_in(24) ? 1 : 0;
  const bool grant_owner = !choices.one_in(4);
  const Verdict wanted = model_.map(start, size, offset, handle, flags, grant_owner);
  const int got =
      (grant_owner ? aclrtMapMem : aclrtMemMapNoAccess)(pointer(start), size, offset, pointer(handle), flags);
  return agree(grant_owner ? "aclrtMapMem" : "aclrtMemMapNoAccess", {start, size, offset, handle, flags},
               wanted, got);
}

bool Player::unmap(uint64_t start) {
  const Verdict wanted = model_.unmap(start);
  return agree("aclrtUnmapMem", {start}, wanted, aclrtUnmapMem(pointer(start)));
}

bool Player::set_access(Choices& choices) {
  const uint64_t start = choices.one_in(4) ? some_address(choices) : some_mapping(choices);
  const VmmModel::Mapping* mapping = model_.mapping_around(start);
  uint64_t size = mapping != nullptr ? mapping->size_bytes : kPage;
  if (choices.one_in(12)) size = choices.among<uint64_t>({0, kPage, 2 * kPage, SIZE_MAX});
  aclrtMemAccessDesc grants[2] = {};
  const uint64_t count = choices.one_in(3) ? 2 : choices.one_in(16) ? 0 : 1;
  for (auto& grant : grants) {
    grant.flags = static_cast<aclrtMemAccessFlags>(choices.one_in(12) ? choices.among({0, 1, 2}) : 3);
    grant.location = some_location(choices);
  }
  aclrtMemAccessDesc* input = choices.one_in(32) ? nullptr : grants;
  const Verdict wanted = model_.set_access(start, size, input, count);
  return agree("aclrtMemSetAccess",
               {start, size, count, static_cast<uint64_t>(grants[0].location.type), grants[0].location.id},
               wanted, aclrtMemSetAccess(pointer(start), size, input, count));
}

bool Player::get_access(uint64_t va, aclrtMemLocation* location) {
  uint64_t wanted_flags = 0, flags = 0;
  const Verdict wanted = model_.get_access(va, location, &flags, wanted_flags);
  const int got = aclrtMemGetAccess(pointer(va), location, &flags);
  if (!agree("aclrtMemGetAccess",
             {va, location ? static_cast<uint64_t>(location->type) : 0, location ? location->id : 0}, wanted,
             got))
    return false;
  return !wanted.ok() || flags == wanted_flags ||
         differ(fmt::format("aclrtMemGetAccess({:#x}) says {}, wanted {}", va, flags, wanted_flags));
}

bool Player::retain(uint64_t va, bool with_output) {
  uint64_t wanted_handle = 0;
  aclrtDrvMemHandle handle = nullptr;
  aclrtDrvMemHandle* output = with_output ? &handle : nullptr;
  const Verdict wanted = model_.retain(va, output, wanted_handle);
  if (!agree("aclrtMemRetainAllocationHandle", {va}, wanted,
             aclrtMemRetainAllocationHandle(pointer(va), output)))
    return false;
  return !wanted.ok() || reinterpret_cast<uint64_t>(handle) == wanted_handle ||
         differ(fmt::format("the handle behind {:#x} is {}, wanted {:#x}", va, handle, wanted_handle));
}

bool Player::properties(uint64_t handle) {
  aclrtPhysicalMemProp wanted_prop{}, prop{};
  const Verdict wanted = model_.properties(handle, &prop, wanted_prop);
  if (!agree("aclrtMemGetAllocationPropertiesFromHandle", {handle}, wanted,
             aclrtMemGetAllocationPropertiesFromHandle(pointer(handle), &prop)))
    return false;
  if (!wanted.ok()) return true;
  const bool same = prop.handleType == wanted_prop.handleType &&
                    prop.allocationType == wanted_prop.allocationType &&
                    prop.memAttr == wanted_prop.memAttr && prop.location.type == wanted_prop.location.type &&
                    prop.location.id == wanted_prop.location.id && prop.reserve == 0;
  return same || differ(fmt::format("handle {:#x} has attribute {} at {}:{}, wanted {} at {}:{}", handle,
                                    static_cast<int>(prop.memAttr), static_cast<int>(prop.location.type),
                                    prop.location.id, static_cast<int>(wanted_prop.memAttr),
                                    static_cast<int>(wanted_prop.location.type), wanted_prop.location.id));
}

bool Player::granularity(Choices& choices) {
  aclrtPhysicalMemProp prop = some_prop(choices);
  const int option = choices.one_in(8) ? choices.among({2, 0xFFFF}) : choices.among({0, 1});
  size_t bytes = 0;
  size_t* output = choices.one_in(16) ? nullptr : &bytes;
  uint64_t wanted_bytes = 0;
  const Verdict wanted = model_.granularity(&prop, option, output, wanted_bytes);
  const int got =
      aclrtMemGetAllocationGranularity(&prop, static_cast<aclrtMemGranularityOptions>(option), output);
  return agree("aclrtMemGetAllocationGranularity",
               {static_cast<uint64_t>(prop.memAttr), static_cast<uint64_t>(option)}, wanted, got) &&
         (bytes == wanted_bytes || differ(fmt::format("granularity {}, wanted {}", bytes, wanted_bytes)));
}

// Memory that the host may touch holds what was last written through any of its mappings, and zero before
// that.
bool Player::touch(Choices& choices) {
  const uint64_t va = some_mapping(choices);
  uint64_t start = 0;
  const VmmModel::Mapping* mapping = model_.mapping_around(va, &start);
  if (mapping == nullptr || !mapping->host_access) return true;
  const uint64_t page =
      choices.below(static_cast<uint32_t>(std::min<uint64_t>(mapping->size_bytes / kPage, 256)));
  auto* word = reinterpret_cast<volatile uint64_t*>(start + page * kPage);
  uint64_t& mark = model_.block(mapping->handle).marks[page];
  const uint64_t found = *word;
  if (found != mark)
    return differ(fmt::format("{:#x} holds {:#x}, wanted {:#x}", start + page * kPage, found, mark));
  mark = next_mark_++;
  *word = mark;
  return true;
}

// -- The end

bool Player::ask_about_everything() {
  std::vector<uint64_t> handles, starts;
  for (const auto& [handle, block] : model_.blocks()) handles.push_back(handle);
  for (const auto& [start, range] : model_.reservations())
    for (const auto& [at, mapping] : range.mappings) starts.push_back(at);
  for (const uint64_t handle : handles)
    if (!properties(handle)) return false;
  for (const uint64_t start : starts) {
    aclrtMemLocation location{};
    if (!get_access(start, &location)) return false;
    location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    for (location.id = 0; location.id < model_.settings().devices; ++location.id)
      if (!get_access(start, &location) || !get_access(start + kPage - 1, &location)) return false;
    const uint64_t handle = model_.mapping_around(start)->handle;
    if (!retain(start, true) || !free(handle)) return false;
  }
  return true;
}

bool Player::take_down() {
  while (!model_.reservations().empty()) {
    const auto& [start, range] = *model_.reservations().begin();
    if (!range.mappings.empty() ? !unmap(range.mappings.begin()->first) : !release(start)) return false;
  }
  while (!model_.blocks().empty())
    if (!free(model_.blocks().begin()->first)) return false;
  for (steps_ = 0; steps_ < model_.settings().devices; ++steps_)
    if (!free(0)) return false;  // for its look at the accounts of each device
  return true;
}

}  // namespace plat::test
