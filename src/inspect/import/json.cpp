// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "inspect/import/plain.h"

namespace plat::inspect {

namespace {

// Puts each value where it belongs as it comes, so that depth costs no stack.
class JsonBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonBuilder(Values& values) : values_(values) {}
  const Value* root() const { return root_; }

  bool null() override { return put(Value::kOther), true; }
  bool boolean(bool truth) override { return put(Value::kNumber)->number = truth ? 1 : 0, true; }
  bool number_integer(number_integer_t number) override { return put(Value::kNumber)->number = number, true; }
  bool number_unsigned(number_unsigned_t number) override {
    return put(Value::kNumber)->number = static_cast<int64_t>(number), true;
  }
  bool number_float(number_float_t, const string_t&) override { return put(Value::kOther), true; }
  bool string(string_t& text) override { return put(Value::kText)->text = std::move(text), true; }
  bool binary(binary_t&) override { return put(Value::kOther), true; }
  bool start_object(std::size_t) override { return open_.push_back(put(Value::kDict)), true; }
  bool start_array(std::size_t) override { return open_.push_back(put(Value::kList)), true; }
  bool end_object() override { return open_.pop_back(), true; }
  bool end_array() override { return open_.pop_back(), true; }
  bool key(string_t& text) override { return key_ = std::move(text), true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  Value* put(Value::Kind kind) {
    Value* const value = &values_.emplace_back();
    value->kind = kind;
    if (open_.empty())
      root_ = value;
    else if (open_.back()->kind == Value::kList)
      open_.back()->items.push_back(value);
    else
      open_.back()->fields[key_] = value;
    return value;
  }

  Values& values_;
  std::vector<Value*> open_;
  std::string key_;
  const Value* root_ = nullptr;
};

}  // namespace

const Value* read_json(const std::string& text, Values& values, std::string& why) {
  JsonBuilder builder(values);
  if (nlohmann::json::sax_parse(text, &builder)) return builder.root();
  why = "is no JSON, or ends early";
  return nullptr;
}

}  // namespace plat::inspect
