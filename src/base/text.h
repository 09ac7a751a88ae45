// SPDX-License-Identifier: Apache-2.0
// Text for people and for tools: sizes, and JSON strings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plat {

// 2097152 -> "2 MiB", 1536 -> "1.5 KiB", 7 -> "7 bytes".
std::string format_bytes(uint64_t bytes);

// "64GiB", "64 G", "2m", "4096" -> bytes; nothing when it is no size or overflows.
std::optional<uint64_t> parse_bytes(std::string_view text);

// A decimal number that fills the whole text; nothing otherwise.
std::optional<uint64_t> parse_number(std::string_view text);

// The text as a JSON string literal, quotes included. Bytes that are not UTF-8 come out as U+FFFD.
std::string json_string(std::string_view text);

// How many letters must be put in, taken out or exchanged to make one text of the other.
size_t edit_distance(std::string_view one, std::string_view other);
// The text as it can be shown on a terminal: control characters, and bytes that are not UTF-8, come out as
// \x1b. Names of programs, marks and files may hold anything, also what would move the cursor.
std::string visible(std::string_view text);
// The same for a text of several lines, which stay lines.
std::string visible_lines(std::string_view text);
// The same for JSON: control characters that it lets pass are written as it writes others.
std::string visible_json(std::string_view json);

// With A to Z as a to z.
std::string to_lower(std::string_view text);

std::string_view trim(std::string_view text);

}  // namespace plat
