// SPDX-License-Identifier: Apache-2.0
// The database of msmemscope: its rows of memory that comes and goes, and its marks. Built where SQLite is.
#include "inspect/import/imported.h"

#ifdef PLAT_WITH_SQLITE

#include <fmt/format.h>
#include <sqlite3.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace plat::inspect {

namespace {

// In the order in which they are asked for; the stacks may be missing.
constexpr const char* kColumns[] = {"ID",        "Event",      "Event Type", "Name", "Timestamp(ns)",
                                    "Thread Id", "Process Id", "Device Id",  "Ptr",  "Attr"};
constexpr const char* kStacks[] = {"Call Stack(Python)", "Call Stack(C)"};
enum Column { kId, kEvent, kType, kName, kTime, kThread, kProcess, kDevice, kPtr, kAttr, kPython, kNative };

class Database {
 public:
  // The file is anybody's: nothing in it may run or be written.
  explicit Database(std::string bytes) : bytes_(std::move(bytes)) {
    constexpr size_t kFormats = 18;  // 2: the file was written with a log beside it, which is not here
    for (size_t i = kFormats; i < kFormats + 2 && i < bytes_.size(); ++i)
      if (bytes_[i] == 2) bytes_[i] = 1;
    sqlite3* opened = nullptr;
    const int code = sqlite3_open(":memory:", &opened);
    handle_.reset(opened);
    check(code);
    for (const int setting : {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_DQS_DML})
      sqlite3_db_config(opened, setting, 0, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    const auto size = static_cast<sqlite3_int64>(bytes_.size());
    check(sqlite3_deserialize(opened, "main", reinterpret_cast<unsigned char*>(bytes_.data()), size, size,
                              SQLITE_DESERIALIZE_READONLY));
  }

  // visit(row) for each.
  template <class Visit>
  void query(const std::string& text, Visit&& visit) {
    sqlite3_stmt* raw = nullptr;
    check(sqlite3_prepare_v2(handle_.get(), text.c_str(), -1, &raw, nullptr));
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, sqlite3_finalize);
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(raw)) == SQLITE_ROW) visit(raw);
    if (code != SQLITE_DONE) check(code);
  }

 private:
  void check(int code) {
    if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(handle_.get()));
  }
  std::string bytes_;  // must outlive the handle
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_{nullptr, sqlite3_close};
};

// How long the file says that it is, in its first hundred bytes.
uint64_t told_size(const std::string& content) {
  constexpr size_t kHeader = 100, kPageBytes = 16, kPages = 28;
  if (content.size() < kHeader) return kHeader;
  const auto byte = [&](size_t at) { return uint64_t{static_cast<uint8_t>(content[at])}; };
  const uint64_t page = byte(kPageBytes) << 8 | byte(kPageBytes + 1);
  const uint64_t pages =
      byte(kPages) << 24 | byte(kPages + 1) << 16 | byte(kPages + 2) << 8 | byte(kPages + 3);
  return (page == 1 ? 65536 : page) * pages;
}

std::string text_of(sqlite3_stmt* row, int column) {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
  return text != nullptr ? text : "";
}

uint64_t number_in(const std::string& text, int base) {
  uint64_t number = 0;
  const char* const start = text.data() + (base == 16 && text.starts_with("0x") ? 2 : 0);
  std::from_chars(start, text.data() + text.size(), number, base);
  return number;
}

// Lines of "function(file:line)"; what looks otherwise is the name of a function.
void add_frames(const std::string& text, std::vector<ImportedFrame>& frames) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty()) continue;
    const size_t open = line.rfind('('), colon = line.rfind(':');
    const bool has_place = line.back() == ')' && open != std::string::npos && colon != std::string::npos &&
                           colon > open && open > 0;
    if (has_place)
      frames.push_back({line.substr(0, open), line.substr(open + 1, colon - open - 1),
                        static_cast<uint32_t>(number_in(line.substr(colon + 1), 10))});
    else
      frames.push_back({line, "", 0});
  }
}

class MemscopeImporter {
 public:
  explicit MemscopeImporter(const std::string& content) : database_(content) {}

