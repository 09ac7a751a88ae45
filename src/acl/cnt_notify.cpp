// SPDX-License-Identifier: Apache-2.0
// Counting notifies.
#include "acl/acl_rt_notify.h"
#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::stream::Notify;
using plat::stream::NotifyId;
using plat::stream::NotifyUse;
using plat::stream::StreamId;

namespace {

// Whatever else is wrong, products that have none say so first.
Result<> want_counting(const Runtime& runtime) {
  if (runtime.node.product().counting_notifies) return {};
  return fail(RuleId::ProductSupport, "", "{} has no counting notifies", runtime.node.product().soc_name);
}

Result<Notify::Change> change_of(aclrtCntNotifyRecordMode mode) {
  switch (mode) {
    case ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE:
      return Notify::Change::Set;
    case ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE:
      return Notify::Change::Add;
    case ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE:
      return Notify::Change::Or;
    case ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE:
      return Notify::Change::And;
  }
  return fail(RuleId::NotifyMode, "info->mode", "mode is {}", static_cast<int>(mode));
}

Result<Notify::Wish> wish_of(aclrtCntNotifyWaitMode mode) {
  switch (mode) {
    case ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE:
      return Notify::Wish::Less;
    case ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE:
      return Notify::Wish::Equal;
    case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE:
      return Notify::Wish::Greater;
    case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE:
      return Notify::Wish::NotLess;
    case ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE:
      return Notify::Wish::Bits;
  }
  return fail(RuleId::NotifyMode, "info->mode", "mode is {}", static_cast<int>(mode));
}

}  // namespace

extern "C" {

aclError aclrtCntNotifyCreate(aclrtCntNotify* cntNotify, uint64_t flag) {
  return entry("aclrtCntNotifyCreate", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(cntNotify, "cntNotify"));
    PLAT_TRY(want_counting(runtime));
    if (flag != 0) return fail(RuleId::NotifyFlags, "flag", "flag is {:#x}", flag);
    PLAT_ASSIGN(id, runtime.streams.notifies().create(NotifyUse::Counting));
    *cntNotify = handle_of(id);
    return {};
  });
}

aclError aclrtCntNotifyRecord(aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyRecordInfo* info) {
  return entry("aclrtCntNotifyRecord", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(cntNotify, "cntNotify"));
    PLAT_TRY(want(info, "info"));
    PLAT_TRY(want_counting(runtime));
    PLAT_TRY(runtime.streams.notifies().check(stream::id_of<NotifyId>(cntNotify), true));
    PLAT_ASSIGN(change, change_of(info->mode));
    return runtime.streams.notifies().record(stream::id_of<NotifyId>(cntNotify), true,
                                             stream::id_of<StreamId>(stream), change, info->value);
  });
}

aclError aclrtCntNotifyWaitWithTimeout(aclrtCntNotify cntNotify, aclrtStream stream,
                                       aclrtCntNotifyWaitInfo* info) {
  return entry("aclrtCntNotifyWaitWithTimeout", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(cntNotify, "cntNotify"));
    PLAT_TRY(want(info, "info"));
    PLAT_TRY(want_counting(runtime));
    PLAT_TRY(runtime.streams.notifies().check(stream::id_of<NotifyId>(cntNotify), true));
    PLAT_ASSIGN(wish, wish_of(info->mode));
    return runtime.streams.notifies().wait(stream::id_of<NotifyId>(cntNotify), true,
                                           stream::id_of<StreamId>(stream),
                                           {wish, info->isClear != 0, info->value}, info->timeout);
  });
}

aclError aclrtCntNotifyReset(aclrtCntNotify cntNotify, aclrtStream stream) {
  return entry("aclrtCntNotifyReset", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(cntNotify, "cntNotify"));
    PLAT_TRY(want_counting(runtime));
    return runtime.streams.notifies().record(stream::id_of<NotifyId>(cntNotify), true,
                                             stream::id_of<StreamId>(stream), Notify::Change::Set, 0);
  });
}

aclError aclrtCntNotifyGetId(aclrtCntNotify cntNotify, uint32_t* notifyId) {
  return entry("aclrtCntNotifyGetId", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(cntNotify, "cntNotify"));
    PLAT_TRY(want(notifyId, "notifyId"));
    PLAT_TRY(want_counting(runtime));
    PLAT_ASSIGN(number, runtime.streams.notifies().number(stream::id_of<NotifyId>(cntNotify), true));
    *notifyId = number;
    return {};
  });
}

aclError aclrtCntNotifyDestroy(aclrtCntNotify cntNotify) {
  return entry("aclrtCntNotifyDestroy", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(cntNotify, "cntNotify"));
    PLAT_TRY(want_counting(runtime));
    return runtime.streams.notifies().destroy(stream::id_of<NotifyId>(cntNotify), true);
  });
}

}  // extern "C"
