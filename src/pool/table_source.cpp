// SPDX-License-Identifier: Apache-2.0
// plat_pool_create_over: a source that is a table of operations.
#include <fmt/format.h>
#include <plat/pool_source.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "pool/guarded.h"
#include "pool/router.h"

namespace plat::pool {

namespace {

// The device of numbers and functions.
struct Table {
  plat_pool_source_ops ops;
  void* user;
};

// An event of the pool's is one of the source's, once it is recorded.
class TableEvents final : public Events {
 public:
  explicit TableEvents(const Table& table) : table_(table) {}
  void* create() override { return new Recorded{}; }
  void destroy(void* event) override {
    drop(*static_cast<Recorded*>(event));
    delete static_cast<Recorded*>(event);
  }
  bool record(void* event, plat_stream stream) override {
    auto& recorded = *static_cast<Recorded*>(event);
    drop(recorded);
    return table_.ops.record_event == nullptr ||
           tsan::watched(table_.ops.record_event, table_.user, stream, &recorded.event) == PLAT_POOL_OK;
  }
  bool has_passed(void* event) override { return ask(event, 0); }
  bool wait(void* event) override { return ask(event, 1); }
  StreamState state(plat_stream stream) override {
    if (table_.ops.stream_state == nullptr) return StreamState::kIdle;
    switch (tsan::watched(table_.ops.stream_state, table_.user, stream)) {
      case PLAT_POOL_STREAM_IDLE:
        return StreamState::kIdle;
      case PLAT_POOL_STREAM_BUSY:
        return StreamState::kBusy;
      case PLAT_POOL_STREAM_GONE:
        return StreamState::kGone;
      default:
        return StreamState::kUnknown;
    }
  }
  bool wait_for_stream(plat_stream stream) override {
    return state(stream) == StreamState::kGone || table_.ops.wait_for_stream == nullptr ||
           tsan::watched(table_.ops.wait_for_stream, table_.user, stream) == PLAT_POOL_OK;
  }
  // No stream of a table can be made to wait for another.
  bool make_wait(plat_stream, void*) override { return table_.ops.stream_state == nullptr; }

 private:
  struct Recorded {
    void* event = nullptr;
  };
  void drop(Recorded& recorded) const {
    if (recorded.event != nullptr) tsan::watched(table_.ops.destroy_event, table_.user, recorded.event);
    recorded.event = nullptr;
  }
  bool ask(void* event, int wait) const {
    void* const recorded = static_cast<Recorded*>(event)->event;
    return table_.ops.event_state == nullptr ||
           tsan::watched(table_.ops.event_state, table_.user, recorded, wait) == PLAT_POOL_STREAM_IDLE;
  }
  const Table& table_;
};

class TableSource final : public Source {
 public:
  TableSource(const plat_pool_source_ops& ops, void* user, uint32_t tail)
      : table_{ops, user}, table_events_(table_) {
    device_ = -1;
    tail_bytes_ = tail;
    if (ops.largest_alignment != 0) largest_alignment_ = ops.largest_alignment;
  }
  ~TableSource() override {
    if (table_.ops.finish != nullptr && opened_) tsan::watched(table_.ops.finish, table_.user);
  }
  void open() { opened_ = true; }
  bool is_of_a_device() const override { return false; }
  bool has_pages() const override { return table_.ops.map_page != nullptr; }
  Outcome reserve(uint64_t bytes, void** base) override {
    return tell("reserve", tsan::watched(table_.ops.reserve, table_.user, bytes, base));
  }
  bool unreserve(void* base) override {
    return tell("unreserve", tsan::watched(table_.ops.unreserve, table_.user, base)) == Outcome::kDone;
  }
  Outcome create_page(void** page) override {
    return tell("create_page", tsan::watched(table_.ops.create_page, table_.user, page));
  }
  bool destroy_page(void* page) override {
    return tell("destroy_page", tsan::watched(table_.ops.destroy_page, table_.user, page)) == Outcome::kDone;
  }
  Outcome map_page(void* address, void* page) override {
    return tell("map_page", tsan::watched(table_.ops.map_page, table_.user, address, page));
  }
  Outcome unmap_page(void* address) override {
    return tell("unmap_page", tsan::watched(table_.ops.unmap_page, table_.user, address));
  }
  Outcome create_block(uint64_t bytes, void** base) override {
    return tell("create_block", tsan::watched(table_.ops.create_block, table_.user, bytes, base));
  }
  bool destroy_block(void* base) override {
    return tell("destroy_block", tsan::watched(table_.ops.destroy_block, table_.user, base)) ==
           Outcome::kDone;
  }
  uint64_t total_bytes() const override { return table_.ops.total_bytes; }
  Events& events() override { return table_events_; }

