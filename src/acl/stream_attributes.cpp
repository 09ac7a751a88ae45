// SPDX-License-Identifier: Apache-2.0
// Attributes of streams.
#include "acl/acl_rt_stream.h"
#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::stream::Stream;
using plat::stream::StreamId;

namespace {

// The stream is looked at before the type: a handle that is no stream's comes first of all.
Result<StreamId> want_attribute(const Runtime& runtime, aclrtStream stream, aclrtStreamAttr type,
                                const void* value) {
  PLAT_TRY(want(value, "value"));
  const auto id = stream::id_of<StreamId>(stream);
  if (id.value != 0) PLAT_TRY(runtime.streams.any_stream(id));
  const int number = static_cast<int>(type);
  if (number < ACL_STREAM_ATTR_FAILURE_MODE || number > ACL_STREAM_ATTR_PRIORITY)
    return fail(RuleId::StreamAttributeType, "stmAttrType", "stmAttrType is {}", number);
  return id;
}

// Calls that mean the default stream say so when there is none.
Result<> want_default(const Runtime& runtime, StreamId id) {
  if (id.value != 0 || runtime.streams.contexts().current_id()) return {};
  return fail(RuleId::StreamNull, "stream", "stream is null, and the thread has no context");
}

Result<bool> want_switch(uint32_t value, const char* field) {
  if (value <= 1) return value == 1;
  return fail(RuleId::StreamAttributeValue, "value", "{} is {}", field, value);
}

Result<std::shared_ptr<Stream>> with_priority(const Runtime& runtime, StreamId id) {
  if (id.value == 0) return fail(RuleId::StreamNull, "stream", "stream is null");
  PLAT_ASSIGN(found, runtime.streams.any_stream(id));
  PLAT_TRY(runtime.streams.contexts().current_id());
  if (!runtime.node.product().hardware_scheduler)
    return fail(RuleId::ProductSupport, "stmAttrType", "{} keeps no priority as an attribute",
                runtime.node.product().soc_name);
  return found;
}

Result<> set(Runtime& runtime, StreamId id, aclrtStreamAttr type, const aclrtStreamAttrValue& value) {
  const bool has_switches = runtime.node.product().hardware_scheduler;
  switch (type) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
      PLAT_TRY(want_default(runtime, id));
      return runtime.streams.set_failure_mode(id, value.failureMode);
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK: {
      PLAT_ASSIGN(on, want_switch(value.overflowSwitch, "overflowSwitch"));
      if (!has_switches) return {};
      PLAT_ASSIGN(found, runtime.streams.find_stream(id));
      found->settings().watch_overflow(on);
      return {};
    }
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG: {
      if (!has_switches) return {};
      PLAT_ASSIGN(found, runtime.streams.find_stream(id));
      found->settings().set_tag(value.userCustomTag);
      return {};
    }
    case ACL_STREAM_ATTR_CACHE_OP_INFO: {
      PLAT_ASSIGN(on, want_switch(value.cacheOpInfoSwitch, "cacheOpInfoSwitch"));
      PLAT_TRY(want_default(runtime, id));
      PLAT_ASSIGN(found, runtime.streams.any_stream(id));
      found->settings().keep_operator_info(on);
      return {};
    }
    case ACL_STREAM_ATTR_PRIORITY: {
      PLAT_ASSIGN(found, with_priority(runtime, id));
      if (found->traits().is_default || (found->traits().flags & ACL_STREAM_CPU_SCHEDULE) != 0)
        return fail(RuleId::StreamPriorityFixed, "stream", "it is {}",
                    found->traits().is_default ? "a default stream" : "fed by the AI CPU");
      found->settings().set_priority(std::min(value.streamPriority, stream::kPriorityLowest));
      return {};
    }
  }
  return {};
}

Result<> get(Runtime& runtime, StreamId id, aclrtStreamAttr type, aclrtStreamAttrValue& value) {
  const bool has_switches = runtime.node.product().hardware_scheduler;
  switch (type) {
    case ACL_STREAM_ATTR_FAILURE_MODE: {
      PLAT_TRY(want_default(runtime, id));
      PLAT_ASSIGN(stops, runtime.streams.stops_on_failure(id));
      value.failureMode = stops ? 1 : 0;
      return {};
    }
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK: {
      PLAT_ASSIGN(found, runtime.streams.find_stream(id));
      value.overflowSwitch = !has_switches || found->settings().watches_overflow() ? 1 : 0;
      return {};
    }
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG: {
      if (!has_switches) return {};
      PLAT_ASSIGN(found, runtime.streams.find_stream(id));
      value.userCustomTag = found->settings().tag();
      return {};
    }
    case ACL_STREAM_ATTR_CACHE_OP_INFO: {
      PLAT_TRY(want_default(runtime, id));
      PLAT_ASSIGN(found, runtime.streams.any_stream(id));
      value.cacheOpInfoSwitch = found->settings().keeps_operator_info() ? 1 : 0;
      return {};
    }
    case ACL_STREAM_ATTR_PRIORITY: {
      PLAT_ASSIGN(found, with_priority(runtime, id));
      value.streamPriority = found->settings().priority();
      return {};
    }
  }
  return {};
}

}  // namespace

extern "C" {

aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                 aclrtStreamAttrValue* value) {
  return entry("aclrtSetStreamAttribute", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(id, want_attribute(runtime, stream, stmAttrType, value));
    return set(runtime, id, stmAttrType, *value);
  });
}

aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                 aclrtStreamAttrValue* value) {
  return entry("aclrtGetStreamAttribute", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(id, want_attribute(runtime, stream, stmAttrType, value));
    return get(runtime, id, stmAttrType, *value);
  });
}

}  // extern "C"
