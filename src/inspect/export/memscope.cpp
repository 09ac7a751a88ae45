// SPDX-License-Identifier: Apache-2.0
// The database of msmemscope, which MindStudio Insight opens: one table, a row for each allocation, free,
// access, mark and range. Built where SQLite is.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "inspect/export/export.h"

#ifdef PLAT_WITH_SQLITE

#include <sqlite3.h>

#include "inspect/check/formatter.h"
#include "inspect/export/touched.h"

namespace plat::inspect {

namespace {

constexpr const char* kTable =
    R"sql(CREATE TABLE memscope_dump (ID INTEGER PRIMARY KEY, Event TEXT, "Event Type" TEXT, Name TEXT,
  "Timestamp(ns)" INTEGER, "Process Id" INTEGER, "Thread Id" INTEGER, "Device Id" TEXT, Ptr TEXT, Attr TEXT,
  "Call Stack(Python)" TEXT, "Call Stack(C)" TEXT))sql";
constexpr const char* kInsert = "INSERT INTO memscope_dump VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr const char* kNone = "N/A";
// Memory without an address of its own, such as physical memory that is mapped nowhere, is told apart here.
constexpr uint64_t kElsewhere = uint64_t{1} << 52;

class DatabaseWriter {
 public:
  DatabaseWriter() {
    check(sqlite3_open(":memory:", &handle_));
    run(kTable);
    run("BEGIN");
    check(sqlite3_prepare_v2(handle_, kInsert, -1, &insert_, nullptr));
  }
  ~DatabaseWriter() {
    sqlite3_finalize(insert_);
    sqlite3_close(handle_);
  }
  DatabaseWriter(const DatabaseWriter&) = delete;
  DatabaseWriter& operator=(const DatabaseWriter&) = delete;

