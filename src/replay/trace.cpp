// SPDX-License-Identifier: Apache-2.0
#include "replay/trace.h"

#include <fmt/format.h>

#include <cstdlib>
#include <new>
#include <string_view>

#include "base/text.h"
#include "inspect/import/imported.h"
#include "inspect/import/open.h"
#include "replay/builder.h"
#include "replay/imported.h"
#include "replay/recording.h"

namespace plat::replay {

namespace {

std::string_view next_field(std::string_view& line) {
  const size_t comma = line.find(',');
  std::string_view field = line.substr(0, comma);
  line = comma == std::string_view::npos ? std::string_view{} : line.substr(comma + 1);
  return trim(field);
}

// Takes the first line out of the content.
std::string_view next_line(std::string_view& content) {
  const size_t end = content.find('\n');
  const std::string_view line = content.substr(0, end);
  content = end == std::string_view::npos ? std::string_view{} : content.substr(end + 1);
  return line;
}

constexpr std::string_view kColumns = "op,id,size,stream,time";

// Lines with these columns; the first may be their names.
bool parse_csv(std::string_view content, Builder& builder, std::string& why) {
  uint32_t number = 0;
  while (!content.empty()) {
    std::string_view line = next_line(content);
    builder.at_line(++number);
    if (trim(line).empty() || line.front() == '#' || (number == 1 && trim(line) == kColumns)) continue;
    const std::string_view op = next_field(line);
    const auto id = parse_number(next_field(line));
    const auto bytes = parse_number(next_field(line));
    const auto stream = parse_number(next_field(line));
    if (!id || !bytes || (op != "a" && op != "f" && op != "u"))
      return why = fmt::format("line {}: no {}", number, kColumns), false;
    const uint64_t on = stream.value_or(0);
    if (op == "f")
      builder.release(*id, on);
    else if (op == "u")
      builder.use(*id, on);
    else if (!builder.allocate(*id, *bytes, on))
      return why = fmt::format("line {}: block {} is allocated twice", number, *id), false;
  }
  return true;
}

// Thread,Time,Action,Pointer,Size,Stream, as RMM's logging adaptor writes it; lines of earlier log text are
// skipped.
bool parse_rmm(std::string_view content, Builder& builder, std::string& why) {
  bool header = false;
  uint32_t number = 0;
  while (!content.empty()) {
    std::string_view line = next_line(content);
    builder.at_line(++number);
    if (line.find("Action") != std::string_view::npos) {
      header = true;
      continue;
    }
    if (!header || trim(line).empty()) continue;
    next_field(line);
    next_field(line);
    const std::string_view action = next_field(line);
    const std::string pointer(next_field(line));
    const auto bytes = parse_number(next_field(line));
    const std::string stream(next_field(line));
    const uint64_t name = std::strtoull(pointer.c_str(), nullptr, 16);
    const uint64_t on = std::strtoull(stream.c_str(), nullptr, 16);
    if (action == "allocate" && bytes)
      builder.allocate(name, *bytes, on);
    else if (action == "free")
      builder.release(name, on);
  }
  if (!header) return why = "no line with the columns of an RMM log", false;
  return true;
}

}  // namespace

bool parse_trace(const std::string& content, Trace& trace, std::string& why) {
  trace = Trace{};
  Builder builder(trace);
  bool good = false;
  if (is_recording(content)) {
    good = read_recording(content, builder, why);
  } else if (inspect::is_importable(content)) {
    good = read_imported(content, builder, why);
  } else if (content.find("Action") != std::string::npos) {
    good = parse_rmm(content, builder, why);
  } else {
    good = parse_csv(content, builder, why);
  }
  if (good && !builder.problem().empty()) good = (why = builder.problem(), false);
  if (good && trace.events.empty()) good = (why = "holds no allocation", false);
  if (!good) trace = Trace{};
  return good;
}

bool read_trace(const std::string& path, Trace& trace, std::string& why, uint64_t unpacked_max) {
  bool good = false;
  try {
    std::string content;
    good = inspect::read_whole_file(path, content, why, unpacked_max) && parse_trace(content, trace, why);
    if (why.starts_with("unpacks to")) why += "; --max-unpacked allows more";
  } catch (const std::bad_alloc&) {
    trace = Trace{};
    why = "is too large for the memory that is left";
  }
  if (!good) why = path + ": " + why;
  return good;
}

}  // namespace plat::replay
