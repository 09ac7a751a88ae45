// SPDX-License-Identifier: Apache-2.0
// A fault plan: what shall go wrong, and when. The text of PLAT_FAULT, understood.
//
//   malloc, nth=3, fail=207001            the third allocation fails
//   memcpy, chance=0.01, fail=507899      about one copy in a hundred fails
//   aclrtMemcpyAsync, nth=2, delay=50ms   the stream of the second copy stands still for a while
//   any, nth=100, kill                    the process dies at its hundredth call
//   malloc, nth=2, uce                    the memory of the second allocation has an uncorrectable error
//   capacity, after=64MiB, to=32MiB       once 64 MiB were allocated, the device has 32 MiB
//   server 1, nth=3, cut                  the third answer of server 1 breaks off
//
// Clauses are separated by ';' or a line's end; '#' begins a comment. No plan is a healthy device.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace plat::device::fault {

enum class When : uint8_t { Nth, Every, Chance };
enum class Lasts : uint8_t { Each, Once, Sticky };
enum class Effect : uint8_t { Fail, Kill, Delay, Break, Shrink, Drop, Cut, Corrupt };
inline constexpr uint32_t kAnyServer = UINT32_MAX;

struct Clause {
  std::string text;                // as the user wrote it, for messages
  std::vector<std::string> calls;  // names; one that ends in '*' stands for all that begin like it
  bool of_servers = false;         // not of calls, but of what other servers answer
  uint32_t server = kAnyServer;    // which of them
  When when = When::Nth;
  uint64_t count = 0;  // the n-th, or every k-th
  double chance = 0;
  Lasts lasts = Lasts::Each;
  Effect effect = Effect::Fail;
  int code = 0;
  std::chrono::microseconds delay{};
  uint64_t after_bytes = 0;
  uint64_t to_bytes = 0;

  bool applies_to(std::string_view call) const;
};

using Complain = std::function<void(std::string)>;
// The clauses that make sense; each other one is a complaint.
std::vector<Clause> parse_plan(std::string_view text, const Complain& complain);

// A word that stands for several calls, for documentation and help.
struct Group {
  const char* word;
  std::vector<std::string> calls;
};
const std::vector<Group>& groups();

}  // namespace plat::device::fault

namespace plat {
namespace fault = device::fault;  // short, because every storey says it
}
