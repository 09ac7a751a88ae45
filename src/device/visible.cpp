// SPDX-License-Identifier: Apache-2.0
#include "device/visible.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace plat::device {

namespace {

constexpr size_t kCharactersRead = 128;

// Digits and nothing else; blanks, signs and numbers that are no int are not understood.
std::optional<uint32_t> device_of(std::string_view item, uint32_t device_count) {
  int32_t number = 0;
  const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), number);
  if (error != std::errc{} || end != item.data() + item.size() || item.front() == '-') return std::nullopt;
  if (static_cast<uint32_t>(number) >= device_count) return std::nullopt;
  return static_cast<uint32_t>(number);
}

}  // namespace

Visible parse_visible(std::string_view text, uint32_t device_count) {
  Visible visible;
  std::string_view rest = text.substr(0, kCharactersRead);
  while (visible.devices.size() < device_count) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const auto device = device_of(rest.substr(0, comma), device_count);
    if (!device) break;
    if (!visible.devices.empty() && *device <= visible.devices.back()) {
      const char* what = *device == visible.devices.back() ? "is there twice" : "comes after a higher one";
      return {{}, fmt::format("device {} {} in '{}'", *device, what, text)};
    }
    visible.devices.push_back(*device);
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  if (visible.devices.empty()) visible.problem = fmt::format("'{}' begins with no number of a device", text);
  return visible;
}

}  // namespace plat::device
