// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>
#include <unordered_map>

#include "inspect/import/plain.h"

namespace plat::inspect {

namespace {

using Ref = Value*;

class PickleReader {
 public:
  PickleReader(std::string_view bytes, Values& values) : bytes_(bytes), values_(values) {}

  Ref read(std::string& why) {
    while (at_ < bytes_.size() && why.empty()) {
      const size_t opcode_at = at_;
      const auto opcode = static_cast<unsigned char>(bytes_[at_++]);
      if (opcode == '.') {
        if (stack_.empty()) why = "the pickle holds nothing";
        return stack_.empty() ? nullptr : stack_.back();
      }
      if (!step(opcode))
        why = fmt::format("byte {}: opcode 0x{:02x} is not plain data, or the file ends early", opcode_at,
                          opcode);
    }
    if (why.empty()) why = "the pickle has no end";
    return nullptr;
  }

 private:
  Ref make(Value::Kind kind) {
    values_.emplace_back().kind = kind;
    return &values_.back();
  }
  Ref make_number(int64_t number) {
    Ref value = make(Value::kNumber);
    value->number = number;
    return value;
  }

  // Containers that outgrow the file are a sign of a crafted one: every element costs at least one byte.
  bool take(size_t count, std::string_view& out) {
    if (count > bytes_.size() - at_) return false;
    out = bytes_.substr(at_, count);
    at_ += count;
    return true;
  }
  bool little(size_t width, uint64_t& out) {
    std::string_view raw;
    if (!take(width, raw)) return false;
    out = 0;
    std::memcpy(&out, raw.data(), width);
    return true;
  }
  bool push_text(size_t width) {
    uint64_t length = 0;
    std::string_view raw;
    if (!little(width, length) || !take(length, raw)) return false;
    Ref value = make(Value::kText);
    value->text.assign(raw);
    stack_.push_back(value);
    return true;
  }
  bool push_number(size_t width, bool is_signed) {
    uint64_t raw = 0;
    if (!little(width, raw)) return false;
    stack_.push_back(make_number(is_signed ? static_cast<int32_t>(raw) : static_cast<int64_t>(raw)));
    return true;
  }
  bool push_long(size_t width) {
    uint64_t length = 0;
    std::string_view raw;
    if (!little(width, length) || !take(length, raw)) return false;
    uint64_t value = 0;
    for (size_t i = 0; i < raw.size() && i < 8; ++i)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(raw[i])) << (8 * i);
    if (!raw.empty() && raw.size() < 8 && (static_cast<unsigned char>(raw.back()) & 0x80) != 0)
      value |= ~uint64_t{0} << (8 * raw.size());
    stack_.push_back(make_number(static_cast<int64_t>(value)));
    return true;
  }
  bool memo_get(size_t width) {
    uint64_t key = 0;
    if (!little(width, key)) return false;
    auto found = memo_.find(key);
    if (found == memo_.end()) return false;
    stack_.push_back(found->second);
    return true;
  }
  bool memo_put(uint64_t key) {
    if (stack_.empty()) return false;
    memo_[key] = stack_.back();
    return true;
  }
  bool pop(Ref& out) {
    if (stack_.size() <= floor()) return false;
    out = stack_.back();
    stack_.pop_back();
    return true;
  }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  bool pop_mark(std::vector<Ref>& out) {
    if (marks_.empty()) return false;
    out.assign(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return true;
  }
  bool set_items(const std::vector<Ref>& items) {
    if (stack_.empty() || stack_.back()->kind != Value::kDict || items.size() % 2 != 0) return false;
    for (size_t i = 0; i < items.size(); i += 2)
      if (items[i]->kind == Value::kText) stack_.back()->fields[items[i]->text] = items[i + 1];
    return true;
  }
  bool tuple(size_t count) {
    Ref value = make(Value::kList);
    if (stack_.size() < floor() + count) return false;
    value->items.assign(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    stack_.push_back(value);
    return true;
  }

  bool step(unsigned char opcode) {
    std::vector<Ref> items;
    Ref one = nullptr;
    Ref two = nullptr;
    uint64_t raw = 0;
    std::string_view skipped;
    switch (opcode) {
      case 0x80:
        return little(1, raw) && raw <= 5;  // protocol
      case 0x95:
        return little(8, raw);  // frame
      case '(':
        return marks_.push_back(stack_.size()), true;  // mark
      case 'N':
        return stack_.push_back(make(Value::kOther)), true;  // None
      case 0x88:
        return stack_.push_back(make_number(1)), true;  // True
      case 0x89:
        return stack_.push_back(make_number(0)), true;  // False
      case 'K':
        return push_number(1, false);
      case 'M':
        return push_number(2, false);
      case 'J':
        return push_number(4, true);
      case 0x8a:
        return push_long(1);
      case 0x8b:
        return push_long(4);
      case 'G':
        return take(8, skipped) &&
               (stack_.push_back(make(Value::kOther)), true);  // a float: nothing here needs one
      case 0x8c:
        return push_text(1);
      case 'X':
        return push_text(4);
      case 0x8d:
        return push_text(8);
      case 'C':
        return push_text(1);
      case 'B':
        return push_text(4);
      case ']':
      case ')':
        return stack_.push_back(make(Value::kList)), true;
      case '}':
        return stack_.push_back(make(Value::kDict)), true;
      case 0x85:
        return tuple(1);
      case 0x86:
        return tuple(2);
      case 0x87:
        return tuple(3);
      case 't':
        return pop_mark(items) &&
               (one = make(Value::kList), one->items = std::move(items), stack_.push_back(one), true);
      case 'a':
        if (!pop(one) || stack_.empty() || stack_.back()->kind != Value::kList) return false;
        return stack_.back()->items.push_back(one), true;
      case 'e':
        if (!pop_mark(items) || stack_.empty() || stack_.back()->kind != Value::kList) return false;
        return stack_.back()->items.insert(stack_.back()->items.end(), items.begin(), items.end()), true;
      case 's':
        return pop(two) && pop(one) && set_items({one, two});
      case 'u':
        return pop_mark(items) && set_items(items);
      case 0x94:
        return memo_put(memo_.size());
      case 'q':
        return little(1, raw) && memo_put(raw);
      case 'r':
        return little(4, raw) && memo_put(raw);
      case 'h':
        return memo_get(1);
      case 'j':
        return memo_get(4);
      case '0':
        return pop(one);
      default:
        return false;  // globals, calls, persistent ids: not in a plain snapshot
    }
  }

  std::string_view bytes_;
  size_t at_ = 0;
  Values& values_;
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, Ref> memo_;
};

}  // namespace

const Value* read_pickle(std::string_view bytes, Values& values, std::string& why) {
  return PickleReader(bytes, values).read(why);
}

}  // namespace plat::inspect
