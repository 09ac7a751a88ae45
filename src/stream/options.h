// SPDX-License-Identifier: Apache-2.0
// How the streams of a process run: what PLAT_STREAMS asks for, and what there can be of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace plat::stream {

enum class Mode : uint8_t { Pool, Eager, Seeded };

struct Options {
  Mode mode = Mode::Pool;
  uint64_t seed = 0;
  unsigned workers = 0;         // 0: as many as the machine has processors, between 2 and 8
  uint32_t streams_max = 1984;  // of one device, default streams included
  uint32_t notifies_max = 8192;
  uint32_t events_max = 65536;  // of one device, but for those of EventKind::Extended
  int device_count = 64;        // ids from 0
};

// The value of PLAT_STREAMS: "pool", "eager", "seeded" or "seeded:N". Without N the seed is drawn.
Result<Options> parse_mode(std::string_view text);

// What the environment asks for. With a problem it is not understood, and no device can be set.
struct Setting {
  Options options;
  std::optional<Error> problem;
};
Setting read_setting();

}  // namespace plat::stream
