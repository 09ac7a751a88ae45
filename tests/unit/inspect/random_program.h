// SPDX-License-Identifier: Apache-2.0
// Events of a program that does anything: mostly sense, some nonsense, the same ones for the same seed.
#pragma once

#include <array>
#include <random>

#include "inspect/trace/event.h"

namespace plat::inspect::test {

class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : random_(seed) {}

  Event next() {
    Event event;
    do {
      event.op = static_cast<Op>(pick(kOps.size()));
    } while (takes_all_back(event.op) && pick(32) != 0);
    event.number = ++number_;
    event.time_ns = number_ * 10;
    event.thread = 1 + static_cast<uint32_t>(pick(3));
    event.stack = static_cast<uint32_t>(pick(6));
    event.result = pick(10) == 0 ? 107000 : 0;
    event.begins = pick(8) == 0;
    size_t count = 0;
    for (const Field field : info_of(event.op).fields) event.words[count++] = word(kind_of(field));
    event.text = texts()[pick(texts().size())];
    return event;
  }

 private:
  static bool takes_all_back(Op op) {
    return op == Op::aclFinalize || op == Op::aclFinalizeReference || op == Op::aclrtResetDevice ||
           op == Op::aclrtResetDeviceForce || op == Op::mstxReplayBegin || op == Op::mstxDetach;
  }
  // Few of each, so that events meet the things that others made, and those that are gone.
  uint64_t word(FieldKind kind) {
    static constexpr std::array<uint64_t, 8> sizes = {0, 1, 2, 3, 5, 0x400, 0x1000, 0x2000};
    if (kind == FieldKind::Address || kind == FieldKind::OtherAddress)
      return 0x100000 * (1 + pick(3)) + 0x400 * pick(6);
    if (kind == FieldKind::Stream) return pick(4);
    if (kind == FieldKind::Handle) return pick(2) * pick(6);
    return sizes[pick(sizes.size())];
  }
  static const std::array<std::string, 6>& texts() {
    static const std::array<std::string, 6> all = {"",    "pool", "ptaCaching",
                                                   "key", "step", "mstxMemRegionsRegister"};
    return all;
  }
  uint64_t pick(uint64_t count) { return random_() % count; }

  std::mt19937_64 random_;
  uint64_t number_ = 0;
};

}  // namespace plat::inspect::test
