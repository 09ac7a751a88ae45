// SPDX-License-Identifier: Apache-2.0
#include "fabric/faulty_answer.h"

#include <vector>

#include "os/process.h"
#include "rules/rules.h"

namespace plat::fabric {

using fault::Effect;

namespace {

void sleep_for(std::chrono::microseconds time) {
  constexpr std::chrono::microseconds kLongest = std::chrono::seconds(1);
  for (; time > kLongest; time -= kLongest) os::sleep_microseconds(static_cast<uint32_t>(kLongest.count()));
  os::sleep_microseconds(static_cast<uint32_t>(time.count()));
}

constexpr std::byte kFlipped{0x40};

}  // namespace

std::optional<FaultyAnswer> FaultyAnswer::next(uint32_t server, uint32_t deadline_ms) {
  if (!fault::armed()) return std::nullopt;
  auto what = fault::begin_answer(server);
  if (!what) return std::nullopt;
  return FaultyAnswer(std::move(*what), server, deadline_ms);
}

FaultyAnswer::FaultyAnswer(fault::Disturbance what, uint32_t server, uint32_t deadline_ms)
    : what_(std::move(what)), server_(server), deadline_ms_(deadline_ms) {
  // Whoever waits gives up at the deadline.
  if (what_.delay >= std::chrono::milliseconds(deadline_ms))
    what_.effect = Effect::Drop;
  else
    sleep_for(what_.delay);
}

Error FaultyAnswer::late(RuleId rule) const {
  sleep_for(std::chrono::milliseconds(deadline_ms_));
  return {rule, "", fmt::format("{}: server {} did not answer in {} ms", what_.why, server_, deadline_ms_)};
}

Error FaultyAnswer::broken(RuleId rule, uint64_t done_bytes, uint64_t size_bytes) const {
  return {rule, "",
          fmt::format("{}: the connection to server {} broke after {} of {} bytes", what_.why, server_,
                      done_bytes, size_bytes)};
}

Result<> FaultyAnswer::write(uint64_t size_bytes, const vmm::Remote::Source& source,
                             const Write& made) const {
  const uint64_t half = what_.effect == Effect::Cut ? size_bytes / 2 : size_bytes;
  const vmm::Remote::Source disturbed = [&](std::byte* piece, uint64_t size, uint64_t at) -> Result<> {
    PLAT_TRY(source(piece, size, at));
    if (what_.effect == Effect::Corrupt && at == 0) piece[0] ^= kFlipped;
    return {};
  };
  if (half > 0) PLAT_TRY(made(half, disturbed));
  if (what_.effect == Effect::Cut) return forward(broken(RuleId::FabricGone, half, size_bytes));
  if (what_.effect == Effect::Drop) return forward(late(RuleId::FabricTimeout));
  return {};
}

Result<> FaultyAnswer::read(uint64_t size_bytes, const vmm::Remote::Sink& sink, const Read& made) const {
  if (what_.effect == Effect::Drop) return forward(late(RuleId::FabricTimeout));
  const uint64_t half = what_.effect == Effect::Cut ? size_bytes / 2 : size_bytes;
  if (half > 0)
    PLAT_TRY(made(half, [&](const std::byte* piece, uint64_t size, uint64_t at) -> Result<> {
      if (what_.effect != Effect::Corrupt || at != 0) return sink(piece, size, at);
      std::vector<std::byte> wrong(piece, piece + size);
      wrong[0] ^= kFlipped;
      return sink(wrong.data(), size, at);
    }));
  if (what_.effect == Effect::Cut) return forward(broken(RuleId::FabricGone, half, size_bytes));
  return {};
}

Result<> FaultyAnswer::import(Reply& answer) const {
  if (what_.effect == Effect::Drop) return forward(late(RuleId::FabricSlow));
  if (what_.effect == Effect::Cut) return forward(broken(RuleId::FabricPeer, 0, sizeof answer));
  if (what_.effect == Effect::Corrupt) answer.size_bytes ^= 1;
  return {};
}

}  // namespace plat::fabric
