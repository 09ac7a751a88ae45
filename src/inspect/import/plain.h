// SPDX-License-Identifier: Apache-2.0
// Plain data as other tools write it: numbers, texts, lists and dictionaries, from a pickle or from JSON.
//
// Of a pickle only the handful of opcodes that plain data needs are read; everything that could call or
// construct something is refused.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plat::inspect {

struct Value {
  enum Kind { kOther, kNumber, kText, kList, kDict } kind = kOther;
  int64_t number = 0;
  std::string text;
  std::vector<Value*> items;             // of a list
  std::map<std::string, Value*> fields;  // of a dictionary, by text keys

  // nullptr if there is none.
  const Value* find(const char* key) const {
    const auto found = fields.find(key);
    return found == fields.end() ? nullptr : found->second;
  }
  uint64_t number_of(const char* key) const {
    const Value* const value = find(key);
    return value != nullptr ? static_cast<uint64_t>(value->number) : 0;
  }
  std::string text_of(const char* key) const {
    const Value* const value = find(key);
    return value != nullptr ? value->text : "";
  }
};

// All there are, in no tree: lists in lists in lists must not end in as many destructors, one inside the
// other.
using Values = std::deque<Value>;

// The outermost value. nullptr, with the reason, if there is none.
const Value* read_pickle(std::string_view bytes, Values& values, std::string& why);
const Value* read_json(const std::string& text, Values& values, std::string& why);

}  // namespace plat::inspect
