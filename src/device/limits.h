// SPDX-License-Identifier: Apache-2.0
// Limits that a process sets for its devices: stacks and print buffers of operators, and numbers of cores.
//
// Nothing computes on a software device, so that a limit is checked, kept and told.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "device/config.h"

namespace plat::device {

enum class Limit : uint8_t { SimtStack, SimtWarpStack, SimdStack, SimdPrint, SimtPrint };
inline constexpr size_t kLimits = 5;
enum class Core : uint8_t { Cube, Vector };
inline constexpr size_t kCores = 2;

class Limits {
 public:
  explicit Limits(const Config& config) : config_(config) {}

  Result<> set(Limit limit, uint32_t value);
  Result<uint32_t> get(Limit limit) const;

  // What the device has; what a device may use: as was set, else all of it.
  Result<uint32_t> cores_there(Core core) const;
  Result<uint32_t> cores(uint32_t device, Core core) const;
  // Whether a number of cores can be a limit.
  Result<> check_cores(Core core, uint32_t value) const;
  Result<> set_cores(uint32_t device, Core core, uint32_t value);
  void reset_cores(uint32_t device);

 private:
  Result<> check_support(Limit limit) const;

  const Config& config_;
  mutable std::mutex mutex_;  // guards the two below
  std::array<std::optional<uint32_t>, kLimits> set_;
  std::array<std::array<std::optional<uint32_t>, kCores>, kMaxDevices> cores_;
};

}  // namespace plat::device
