// SPDX-License-Identifier: Apache-2.0
// What an event can be, and what each says, from the tables ops.inc and fields.inc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plat::inspect {

enum class Op : uint8_t {
#define PLAT_OP(part, name, ...) name,
#include "inspect/trace/ops.inc"
#undef PLAT_OP
};

// Who takes care of an event when a trace is read.
enum class Part : uint8_t { Trace, Memory, Mapping, Copy, Stream, Mstx, Device };

// How a field stands in the file. All but numbers as the difference to the one before of its kind.
enum class FieldKind : uint8_t { Address, OtherAddress, Stream, Handle, Number, Text, Frames };

enum class Field : uint8_t {
#define PLAT_FIELD(name, kind) name,
#define PLAT_TEXT(name, kind) name,
#include "inspect/trace/fields.inc"
#undef PLAT_TEXT
#undef PLAT_FIELD
};

inline constexpr std::array kFieldKinds = {
#define PLAT_FIELD(name, kind) FieldKind::kind,
#define PLAT_TEXT(name, kind) FieldKind::kind,
#include "inspect/trace/fields.inc"
#undef PLAT_TEXT
#undef PLAT_FIELD
};
constexpr FieldKind kind_of(Field field) { return kFieldKinds[static_cast<size_t>(field)]; }

inline constexpr size_t kFieldsMax = 8;

// The fields of an operation, in the order of the file.
class FieldList {
 public:
  template <class... Fields>
  consteval explicit FieldList(Fields... fields) : fields_{fields...}, count_(sizeof...(fields)) {}

  constexpr size_t size() const { return count_; }
  constexpr Field operator[](size_t index) const { return fields_[index]; }
  constexpr const Field* begin() const { return fields_.data(); }
  constexpr const Field* end() const { return fields_.data() + count_; }

 private:
  std::array<Field, kFieldsMax> fields_;
  size_t count_;
};

struct OpInfo {
  Part part;
  std::string_view name;
  FieldList fields;
};

inline constexpr auto kOps = [] {
  using enum Field;
  return std::array{
#define PLAT_OP(part, name, ...) OpInfo{Part::part, #name, FieldList(__VA_ARGS__)},
#include "inspect/trace/ops.inc"
#undef PLAT_OP
  };
}();
static_assert(kOps.size() < 256, "an op is one byte");

constexpr const OpInfo& info_of(Op op) { return kOps[static_cast<size_t>(op)]; }

constexpr bool is_number(Field field) {
  return kind_of(field) != FieldKind::Text && kind_of(field) != FieldKind::Frames;
}
// How many fields are numbers of one kind or another.
constexpr size_t words_of(Op op) {
  size_t words = 0;
  for (const Field field : info_of(op).fields) words += is_number(field) ? 1 : 0;
  return words;
}
// Differences are taken by kind.
inline constexpr size_t kBases = 4;
constexpr size_t base_of(FieldKind kind) { return static_cast<size_t>(kind); }
static_assert(base_of(FieldKind::Handle) < kBases && base_of(FieldKind::Number) == kBases);
// A text is the last field.
constexpr bool has_text(Op op) {
  const FieldList& fields = info_of(op).fields;
  return fields.size() != 0 && fields[fields.size() - 1] == Field::text;
}

// At which place among the numbers of an operation a field stands.
using FieldPlaces = std::array<std::array<uint8_t, kFieldKinds.size()>, kOps.size()>;
inline constexpr uint8_t kNowhere = 0xff;
inline constexpr FieldPlaces kFieldPlaces = [] {
  FieldPlaces places{};
  for (size_t op = 0; op < kOps.size(); ++op) {
    places[op].fill(kNowhere);
    uint8_t place = 0;
    for (const Field field : kOps[op].fields)
      if (is_number(field)) places[op][static_cast<size_t>(field)] = place++;
  }
  return places;
}();
constexpr bool has_field(Op op, Field field) {
  return kFieldPlaces[static_cast<size_t>(op)][static_cast<size_t>(field)] != kNowhere;
}

// What an event says about the trace, not about the program.
constexpr bool is_about_trace(Op op) { return info_of(op).part == Part::Trace; }

// The direction of a batch is not in its arguments.
inline constexpr uint64_t kBatchDirection = 4;  // ACL_MEMCPY_DEFAULT

}  // namespace plat::inspect