 private:
  Outcome tell(const char* operation, plat_pool_status status) const {
    if (status == PLAT_POOL_OK) return Outcome::kDone;
    const char* const why =
        table_.ops.last_error != nullptr ? tsan::watched(table_.ops.last_error, table_.user) : nullptr;
    error() = fmt::format("{} of the source answered \"{}\"{}{}", operation, plat_pool_status_name(status),
                          why != nullptr ? ": " : "", why != nullptr ? why : "");
    return status == PLAT_POOL_NO_MEMORY ? Outcome::kNoMemory : Outcome::kFailed;
  }
  const Table table_;
  TableEvents table_events_;
  bool opened_ = false;
};

bool all_or_none(std::initializer_list<bool> given) {
  size_t count = 0;
  for (const bool one : given) count += one;
  return count == 0 || count == given.size();
}

// What is wrong with a table; empty when nothing is.
std::string wrong_table(const plat_pool_source_ops& ops) {
  const bool pages =
      ops.reserve || ops.unreserve || ops.create_page || ops.destroy_page || ops.map_page || ops.unmap_page;
  const bool blocks = ops.create_block || ops.destroy_block;
  if (pages == blocks) return "a source has the operations of pages or those of blocks";
  if (!all_or_none({ops.reserve != nullptr, ops.unreserve != nullptr, ops.create_page != nullptr,
                    ops.destroy_page != nullptr, ops.map_page != nullptr, ops.unmap_page != nullptr}))
    return "of the six operations of pages one is missing";
  if (!all_or_none({ops.create_block != nullptr, ops.destroy_block != nullptr}))
    return "of the two operations of blocks one is missing";
  if (!all_or_none({ops.stream_state != nullptr, ops.wait_for_stream != nullptr, ops.record_event != nullptr,
                    ops.event_state != nullptr, ops.destroy_event != nullptr}))
    return "of the five operations of streams one is missing";
  if ((ops.largest_alignment & (ops.largest_alignment - 1)) != 0 || ops.largest_alignment > kPageBytes ||
      (ops.largest_alignment != 0 && ops.largest_alignment < 64))
    return fmt::format("largest_alignment is {}; it is a power of two between 64 and 2 MiB, or 0",
                       ops.largest_alignment);
  return {};
}

}  // namespace

}  // namespace plat::pool

using namespace plat::pool;

extern "C" plat_pool_status plat_pool_create_over(const plat_pool_source_ops* ops, void* user,
                                                  const plat_pool_options* options, plat_pool** pool) {
  if (ops == nullptr || pool == nullptr)
    return report(PLAT_POOL_INVALID, "plat_pool_create_over: an argument is NULL");
  *pool = nullptr;
  plat_pool_source_ops known{};
  if (ops->struct_size <= sizeof(known.struct_size) || ops->struct_size > sizeof known)
    return report(PLAT_POOL_INVALID,
                  "plat_pool_create_over: struct_size is not that of plat_pool_source_ops; begin with "
                  "PLAT_POOL_SOURCE_OPS_INIT");
  std::memcpy(&known, ops, ops->struct_size);
  return guarded([&] {
    if (const std::string why = wrong_table(known); !why.empty())
      return report(PLAT_POOL_INVALID, "plat_pool_create_over: " + why);
    plat_pool_options chosen;
    if (const auto status = settle_options("plat_pool_create_over", options, &chosen); status != PLAT_POOL_OK)
      return status;
    if (chosen.whole_pages != 0)
      return report(PLAT_POOL_INVALID,
                    "plat_pool_create_over: whole_pages is for memory of the device alone");
    chosen.source = known.map_page != nullptr ? PLAT_POOL_SOURCE_VMM : PLAT_POOL_SOURCE_MALLOC;
    auto source = std::make_unique<TableSource>(
        known, user, chosen.tail_bytes >= 0 ? static_cast<uint32_t>(chosen.tail_bytes) : 32);
    TableSource& made = *source;
    const auto status = Router::create(chosen, std::move(source), pool);
    if (status == PLAT_POOL_OK) made.open();
    return status;
  });
}
