// SPDX-License-Identifier: Apache-2.0
// Writes the few opcodes of a pickle that dictionaries, lists, texts and numbers need, protocol 2: those that
// every reader of memory snapshots knows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace plat {

class Pickle {
 public:
  Pickle() : bytes_("\x80\x02") {}

  void begin_dict() { bytes_ += "}("; }
  void end_dict() { bytes_ += 'u'; }
  void begin_list() { bytes_ += "]("; }
  void end_list() { bytes_ += 'e'; }
  void empty_list() { bytes_ += ']'; }

  // Texts that come again are written once.
  void text(std::string_view text) {
    const auto found = texts_.find(std::string(text));
    if (found != texts_.end()) return again(found->second);
    bytes_ += 'X';
    little(text.size(), 4);
    bytes_ += text;
    texts_.emplace(text, remember());
  }
  void number(uint64_t value) {
    if (value < 0x80000000) {
      bytes_ += 'J';
      little(value, 4);
    } else {  // nine bytes, so that the highest bit is no sign, if it is set
      const int size = value >> 63 != 0 ? 9 : 8;
      bytes_ += '\x8a';
      bytes_ += static_cast<char>(size);
      little(value, 8);
      if (size == 9) bytes_ += '\0';
    }
  }
  void truth(bool value) { bytes_ += value ? '\x88' : '\x89'; }
  void pair(uint64_t first, uint64_t second) {
    number(first);
    number(second);
    bytes_ += '\x86';
  }

  void field(std::string_view key, uint64_t value) {
    text(key);
    number(value);
  }
  void field(std::string_view key, std::string_view value) {
    text(key);
    text(value);
  }

  // What was written last, under a number by which it can come again.
  uint32_t remember() {
    bytes_ += 'r';
    little(remembered_, 4);
    return remembered_++;
  }
  void again(uint32_t number) {
    bytes_ += 'j';
    little(number, 4);
  }

  std::string finish() {
    bytes_ += '.';
    return std::move(bytes_);
  }

 private:
  void little(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }

  std::string bytes_;
  uint32_t remembered_ = 0;
  std::unordered_map<std::string, uint32_t> texts_;
};

}  // namespace plat
