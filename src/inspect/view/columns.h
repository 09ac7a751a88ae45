// SPDX-License-Identifier: Apache-2.0
// Columns of numbers, one behind the other, with a list of where each is.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "inspect/check/formatter.h"

namespace plat::inspect {

class Columns {
 public:
  // One value for each element of a list.
  template <class Number, class List, class Value>
  void add(const char* name, const List& list, Value&& value) {
    list_[name] = {{"type", type_name<Number>()}, {"at", bytes_.size()}, {"count", list.size()}};
    bytes_.reserve(bytes_.size() + list.size() * sizeof(Number) + 8);
    for (const auto& element : list) {
      const auto number = static_cast<Number>(value(element));
      char raw[sizeof number];
      std::memcpy(raw, &number, sizeof number);
      bytes_.append(raw, sizeof raw);
    }
    bytes_.append((8 - bytes_.size() % 8) % 8, '\0');
  }

  const Json& list() const { return list_; }
  const std::string& bytes() const { return bytes_; }

 private:
  template <class Number>
  static const char* type_name() {
    if constexpr (std::is_same_v<Number, uint8_t>) return "u8";
    if constexpr (std::is_same_v<Number, uint16_t>) return "u16";
    if constexpr (std::is_same_v<Number, int16_t>) return "i16";
    if constexpr (std::is_same_v<Number, uint32_t>) return "u32";
    if constexpr (std::is_same_v<Number, double>) return "f64";
  }

  Json list_ = Json::object();
  std::string bytes_;
};

}  // namespace plat::inspect