  std::optional<Imported> run(std::string& why) {
    const std::string table = table_name();
    if (table.empty()) return why = "is a database without a table memscope_dump", std::nullopt;
    const std::set<std::string> columns = columns_of(table);
    std::string wanted;
    for (const char* const column : kColumns) {
      if (!columns.contains(column))
        return why = fmt::format("its table {} has no '{}'", table, column), std::nullopt;
      wanted += fmt::format("{}\"{}\"", wanted.empty() ? "" : ", ", column);
    }
    for (const char* const column : kStacks)
      wanted += columns.contains(column) ? fmt::format(", \"{}\"", column) : ", ''";
    database_.query(fmt::format("SELECT {} FROM {} ORDER BY \"Timestamp(ns)\", ID", wanted, table),
                    [&](sqlite3_stmt* row) { take(row); });
    return importer_.finish(why);
  }

 private:
  // The newer name wins.
  std::string table_name() {
    std::string found;
    database_.query(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('memscope_dump', 'leaks_dump') "
        "ORDER BY name DESC",
        [&](sqlite3_stmt* row) {
          if (found.empty()) found = text_of(row, 0);
        });
    return found;
  }
  std::set<std::string> columns_of(const std::string& table) {
    std::set<std::string> names;
    database_.query(fmt::format("SELECT name FROM pragma_table_info('{}')", table),
                    [&](sqlite3_stmt* row) { names.insert(text_of(row, 0)); });
    return names;
  }

  void take(sqlite3_stmt* row) {
    const std::string event = text_of(row, kEvent), type = text_of(row, kType);
    const bool allocates = event == "MALLOC";
    const bool is_mark = event == "MSTX" && type == "Mark";
    if (!allocates && event != "FREE" && !is_mark) return;
    if (importer_.result().pid == 0)
      importer_.result().pid = static_cast<uint32_t>(sqlite3_column_int64(row, kProcess));
    Importer::When when{static_cast<uint64_t>(sqlite3_column_int64(row, kTime)),
                        static_cast<uint32_t>(sqlite3_column_int64(row, kThread)), 0};
    if (is_mark) return importer_.mark(unquoted(text_of(row, kName)), when);
    std::vector<ImportedFrame> frames;
    add_frames(text_of(row, kPython), frames);
    add_frames(text_of(row, kNative), frames);
    when.stack = importer_.stack_of(frames);
    const ImportedLife life = life_of(row, type);
    allocates ? importer_.allocate(life, when) : importer_.release(life, when);
  }

  static std::string unquoted(const std::string& text) {
    const bool has_quotes = text.size() >= 2 && text.front() == '"' && text.back() == '"';
    return has_quotes ? text.substr(1, text.size() - 2) : text;
  }

  static ImportedLife life_of(sqlite3_stmt* row, const std::string& type) {
    ImportedLife life;
    const std::string device = text_of(row, kDevice);
    const bool on_device = !device.empty() && device.find_first_not_of("0123456789") == std::string::npos;
    if (type.starts_with("HOST") || !on_device)
      life.held = Held::Host;
    else
      life.held = type == "HAL" ? Held::Taken : Held::Handed;
    life.device = on_device ? static_cast<int32_t>(number_in(device, 10)) : 0;
    life.address = number_in(text_of(row, kPtr), 16);
    life.pool = type;
    const auto attributes = nlohmann::json::parse(text_of(row, kAttr), nullptr, false);
    if (!attributes.is_object()) return life;
    life.size = number_in(attribute(attributes, "size"), 10);
    life.owner = attribute(attributes, "owner");
    return life;
  }
  static std::string attribute(const nlohmann::json& attributes, const char* key) {
    const auto found = attributes.find(key);
    if (found == attributes.end()) return "";
    return found->is_string() ? found->get<std::string>() : found->dump();
  }

  Database database_;
  Importer importer_;
};

}  // namespace

std::optional<Imported> import_memscope(const std::string& content, std::string& why) {
  if (const uint64_t whole = told_size(content); content.size() < whole) {
    why = fmt::format("is a database that is cut off: {} bytes of {}", content.size(), whole);
    return std::nullopt;
  }
  try {
    return MemscopeImporter(content).run(why);
  } catch (const std::runtime_error& problem) {
    why = fmt::format("is a database that cannot be read whole: {}", problem.what());
    return std::nullopt;
  }
}

}  // namespace plat::inspect

#else

namespace plat::inspect {

std::optional<Imported> import_memscope(const std::string&, std::string& why) {
  why = "is a database, and this plat was built without SQLite; install libsqlite3-dev and build it again";
  return std::nullopt;
}

}  // namespace plat::inspect

#endif
