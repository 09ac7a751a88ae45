// SPDX-License-Identifier: Apache-2.0
// Streams and what is kept for them, flags of events, system parameters, and counting notifies.
#include <fmt/format.h>

#include <algorithm>

#include "acl/acl_rt_lifecycle.h"
#include "support/object_play.h"

namespace plat::test {

namespace {

constexpr uint32_t kPriorities = 8;
constexpr uint32_t kKnownFlags = 0x3f;

std::optional<RuleId> first_of(std::initializer_list<std::pair<bool, RuleId>> breaches) {
  for (const auto& [is_broken, rule] : breaches)
    if (is_broken) return rule;
  return std::nullopt;
}

}  // namespace

bool ObjectPlayer::stream_create(Choices& choices) {
  if (streams_.size() > 8) return true;
  const uint32_t priority = choices.below(kPriorities);
  const uint32_t flags = choices.among<uint32_t>({0, 1, 3, ACL_STREAM_DEVICE_USE_ONLY, 0x100, 0x102});
  aclrtStream made = nullptr;
  if (!agree("aclrtCreateStreamWithConfig", std::nullopt,
             aclrtCreateStreamWithConfig(&made, priority, flags)))
    return false;
  if (number(made) == gone_stream_) return differ("a handle came twice");
  Attributes attributes;
  attributes.flags = flags & kKnownFlags;
  attributes.priority = priority;
  return streams_.emplace(number(made), attributes).second || differ("a handle came twice");
}

bool ObjectPlayer::stream_ask(Choices& choices) {
  const uint64_t handle = some_key(streams_, gone_stream_, choices);
  if (handle == 0) return true;  // the default stream is nobody's here
  const auto found = streams_.find(handle);
  const bool lives = found != streams_.end();
  uint32_t value = 0;
  uint32_t* const out = choices.one_in(12) ? nullptr : &value;
  const auto wanted = first_of({{out == nullptr, RuleId::ArgNull}, {!lives, RuleId::StreamHandle}});
  switch (choices.below(3)) {
    case 0:
      if (!agree("aclrtStreamGetPriority", wanted, aclrtStreamGetPriority(pointer(handle), out)))
        return false;
      return wanted || value == found->second.priority || differ("another priority");
    case 1:
      if (!agree("aclrtStreamGetFlags", wanted, aclrtStreamGetFlags(pointer(handle), out))) return false;
      return wanted || value == found->second.flags || differ("other flags");
    default: {
      int32_t id = 0;
      int32_t* const id_out = out == nullptr ? nullptr : &id;
      if (!agree("aclrtStreamGetId", wanted, aclrtStreamGetId(pointer(handle), id_out))) return false;
      for (const auto& [other, attributes] : streams_) {
        int32_t other_id = 0;
        if (aclrtStreamGetId(pointer(other), &other_id) != 0) return differ("a live stream has no number");
        if (!wanted && other != handle && other_id == id) return differ("two streams have one number");
      }
      return true;
    }
  }
}

bool ObjectPlayer::stream_set(Choices& choices) {
  const uint64_t handle = some_key(streams_, gone_stream_, choices);
  if (handle == 0) return true;
  const auto found = streams_.find(handle);
  const int type = choices.one_in(8) ? choices.among<int>({0, 6}) : choices.among<int>({2, 3, 4, 5});
  aclrtStreamAttrValue value{};
  const uint32_t set = choices.below(4);
  const bool is_switch =
      type == ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK || type == ACL_STREAM_ATTR_CACHE_OP_INFO;
  auto wanted = first_of({{found == streams_.end(), RuleId::StreamHandle},
                          {type < 1 || type > ACL_STREAM_ATTR_PRIORITY, RuleId::StreamAttributeType}});
  uint32_t* const kept = wanted                                         ? nullptr
                         : type == ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK ? &found->second.overflow
                         : type == ACL_STREAM_ATTR_USER_CUSTOM_TAG      ? &found->second.tag
                         : type == ACL_STREAM_ATTR_CACHE_OP_INFO        ? &found->second.cache
                                                                        : &found->second.priority;
  const auto attribute = static_cast<aclrtStreamAttr>(type);
  if (choices.one_in(2)) {
    if (!agree("aclrtGetStreamAttribute", wanted,
               aclrtGetStreamAttribute(pointer(handle), attribute, &value)))
      return false;
    return wanted || value.userCustomTag == *kept || differ("another attribute");
  }
  if (!wanted && is_switch && set > 1) wanted = RuleId::StreamAttributeValue;
  value.userCustomTag = type == ACL_STREAM_ATTR_PRIORITY ? set * 3 : set;
  if (!agree(fmt::format("aclrtSetStreamAttribute({}, {})", type, value.userCustomTag), wanted,
             aclrtSetStreamAttribute(pointer(handle), attribute, &value)))
    return false;
  if (!wanted) *kept = type == ACL_STREAM_ATTR_PRIORITY ? std::min(set * 3, kPriorities - 1) : set;
  return true;
}

// Nothing runs on these streams, so that to cut them short changes nothing.
bool ObjectPlayer::stream_cut(Choices& choices) {
  const uint64_t handle = some_key(streams_, gone_stream_, choices);
  if (handle == 0) {
    return agree("aclrtStreamStop", RuleId::StreamNull, aclrtStreamStop(nullptr));
  }
  const auto wanted = first_of({{!streams_.contains(handle), RuleId::StreamHandle}});
  switch (choices.below(3)) {
    case 0:
      return agree("aclrtStreamAbort", wanted, aclrtStreamAbort(pointer(handle)));
    case 1:
      return agree("aclrtStreamStop", wanted, aclrtStreamStop(pointer(handle)));
    default:
      if (!agree("aclrtDestroyStream", wanted, aclrtDestroyStream(pointer(handle)))) return false;
      if (streams_.erase(handle) != 0) gone_stream_ = handle;
      return true;
  }
}

bool ObjectPlayer::event_record(Choices& choices) {
  if (events_.size() < 4 && choices.one_in(3)) {
    aclrtEvent made = nullptr;
    if (!agree("aclrtCreateEvent", std::nullopt, aclrtCreateEvent(&made))) return false;
    return events_.emplace(number(made), std::nullopt).second || differ("a handle came twice");
  }
  const uint64_t handle = some_key(events_, gone_event_, choices);
  const auto found = events_.find(handle);
  const bool lives = found != events_.end();
  if (choices.one_in(6)) {
    const auto wanted = first_of({{handle == 0, RuleId::ArgNull}, {!lives, RuleId::EventHandle}});
    if (!agree("aclrtDestroyEvent", wanted, aclrtDestroyEvent(pointer(handle)))) return false;
    if (events_.erase(handle) != 0) gone_event_ = handle;
    return true;
  }
  const uint32_t flag = choices.below(3);
  const bool mixed = lives && found->second && *found->second != flag;
  const auto wanted = first_of({{handle == 0, RuleId::ArgNull},
                                {flag > 1, RuleId::ArgReserved},
                                {!lives, RuleId::EventHandle},
                                {mixed, RuleId::EventRecordMixed},
                                {flag == 1, RuleId::CaptureOnly}});
  if (!agree(fmt::format("aclrtRecordEventWithFlag({})", flag), wanted,
             aclrtRecordEventWithFlag(pointer(handle), stream_, flag)))
    return false;
  if (lives && flag <= 1 && !found->second) found->second = flag;  // also when it fails
  return true;
}

bool ObjectPlayer::read_options() {
  for (size_t i = 0; i < options_.size(); ++i)
    if (aclrtGetSysParamOpt(static_cast<aclSysParamOpt>(i), &options_[i]) != 0) return false;
  for (size_t i = 0; i < context_options_.size(); ++i) {
    int64_t value = 0;
    const bool is_set = aclrtCtxGetSysParamOpt(static_cast<aclSysParamOpt>(i), &value) == 0;
    context_options_[i] = is_set ? std::optional(value) : std::nullopt;
  }
  return true;
}

bool ObjectPlayer::options(Choices& choices) {
  const uint32_t option = choices.below(5);
  const auto opt = static_cast<aclSysParamOpt>(option);
  const int64_t value = static_cast<int64_t>(choices.below(6)) - 1;
  const bool bad_value = value < 0 || value > (option == ACL_OPT_DETERMINISTIC ? 3 : 1);
  const bool of_context = choices.one_in(2);
  const bool unknown = option >= (of_context ? context_options_.size() : options_.size());
  if (choices.one_in(2)) {
    const auto wanted = first_of({{unknown, RuleId::ArgEnum}, {bad_value, RuleId::OptionValue}});
    if (!agree(fmt::format("aclrt{}SetSysParamOpt({}, {})", of_context ? "Ctx" : "", option, value), wanted,
               of_context ? aclrtCtxSetSysParamOpt(opt, value) : aclrtSetSysParamOpt(opt, value)))
      return false;
    if (!wanted && of_context) context_options_[option] = value;
    if (!wanted && !of_context) options_[option] = value;
    return true;
  }
  int64_t told = 0;
  const auto wanted = first_of({{unknown, RuleId::ArgEnum},
                                {of_context && !unknown && !context_options_[option], RuleId::OptionUnset}});
  if (!agree(fmt::format("aclrt{}GetSysParamOpt({})", of_context ? "Ctx" : "", option), wanted,
             of_context ? aclrtCtxGetSysParamOpt(opt, &told) : aclrtGetSysParamOpt(opt, &told)))
    return false;
  return wanted || told == (of_context ? *context_options_[option] : options_[option]) ||
         differ("another value");
}

bool ObjectPlayer::count_create(Choices& choices) {
  if (counts_.size() > 8) return true;
  const uint64_t flag = choices.one_in(8) ? 1 : 0;
  aclrtCntNotify made = nullptr;
  const auto wanted = first_of({{flag != 0, RuleId::NotifyFlags}});
  if (!agree("aclrtCntNotifyCreate", wanted, aclrtCntNotifyCreate(&made, flag))) return false;
  return wanted || counts_.emplace(number(made), 0).second || differ("a handle came twice");
}

bool ObjectPlayer::count_use(Choices& choices) {
  const uint64_t handle = some_key(counts_, gone_count_, choices);
  const auto found = counts_.find(handle);
  const auto unknown =
      first_of({{handle == 0, RuleId::ArgNull}, {found == counts_.end(), RuleId::NotifyHandle}});
  const uint32_t value = choices.below(16);
  switch (choices.below(4)) {
    case 0: {
      const int mode = choices.below(6);
      aclrtCntNotifyRecordInfo info{static_cast<aclrtCntNotifyRecordMode>(mode), value};
      const auto wanted = unknown ? unknown : first_of({{mode == 3 || mode == 5, RuleId::NotifyMode}});
      if (!agree(fmt::format("aclrtCntNotifyRecord({}, {})", mode, value), wanted,
                 aclrtCntNotifyRecord(pointer(handle), stream_, &info)))
        return false;
      if (wanted) return true;
      uint32_t& count = found->second;
      count = mode == 0 ? value : mode == 1 ? count + value : mode == 2 ? count | value : count & value;
      return true;
    }
    case 1: {  // waits only for what is so
      const int mode = choices.below(6);
      const uint32_t count = unknown ? 0 : found->second;
      const bool is_so = mode == 0   ? count < value
                         : mode == 1 ? count == value
                         : mode == 2 ? count > value
                         : mode == 3 ? count >= value
                                     : (count & value) == value;
      if (!unknown && mode < 5 && !is_so) return true;
      aclrtCntNotifyWaitInfo info{};
      info.mode = static_cast<aclrtCntNotifyWaitMode>(mode);
      info.value = value;
      info.isClear = static_cast<uint8_t>(choices.below(2));
      const auto wanted = unknown ? unknown : first_of({{mode > 4, RuleId::NotifyMode}});
      if (!agree(fmt::format("aclrtCntNotifyWaitWithTimeout({}, {})", mode, value), wanted,
                 aclrtCntNotifyWaitWithTimeout(pointer(handle), stream_, &info)))
        return false;
      if (wanted) return true;
      if (info.isClear != 0) found->second = 0;
      return agree("aclrtSynchronizeStream", std::nullopt, aclrtSynchronizeStreamWithTimeout(stream_, 60000));
    }
    case 2:
      if (!agree("aclrtCntNotifyReset", unknown, aclrtCntNotifyReset(pointer(handle), stream_))) return false;
      if (!unknown) found->second = 0;
      return true;
    default:
      if (choices.one_in(3)) {
        if (!agree("aclrtSynchronizeStream", std::nullopt, aclrtSynchronizeStream(stream_))) return false;
        if (!agree("aclrtCntNotifyDestroy", unknown, aclrtCntNotifyDestroy(pointer(handle)))) return false;
        if (counts_.erase(handle) != 0) gone_count_ = handle;
        return true;
      }
      uint32_t id = 0;
      return agree("aclrtCntNotifyGetId", unknown, aclrtCntNotifyGetId(pointer(handle), &id));
  }
}

}  // namespace plat::test