  DatabaseWriter& value(int64_t number) {
    check(sqlite3_bind_int64(insert_, ++column_, number));
    return *this;
  }
  DatabaseWriter& value(const std::string& text) {
    check(
        sqlite3_bind_text(insert_, ++column_, text.c_str(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
    return *this;
  }
  void end_row() {
    if (sqlite3_step(insert_) != SQLITE_DONE) check(SQLITE_ERROR);
    check(sqlite3_reset(insert_));
    column_ = 0;
  }
  // The file that it would be.
  std::string bytes() {
    run("COMMIT");
    sqlite3_int64 size = 0;
    const std::unique_ptr<unsigned char, void (*)(void*)> file(sqlite3_serialize(handle_, "main", &size, 0),
                                                               sqlite3_free);
    if (file == nullptr) throw std::runtime_error("SQLite has no memory for the database");
    return {reinterpret_cast<const char*>(file.get()), static_cast<size_t>(size)};
  }

 private:
  void run(const char* statement) { check(sqlite3_exec(handle_, statement, nullptr, nullptr, nullptr)); }
  void check(int code) {
    if (code != SQLITE_OK) throw std::runtime_error(fmt::format("SQLite: {}", sqlite3_errmsg(handle_)));
  }
  sqlite3* handle_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  int column_ = 0;
};

class MemscopeWriter {
 public:
  MemscopeWriter(const History& history, NamedStacks& stacks) : history_(history), stacks_(stacks) {}

  std::string write() {
    // Viewers want a first and a last moment that differ.
    add({0, "SYSTEM", "START_TRACE", kNone, 0, history_.info.pid, kNone, kNone, "{}", ""});
    walk(
        history_, [&](const Step& step) { add_step(step); },
        [&](const Touch& touch, int64_t life) { add_touch(touch, life); });
    for (const Remark& mark : history_.marks)
      add_word(mark.site, "Mark", mark.text, mark.site.time_ns, mark.site.event);
    for (const Span& span : history_.spans) {
      add_word(span.site, "Range_start", span.text, span.site.time_ns, span.site.event);
      if (span.ended) add_word(span.site, "Range_end", span.text, span.end_ns, UINT64_MAX);
    }
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const Row& a, const Row& b) { return a.time_ns < b.time_ns; });
    add({history_.end_ns + 1, "SYSTEM", "STOP_TRACE", kNone, UINT64_MAX, history_.info.pid, kNone, kNone,
         "{}", ""});
    DatabaseWriter database;
    int64_t id = 0;
    for (const Row& row : rows_) {
      database.value(++id).value(row.event).value(row.type).value(row.name);
      database.value(static_cast<int64_t>(start_ns() + row.time_ns))
          .value(history_.info.pid)
          .value(row.thread);
      database.value(row.device)
          .value(row.pointer)
          .value(row.attributes)
          .value(std::string())
          .value(row.stack);
      database.end_row();
    }
    return database.bytes();
  }

 private:
  struct Row {
    uint64_t time_ns;
    std::string event, type, name;
    uint64_t number;  // of the event, for those of one moment
    uint32_t thread;
    std::string device, pointer, attributes, stack;
  };

  void add(Row row) { rows_.push_back(std::move(row)); }
  // Times must be more than 0.
  uint64_t start_ns() const { return std::max<uint64_t>(history_.info.start_realtime_ns, 1); }

  // nullptr: it is no memory that the viewer knows.
  static const char* type_of(const Life& life) {
    if (life.kind == Kind::Region) return "PTA";
    if (takes_device_memory(life.kind) && !life.imported) return "HAL";
    return life.kind == Kind::HostBlock ? "HOST_PINNED" : nullptr;
  }
  std::string pointer_of(uint32_t life) const {
    const uint64_t start = history_.lives[life].start;
    return fmt::format("{:#x}", start != 0 ? start : kElsewhere + (uint64_t{life} << 9));
  }
  static std::string device_of(const Life& life) {
    return life.kind == Kind::HostBlock ? "cpu" : std::to_string(life.device);
  }
  // A path with @ between its parts; its root is the kind of memory.
  std::string owner_of(const Life& life) const {
    std::string path = type_of(life);
    for (std::string part :
         {life.kind == Kind::Region ? history_.texts[life.pool] : std::string(name_of(life.kind)),
          history_.texts[life.label]}) {
      std::replace(part.begin(), part.end(), '@', '_');
      if (!part.empty()) path += "@" + part;
    }
    return path;
  }
  // Every value is a text.
  static std::string attributes(const Json& json) { return to_line(json); }

  std::string stack_of(const Site& site) {
    std::string text;
    for (const uint32_t number : stacks_.of(site)) {
      const NamedFrame& frame = stacks_.frame(number);
      text +=
          frame.line > 0 ? fmt::format("{}({}:{})\n", frame.name, frame.file, frame.line) : frame.name + "\n";
    }
    return text;
  }

  void add_step(const Step& step) {
    const Life& life = history_.lives[step.life];
    const char* const type = type_of(life);
    if (type == nullptr || life.size == 0) return;
    uint64_t& used = used_[{device_of(life), type}];
    used = step.birth ? used + life.size : used - life.size;
    uint64_t& taken = taken_[device_of(life)];
    if (life.divided) taken = step.birth ? taken + life.size : taken - life.size;
    const Site& site = step.birth ? life.born : life.died;
    const uint64_t total = life.kind == Kind::Region ? std::max(taken, used) : used;
    add({site.time_ns, step.birth ? "MALLOC" : "FREE", type, kNone, site.event, site.thread, device_of(life),
         pointer_of(step.life),
         attributes({{"allocation_id", std::to_string(step.life + 1)},
                     {"addr", pointer_of(step.life)},
                     {"size", std::to_string(life.size)},
                     {"owner", owner_of(life)},
                     {"total", std::to_string(total)},
                     {"used", std::to_string(used)}}),
         stack_of(site)});
  }

  void add_touch(const Touch& touch, int64_t index) {
    if (index < 0) return;
    const auto number = static_cast<uint32_t>(index);
    const Life& life = history_.lives[number];
    if (type_of(life) == nullptr) return;
    add({touch.site.time_ns, "ACCESS", touch.write ? "WRITE" : "READ",
         std::string(info_of(touch.site.op).name), touch.site.event, touch.site.thread, device_of(life),
         pointer_of(number),
         attributes({{"allocation_id", std::to_string(number + 1)},
                     {"addr", pointer_of(number)},
                     {"size", std::to_string(touch.size)},
                     {"type", type_of(life)},
                     {"dtype", ""},
                     {"shape", ""}}),
         stack_of(touch.site)});
  }

  void add_word(const Site& site, const char* type, uint32_t text, uint64_t time_ns, uint64_t number) {
    add({time_ns, "MSTX", type, fmt::format("\"{}\"", history_.texts[text]), number, site.thread, kNone,
         kNone, "{}", ""});
  }

  const History& history_;
  NamedStacks& stacks_;
  std::vector<Row> rows_;
  std::map<std::pair<std::string, std::string>, uint64_t> used_;  // by device and kind of memory
  std::map<std::string, uint64_t> taken_;                         // by pools, by device
};

}  // namespace

std::string to_memscope(const History& history, NamedStacks& stacks) {
  return MemscopeWriter(history, stacks).write();
}

}  // namespace plat::inspect

#else

namespace plat::inspect {

std::string to_memscope(const History&, NamedStacks&) {
  throw std::runtime_error(
      "this plat was built without SQLite, so it cannot write memscope databases; install libsqlite3-dev and "
      "build it again");
}

}  // namespace plat::inspect

#endif
