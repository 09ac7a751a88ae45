// SPDX-License-Identifier: Apache-2.0
// Profiling: the calls that clients make at start-up.
#include "acl/acl_prof.h"

#include <atomic>
#include <cstring>
#include <memory>

#include "acl/entry.h"
#include "acl/no_effect.h"
#include "acl/queue.h"
#include "stream/live_set.h"

using namespace plat;
using plat::acl::accept_without_effect;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

// Clients see them as pointers, and nothing is in them.
struct aclprofConfig {};
struct aclprofStepInfo {};

namespace {

constexpr const char* kNothingMeasured = "nothing is measured here, and no file is written";

std::atomic<bool> prof_begun{false};

// Leaked, as all that calls after main may still want.
stream::LiveSet& configs() {
  static auto* live = new stream::LiveSet;
  return *live;
}
stream::LiveSet& step_records() {
  static auto* live = new stream::LiveSet;
  return *live;
}

Result<> want_prof_begun() {
  if (prof_begun) return {};
  return fail(RuleId::ProfBegun, "", "profiling has not begun");
}

Result<> want_config(const aclprofConfig* config) {
  PLAT_TRY(want(config, "profilerConfig"));
  if (configs().has(config)) return {};
  return fail(RuleId::ProfConfig, "profilerConfig", "{} is no live configuration", fmt::ptr(config));
}

Result<> check_devices(Runtime& runtime, const uint32_t* ids, uint32_t count) {
  if (count > 0) PLAT_TRY(want(ids, "deviceIdList"));
  uint64_t seen = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t id = ids[i];
    if (id >= runtime.node.visible_count() || (seen >> id & 1) != 0)
      return fail(RuleId::ProfConfig, fmt::format("deviceIdList[{}]", i), "device {} {}", id,
                  id < runtime.node.visible_count() ? "is named twice" : "is not visible");
    seen |= uint64_t{1} << id;
  }
  return {};
}

// Start and stop differ in nothing that is done here.
Result<> take_config(const aclprofConfig* config) {
  PLAT_TRY(want_config(config));
  PLAT_TRY(want_prof_begun());
  return accept_without_effect(kNothingMeasured);
}

}  // namespace

extern "C" {

aclError aclprofInit(const char* profilerResultPath, size_t length) {
  return entry("aclprofInit", [&](Runtime&) -> Result<> {
    PLAT_TRY(want(profilerResultPath, "profilerResultPath"));
    if (length == 0 || strnlen(profilerResultPath, length + 1) != length)
      return fail(RuleId::ProfPath, "length", "length is {}, that of the path is {}", length,
                  std::strlen(profilerResultPath));
    if (prof_begun.exchange(true)) return fail(RuleId::ProfOnce, "", "aclprofInit was called before");
    return accept_without_effect(kNothingMeasured);
  });
}

aclError aclprofFinalize() {
  return entry("aclprofFinalize", [&](Runtime&) -> Result<> {
    if (!prof_begun.exchange(false)) return want_prof_begun();
    return accept_without_effect(kNothingMeasured);
  });
}

aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums, aclprofAicoreMetrics,
                                   const aclprofAicoreEvents* aicoreEvents, uint64_t dataTypeConfig) {
  aclprofConfig* made = nullptr;
  entry("aclprofCreateConfig", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(check_devices(runtime, deviceIdList, deviceNums));
    if (aicoreEvents != nullptr) return fail(RuleId::ArgReserved, "aicoreEvents", "aicoreEvents is not null");
    PLAT_TRY(plat::acl::want_size(dataTypeConfig, "dataTypeConfig"));
    auto config = std::make_unique<aclprofConfig>();
    configs().add(config.get());
    made = config.release();
    return {};
  });
  return made;
}

aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig) {
  return entry("aclprofDestroyConfig", [&](Runtime&) -> Result<> {
    PLAT_TRY(want_config(profilerConfig));
    if (configs().remove(profilerConfig)) delete profilerConfig;
    return {};
  });
}

aclError aclprofStart(const aclprofConfig* profilerConfig) {
  return entry("aclprofStart", [&](Runtime&) { return take_config(profilerConfig); });
}

aclError aclprofStop(const aclprofConfig* profilerConfig) {
  return entry("aclprofStop", [&](Runtime&) { return take_config(profilerConfig); });
}

aclprofStepInfo* aclprofCreateStepInfo() {
  aclprofStepInfo* made = nullptr;
  entry("aclprofCreateStepInfo", [&](Runtime&) -> Result<> {
    auto record = std::make_unique<aclprofStepInfo>();
    step_records().add(record.get());
    made = record.release();
    return {};
  });
  return made;
}

aclError aclprofGetStepTimestamp(aclprofStepInfo* stepInfo, aclprofStepTag tag, aclrtStream stream) {
  return entry("aclprofGetStepTimestamp", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(stepInfo, "stepInfo"));
    if (!step_records().has(stepInfo))
      return fail(RuleId::ProfConfig, "stepInfo", "{} is no live record", fmt::ptr(stepInfo));
    if (tag != ACL_STEP_START && tag != ACL_STEP_END)
      return fail(RuleId::ArgEnum, "tag", "tag is {}", static_cast<int>(tag));
    PLAT_ASSIGN(queue, plat::acl::queue_of(runtime, stream));
    PLAT_TRY(queue.streams.resolve(queue.stream));
    return accept_without_effect(kNothingMeasured);
  });
}

void aclprofDestroyStepInfo(aclprofStepInfo* stepinfo) {
  entry("aclprofDestroyStepInfo", [&](Runtime&) -> Result<> {
    PLAT_TRY(want(stepinfo, "stepinfo"));
    if (!step_records().remove(stepinfo))
      return fail(RuleId::ProfConfig, "stepinfo", "{} is no live record", fmt::ptr(stepinfo));
    delete stepinfo;
    return {};
  });
}

}  // extern "C"
