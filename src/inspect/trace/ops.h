// SPDX-License-Identifier: Apache-2.0
// What an event can be, by name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plat::inspect {

enum class Op : uint8_t {
#define PLAT_OP(name, fields) name,
#include "inspect/trace/ops.inc"
#undef PLAT_OP
};

struct OpInfo {
  std::string_view name;
  std::string_view fields;
};

inline constexpr std::array kOps = {
#define PLAT_OP(name, fields) OpInfo{#name, fields},
#include "inspect/trace/ops.inc"
#undef PLAT_OP
};
static_assert(kOps.size() < 256, "an op is one byte");

constexpr const OpInfo& info_of(Op op) { return kOps[static_cast<size_t>(op)]; }

inline constexpr size_t kFieldsMax = 8;

// How many fields are numbers of one kind or another.
constexpr size_t words_of(Op op) {
  size_t words = 0;
  for (const char field : info_of(op).fields) words += field != 't' && field != 'p' ? 1 : 0;
  return words;
}
// Differences are taken by kind: a, b, s and h.
inline constexpr size_t kBases = 4;
constexpr size_t base_of(char field) { return field == 'a' ? 0 : field == 'b' ? 1 : field == 's' ? 2 : 3; }
constexpr bool has_text(Op op) { return !info_of(op).fields.empty() && info_of(op).fields.back() == 't'; }

// What an event says about the trace, not about the program.
constexpr bool is_about_trace(Op op) {
  return op == Op::Thread || op == Op::Module || op == Op::Stack || op == Op::Clock || op == Op::Exit ||
         op == Op::MstxOnly;
}

// The direction of a batch is not in its arguments.
inline constexpr uint64_t kBatchKind = 4;  // ACL_MEMCPY_DEFAULT

}  // namespace plat::inspect
