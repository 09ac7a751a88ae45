// SPDX-License-Identifier: Apache-2.0
// Text: sizes are read back as they were written, and a JSON string is always one, whatever bytes go in.
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/text.h"

using namespace plat;

namespace {

void require(bool kept) {
  if (!kept) std::abort();
}

// Walks a JSON string literal as its grammar has it; true when all of `text` is one.
bool is_json_string(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return false;
  text = text.substr(1, text.size() - 2);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == '"') return false;
    if (c != '\\') continue;
    if (++i == text.size()) return false;
    if (text[i] != 'u') {
      if (std::string_view("\"\\/bfnrt").find(text[i]) == std::string_view::npos) return false;
      continue;
    }
    for (int digit = 0; digit < 4; ++digit)
      if (++i == text.size() || !std::isxdigit(static_cast<unsigned char>(text[i]))) return false;
  }
  return true;
}

// The plain bits: every byte is ASCII, or belongs to a sequence of the length that its first byte says.
bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80       ? 1
                          : lead >> 5 == 6  ? 2
                          : lead >> 4 == 14 ? 3
                          : lead >> 3 == 30 ? 4
                                            : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    i += length;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string json = json_string(text);
  require(is_json_string(json));
  require(is_utf8(json));
  if (const auto bytes = parse_bytes(text)) {
    require(parse_bytes(std::to_string(*bytes)) == bytes);
    require(!format_bytes(*bytes).empty());
  }
  if (const auto number = parse_number(text)) require(parse_bytes(text) == number);
  const std::string_view trimmed = trim(text);
  require(trim(trimmed) == trimmed);
  return 0;
}
