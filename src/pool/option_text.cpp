// SPDX-License-Identifier: Apache-2.0
#include "pool/option_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/text.h"

namespace plat::pool {

namespace {

template <class Value>
struct OptionWord {
  std::string_view text;
  Value value;
};
constexpr std::array kSources = {OptionWord<plat_pool_source>{"device", PLAT_POOL_SOURCE_DEVICE},
                                 OptionWord<plat_pool_source>{"vmm", PLAT_POOL_SOURCE_VMM},
                                 OptionWord<plat_pool_source>{"malloc", PLAT_POOL_SOURCE_MALLOC}};
constexpr std::array kReleases = {OptionWord<plat_pool_release>{"never", PLAT_POOL_RELEASE_NEVER},
                                  OptionWord<plat_pool_release>{"watermark", PLAT_POOL_RELEASE_WATERMARK},
                                  OptionWord<plat_pool_release>{"now", PLAT_POOL_RELEASE_NOW},
                                  OptionWord<plat_pool_release>{"idle", PLAT_POOL_RELEASE_IDLE}};

bool take_bytes(std::string_view text, uint64_t& target) {
  const auto bytes = parse_bytes(text);
  if (bytes) target = *bytes;
  return bytes.has_value();
}

template <class Number>
bool take_number(std::string_view text, Number& target) {
  const auto number = parse_number(text);
  if (!number || *number > std::numeric_limits<Number>::max()) return false;
  target = static_cast<Number>(*number);
  return true;
}

bool take_fraction(std::string_view text, double& target) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  target = value;
  return true;
}

template <class Words, class Value>
bool take_word(const Words& words, std::string_view text, Value& target) {
  for (const auto& word : words)
    if (word.text == text) return target = word.value, true;
  return false;
}

// Nothing when there is no such key; else whether the value was understood.
std::optional<bool> take(std::string_view key, std::string_view value, plat_pool_options& options) {
  if (key == "limit") return take_bytes(value, options.limit_bytes);
  if (key == "host_limit") return take_bytes(value, options.host_limit_bytes);
  if (key == "initial") return take_bytes(value, options.initial_bytes);
  if (key == "chunk") return take_bytes(value, options.chunk_bytes);
  if (key == "source") return take_word(kSources, value, options.source);
  if (key == "release") return take_word(kReleases, value, options.release);
  if (key == "watermark") return take_bytes(value, options.release_watermark);
  if (key == "idle_ms") return take_number(value, options.release_idle_ms);
  if (key == "slack") return take_fraction(value, options.slack);
  if (key == "thread_cache") return take_number(value, options.thread_cache);
  if (key == "reuse_waits") return take_number(value, options.reuse_waits);
  if (key == "max_remaps") return take_number(value, options.max_remaps);
  if (key == "whole_pages") return take_number(value, options.whole_pages);
  return std::nullopt;
}

}  // namespace

plat_pool_status read_options(const char* variable, plat_pool_options& options) {
  const char* const given = secure_getenv(variable);
  if (given == nullptr) return PLAT_POOL_OK;
  plat_pool_options chosen = options;
  for (std::string_view rest = given; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string_view part = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part.empty()) continue;
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view value = equals < part.size() ? trim(part.substr(equals + 1)) : std::string_view();
    const auto taken = take(trim(part.substr(0, equals)), value, chosen);
    if (!taken.value_or(false))
      return report(PLAT_POOL_INVALID,
                    fmt::format("{}: '{}' {}", variable, part,
                                taken ? "has a value that is not understood" : "is no option of the pool"));
  }
  options = chosen;
  return PLAT_POOL_OK;
}

}  // namespace plat::pool
