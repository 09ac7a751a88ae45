// SPDX-License-Identifier: Apache-2.0
#include "device/limits.h"

#include <algorithm>

#include "base/units.h"

namespace plat::device {

namespace {

constexpr uint32_t kStackStep = 16_KiB;
constexpr uint32_t kStackLeast = 32_KiB;
constexpr uint32_t kStackMost = 192_KiB;
constexpr uint32_t kStackMostWithThreads = 128_KiB;
constexpr uint32_t kPrintMost = 64_MiB;
constexpr uint32_t kPrintStep = 8;

struct Facts {
  const char* name;
  bool of_threads;                  // only where vector cores have threads
  std::optional<uint32_t> initial;  // documented, or nothing
  uint32_t print_least;             // 0: it is a stack
};
constexpr Facts kFacts[kLimits] = {
    {"SIMT stack", true, std::nullopt, 0},     {"SIMT divergent warp stack", true, std::nullopt, 0},
    {"SIMD stack", false, kStackLeast, 0},     {"SIMD print buffer", false, 32_KiB, 1_KiB},
    {"SIMT print buffer", true, 2_MiB, 1_MiB},
};

const Facts& facts_of(Limit limit) { return kFacts[static_cast<size_t>(limit)]; }
const char* name_of(Core core) { return core == Core::Cube ? "cube" : "vector"; }

}  // namespace

Result<> Limits::check_support(Limit limit) const {
  const Product& product = *config_.product;
  if (product.device_services && (product.simt || !facts_of(limit).of_threads)) return {};
  return fail(RuleId::ProductSupport, "limit", "{} has no limit of the {}", product.soc_name,
              facts_of(limit).name);
}

Result<> Limits::set(Limit limit, uint32_t value) {
  PLAT_TRY(check_support(limit));
  const Facts& facts = facts_of(limit);
  const auto wrong = [&](const char* why) {
    return fail(RuleId::DeviceLimitValue, "value", "a {} of {} {}", facts.name, value, why);
  };
  const std::lock_guard lock(mutex_);
  if (facts.print_least > 0) {
    if (value < facts.print_least || value > kPrintMost) return wrong("is outside of its range");
    if (value % kPrintStep != 0) return wrong("is no multiple of 8");
  } else if (limit == Limit::SimdStack) {
    const uint32_t most = config_.product->simt ? kStackMostWithThreads : kStackMost;
    if (value > most) return wrong("is more than the product has");
    value = std::max(kStackLeast, static_cast<uint32_t>(align_up(value, kStackStep)));
  } else {
    const Limit other = limit == Limit::SimtStack ? Limit::SimtWarpStack : Limit::SimtStack;
    if (value == 0 && set_[static_cast<size_t>(other)] == 0U) return wrong("leaves no SIMT stack at all");
  }
  set_[static_cast<size_t>(limit)] = value;
  return {};
}

Result<uint32_t> Limits::get(Limit limit) const {
  PLAT_TRY(check_support(limit));
  const std::lock_guard lock(mutex_);
  if (const auto& set = set_[static_cast<size_t>(limit)]) return *set;
  if (const auto& initial = facts_of(limit).initial) return *initial;
  return fail(RuleId::DeviceNumber, "limit", "the initial size of the {} is documented nowhere",
              facts_of(limit).name);
}

Result<uint32_t> Limits::cores_there(Core core) const {
  const auto& number = core == Core::Cube ? config_.numbers.cube_cores : config_.numbers.vector_cores;
  if (number) return static_cast<uint32_t>(std::min<uint64_t>(*number, UINT32_MAX));
  return fail(RuleId::DeviceNumber, "type", "the number of {} cores of {} is documented nowhere",
              name_of(core), config_.product->soc_name);
}

Result<uint32_t> Limits::cores(uint32_t device, Core core) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto& set = cores_[device][static_cast<size_t>(core)]) return *set;
  }
  return cores_there(core);
}

Result<> Limits::check_cores(Core core, uint32_t value) const {
  PLAT_ASSIGN(most, cores_there(core));
  if (value <= most) return {};
  return fail(RuleId::CoreNumber, "value", "value is {}, and there are {} {} cores", value, most,
              name_of(core));
}

Result<> Limits::set_cores(uint32_t device, Core core, uint32_t value) {
  PLAT_TRY(check_cores(core, value));
  const std::lock_guard lock(mutex_);
  cores_[device][static_cast<size_t>(core)] = value;
  return {};
}

void Limits::reset_cores(uint32_t device) {
  const std::lock_guard lock(mutex_);
  cores_[device] = {};
}

}  // namespace plat::device
