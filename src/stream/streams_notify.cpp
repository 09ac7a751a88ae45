// SPDX-License-Identifier: Apache-2.0
// Notifies: creation, records, waits, keys.
#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "rules/rules.h"
#include "stream/streams.h"

namespace plat::stream {

namespace {

// What a key says: whose board, and where on it. The rest of its characters are zeros.
struct Key {
  int32_t pid;
  uint64_t secret;
  uint32_t index;
  uint32_t generation;
};
constexpr size_t kSaid = 40;

std::string text_of(const Key& key) {
  return fmt::format("{:08x}{:016x}{:08x}{:08x}{:024x}", static_cast<uint32_t>(key.pid), key.secret,
                     key.index, key.generation, 0);
}

template <class T>
bool take_hex(std::string_view& text, T& number) {
  const auto part = text.substr(0, sizeof(T) * 2);
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number, 16);
  text.remove_prefix(part.size());
  return error == std::errc{} && end == part.data() + part.size();
}

std::optional<Key> parse_key(std::string_view text) {
  if (text.size() != kNotifyKeyLength || text.find_first_not_of('0', kSaid) != text.npos) return std::nullopt;
  Key key{};
  uint32_t pid = 0;
  if (!take_hex(text, pid) || !take_hex(text, key.secret) || !take_hex(text, key.index) ||
      !take_hex(text, key.generation))
    return std::nullopt;
  key.pid = static_cast<int32_t>(pid);
  return key;
}

Result<> check_host_use(const Notify& notify) {
  if (!notify.is_device_only()) return {};
  return fail(RuleId::NotifyDeviceOnly, "notify", "notify {:#x} was created with flag 1", notify.id().value);
}

}  // namespace

Result<std::shared_ptr<Notify>> Streams::find_notify(NotifyId id, bool counting) const {
  auto notify = notifies_.find(id.value);
  if (notify && notify->is_counting() == counting) return notify;
  return fail(RuleId::NotifyHandle, counting ? "cntNotify" : "notify", "{:#x} is no live {}notify", id.value,
              counting ? "counting " : "");
}

Result<NotifyId> Streams::create_notify(NotifyUse use) {
  PLAT_ASSIGN(context, current());
  {
    std::lock_guard lock(state_mutex_);
    DeviceState& state = devices_[context->device];
    if (state.notifies >= notifies_max_.load())
      return fail(RuleId::NotifyLimit, "notify", "device {} has {} notifies", context->device,
                  state.notifies);
    ++state.notifies;
  }
  auto notify = notifies_.add(
      [&](uint64_t id) { return std::make_shared<Notify>(NotifyId{id}, context->device, use); });
  if (notify) return notify->id();
  std::lock_guard lock(state_mutex_);
  --devices_[context->device].notifies;
  return fail(RuleId::NotifyLimit, "notify", "there are no more notifies in this process");
}

Result<> Streams::destroy_notify(NotifyId id, bool counting) {
  PLAT_TRY(find_notify(id, counting));
  auto notify = notifies_.remove(id.value);
  if (!notify) return fail(RuleId::NotifyHandle, "notify", "{:#x} is no live notify", id.value);
  notify->end();
  if (!notify->is_imported()) {
    std::lock_guard lock(state_mutex_);
    --devices_[notify->device()].notifies;
  }
  scheduler_->drive();
  return {};
}

Result<uint32_t> Streams::notify_number(NotifyId id, bool counting) const {
  PLAT_TRY(find_notify(id, counting));
  PLAT_TRY(current());
  return notifies_.slot_number(id.value);
}

Result<> Streams::record_notify(NotifyId id, bool counting, StreamId stream_id, Notify::Change change,
                                uint32_t value) {
  PLAT_ASSIGN(notify, find_notify(id, counting));
  PLAT_ASSIGN(stream, find_for_work(stream_id));
  PLAT_TRY(check_host_use(*notify));
  PLAT_TRY(stream->push(NotifyRecordStep{std::move(notify), change, value}));
  scheduler_->drive();
  return {};
}

Result<> Streams::check_notify(NotifyId id, bool counting) const {
  PLAT_TRY(find_notify(id, counting));
  return {};
}

Result<int> Streams::device_of_notify(NotifyId id) const {
  PLAT_ASSIGN(notify, find_notify(id, false));
  return notify->device();
}

