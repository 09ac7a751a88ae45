// SPDX-License-Identifier: Apache-2.0
#include "stream/options.h"

#include <random>

#include "base/text.h"
#include "device/config.h"
#include "device/report.h"
#include "rules/rules.h"

namespace plat::stream {

Result<Options> parse_mode(std::string_view text) {
  Options options;
  if (text == "pool") return options;
  if (text == "eager") {
    options.mode = Mode::Eager;
    return options;
  }
  constexpr std::string_view kSeeded = "seeded";
  if (text == kSeeded) {
    options.mode = Mode::Seeded;
    options.seed = std::random_device{}();
    return options;
  }
  if (text.starts_with(kSeeded) && text.substr(kSeeded.size()).starts_with(':')) {
    if (auto seed = parse_number(text.substr(kSeeded.size() + 1))) {
      options.mode = Mode::Seeded;
      options.seed = *seed;
      return options;
    }
  }
  return fail(RuleId::StreamMode, "PLAT_STREAMS", "'{}' is none of pool, eager, seeded and seeded:N", text);
}

Setting read_setting() {
  const auto text = device::setting("streams");
  auto options = text ? parse_mode(*text) : Result<Options>{};
  if (!options) return {{}, options.error()};
  if (options->mode == Mode::Seeded)
    report::notice(fmt::format("streams are interleaved by seed {} (PLAT_STREAMS=seeded:{} repeats this run)",
                               options->seed, options->seed));
  return {*options, std::nullopt};
}

}  // namespace plat::stream
