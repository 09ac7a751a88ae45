#include "cli/replay_trace.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/text.h"
#include "cli/replay_snapshot.h"

namespace plat::replay {

namespace {

// Blocks by whatever names the recording gives them; a name may be used again after its free.
class Builder {
 public:
  explicit Builder(Trace& trace) : trace_(trace) {}
  bool allocate(uint64_t name, uint64_t bytes, uint32_t stream) {
    if (!live_.emplace(name, Live{trace_.blocks, bytes}).second) return false;
    trace_.events.push_back(Event{trace_.blocks++, true, bytes, stream});
    now_ += bytes;
    trace_.peak_live_bytes = std::max(trace_.peak_live_bytes, now_);
    return true;
  }
  // Frees of what was allocated before the recording began are left out.
  void release(uint64_t name, uint32_t stream) {
    auto found = live_.find(name);
    if (found == live_.end()) return;
    trace_.events.push_back(Event{found->second.block, false, found->second.bytes, stream});
    now_ -= found->second.bytes;
    live_.erase(found);
  }

 private:
  struct Live {
    uint32_t block;
    uint64_t bytes;
  };
  Trace& trace_;
  std::unordered_map<uint64_t, Live> live_;
  uint64_t now_ = 0;
};

std::string_view next_field(std::string_view& line) {
  const size_t comma = line.find(',');
  std::string_view field = line.substr(0, comma);
  line = comma == std::string_view::npos ? std::string_view{} : line.substr(comma + 1);
  return trim(field);
}

// op,id,size,stream,time
bool parse_csv(std::string_view content, Trace& trace, std::string& why) {
  Builder builder(trace);
  size_t number = 0;
  while (!content.empty()) {
    const size_t end = content.find('\n');
    std::string_view line = content.substr(0, end);
    content = end == std::string_view::npos ? std::string_view{} : content.substr(end + 1);
    ++number;
    if (trim(line).empty() || line.front() == '#') continue;
    const std::string_view op = next_field(line);
    const auto id = parse_number(next_field(line));
    const auto bytes = parse_number(next_field(line));
    const auto stream = parse_number(next_field(line));
    if (!id || !bytes || (op != "a" && op != "f"))
      return why = fmt::format("line {}: no op,id,size,stream,time", number), false;
    const auto on = static_cast<uint32_t>(stream.value_or(0));
    if (op == "f")
      builder.release(*id, on);
    else if (!builder.allocate(*id, std::max<uint64_t>(*bytes, 1), on))
      return why = fmt::format("line {}: block {} is allocated twice", number, *id), false;
  }
  return true;
}

// Thread,Time,Action,Pointer,Size,Stream, as RMM's logging adaptor writes it; lines of earlier log text are
// skipped.
bool parse_rmm(std::string_view content, Trace& trace, std::string& why) {
  Builder builder(trace);
  bool header = false;
  std::unordered_map<std::string, uint32_t> streams;
  while (!content.empty()) {
    const size_t end = content.find('\n');
    std::string_view line = content.substr(0, end);
    content = end == std::string_view::npos ? std::string_view{} : content.substr(end + 1);
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
    const uint32_t on = streams.emplace(stream, static_cast<uint32_t>(streams.size())).first->second;
    if (action == "allocate" && bytes)
      builder.allocate(name, std::max<uint64_t>(*bytes, 1), on);
    else if (action == "free")
      builder.release(name, on);
  }
  if (!header) return why = "no line with the columns of an RMM log", false;
  return true;
}

bool read_file(const std::string& path, std::string& content, std::string& why) {
  gzFile file = gzopen(path.c_str(), "rb");  // reads plain files as they are
  if (file == nullptr) return why = "cannot be opened", false;
  std::vector<char> buffer(1u << 20);
  int got = 0;
  while ((got = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0)
    content.append(buffer.data(), static_cast<size_t>(got));
  const bool whole = got == 0;
  gzclose(file);
  if (!whole) why = "is damaged";
  return whole;
}

}  // namespace

bool parse_trace(const std::string& content, Trace& trace, std::string& why) {
  trace = Trace{};
  bool good = false;
  const char first = content.empty() ? '\0' : content[0];
  if (first == '\x80' || first == '{') {
    Builder builder(trace);
    auto visit = [&](bool allocate, uint64_t address, uint64_t bytes, uint64_t stream) {
      if (allocate)
        builder.allocate(address, std::max<uint64_t>(bytes, 1), static_cast<uint32_t>(stream));
      else
        builder.release(address, static_cast<uint32_t>(stream));
    };
    good = first == '{' ? read_snapshot_json(content, visit, why) : read_snapshot(content, visit, why);
  } else if (content.find("Action") != std::string::npos) {
    good = parse_rmm(content, trace, why);
  } else {
    good = parse_csv(content, trace, why);
  }
  if (good && trace.events.empty()) good = (why = "holds no allocation", false);
  if (!good) trace = Trace{};
  return good;
}

bool read_trace(const std::string& path, Trace& trace, std::string& why) {
  std::string content;
  if (!read_file(path, content, why) || !parse_trace(content, trace, why))
    return why = path + ": " + why, false;
  return true;
}

}  // namespace plat::replay