Result<> Streams::wait_notify(NotifyId id, bool counting, StreamId stream_id, const Notify::Awaited& awaited,
                              uint32_t timeout_s) {
  PLAT_ASSIGN(notify, find_notify(id, counting));
  PLAT_ASSIGN(stream, find_for_work(stream_id));
  PLAT_TRY(check_host_use(*notify));
  if (notify->is_imported())
    return fail(RuleId::NotifyWaitHere, "notify", "notify {:#x} was imported", id.value);
  if (notify->device() != stream->traits().device)
    return fail(RuleId::NotifyWaitHere, "stream", "the notify is of device {}, the stream of device {}",
                notify->device(), stream->traits().device);
  if (timeout_s == UINT32_MAX) timeout_s = 0;
  PLAT_TRY(stream->push(NotifyWaitStep{std::move(notify), awaited, timeout_s}));
  scheduler_->drive();
  return {};
}

Result<> Streams::reset_notify(NotifyId id) {
  PLAT_ASSIGN(notify, find_notify(id, false));
  notify->change(Notify::Change::Set, 0);
  return {};
}

Result<std::shared_ptr<Board>> Streams::own_board() {
  std::lock_guard lock(board_mutex_);
  if (!board_) {
    PLAT_ASSIGN(made, Board::create());
    board_ = std::move(made);
  }
  return board_;
}

std::shared_ptr<Board> Streams::own_board_if_any() const {
  std::lock_guard lock(board_mutex_);
  return board_;
}

void Streams::abandon_in_child() {
  // The lock may be held by a thread that is not here.
  if (board_) board_->abandon_in_child();
}

std::shared_ptr<Board> Streams::board_of(int32_t pid, uint64_t secret) {
  std::lock_guard lock(board_mutex_);
  for (size_t i = 0; i < foreign_boards_.size();) {
    auto board = foreign_boards_[i].lock();
    if (board && board->owner() == pid && (secret == 0 || board->secret() == secret)) return board;
    if (!board) {
      foreign_boards_.erase(foreign_boards_.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  auto board = Board::open(pid);
  if (!board || (secret != 0 && board->secret() != secret)) return nullptr;
  foreign_boards_.push_back(board);
  return board;
}

Result<std::string> Streams::export_notify(NotifyId id, bool open_to_all) {
  PLAT_ASSIGN(notify, find_notify(id, false));
  if (notify->is_imported())
    return fail(RuleId::NotifyShown, "notify", "notify {:#x} was imported", id.value);
  PLAT_ASSIGN(board, own_board());
  PLAT_ASSIGN(place, notify->show(board));
  if (open_to_all) board->open_to_all(place->index());
  return text_of({board->owner(), board->secret(), place->index(), place->generation()});
}

Result<> Streams::allow_notify(NotifyId id, std::span<const int32_t> pids) {
  PLAT_ASSIGN(notify, find_notify(id, false));
  PLAT_TRY(current());
  const auto place = notify->place();
  if (!place || notify->is_imported())
    return fail(RuleId::NotifyShown, "notify", "notify {:#x} was {}", id.value,
                notify->is_imported() ? "imported" : "not exported");
  if (place->board().allow(place->index(), pids)) return {};
  return fail(RuleId::NotifyLimit, "num", "there is no room for {} more processes", pids.size());
}

Result<NotifyId> Streams::import_notify(std::string_view key, int32_t bare_pid) {
  PLAT_TRY(current());
  const auto said = parse_key(key);
  if (!said) return fail(RuleId::NotifyKey, "key", "'{:.64}' is no key of a notify", key);
  if (const auto own = own_board_if_any(); own && own->secret() == said->secret)
    return fail(RuleId::NotifyKeySelf, "key", "process {} exported it", said->pid);
  const auto board = board_of(said->pid, said->secret);
  if (!board) return fail(RuleId::NotifyKey, "key", "process {} has ended, or cannot be seen", said->pid);
  auto place = HeldPlace::hold(board, Board::Kind::Notify, said->index, said->generation);
  if (!place) return fail(RuleId::NotifyKey, "key", "process {} has destroyed the notify", said->pid);
  if (!board->is_allowed(said->index, bare_pid))
    return fail(RuleId::NotifyKeyDenied, "key", "process {} has not named this one ({})", said->pid,
                bare_pid);
  auto notify = notifies_.add([&](uint64_t id) { return std::make_shared<Notify>(NotifyId{id}, place); });
  if (notify) return notify->id();
  return fail(RuleId::NotifyLimit, "notify", "there are no more notifies in this process");
}

}  // namespace plat::stream
