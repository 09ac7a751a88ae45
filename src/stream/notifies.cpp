// SPDX-License-Identifier: Apache-2.0
// Notifies: creation, records, waits, keys.
#include "stream/notifies.h"

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

Notifies::Notifies(Streams& streams, uint32_t max)
    : streams_(streams), quota_(max, {RuleId::NotifyLimit, "notify", "notifies"}) {}

Result<std::shared_ptr<Notify>> Notifies::find(NotifyId id, bool counting) const {
  auto notify = table_.find(id.value);
  if (notify && notify->is_counting() == counting) return notify;
  return fail(RuleId::NotifyHandle, counting ? "cntNotify" : "notify", "{:#x} is no live {}notify", id.value,
              counting ? "counting " : "");
}

Result<NotifyId> Notifies::create(NotifyUse use) {
  PLAT_ASSIGN(context, streams_.contexts().current());
  PLAT_ASSIGN(notify, quota_.take_for(context->device, [&] {
    return table_.add(
        [&](uint64_t id) { return std::make_shared<Notify>(NotifyId{id}, context->device, use); });
  }));
  if (notify) return notify->id();
  return fail(RuleId::NotifyLimit, "notify", "there are no more notifies in this process");
}

Result<> Notifies::destroy(NotifyId id, bool counting) {
  PLAT_TRY(find(id, counting));
  auto notify = table_.remove(id.value);
  if (!notify) return fail(RuleId::NotifyHandle, "notify", "{:#x} is no live notify", id.value);
  notify->end();
  if (!notify->is_imported()) quota_.give_back(notify->device());
  streams_.scheduler().drive();
  return {};
}

void Notifies::destroy_all() {
  for (auto& notify : table_.all()) (void)destroy(notify->id(), notify->is_counting());
}

Result<uint32_t> Notifies::number(NotifyId id, bool counting) const {
  PLAT_TRY(find(id, counting));
  PLAT_TRY(streams_.contexts().current());
  return table_.slot_number(id.value);
}

Result<> Notifies::record(NotifyId id, bool counting, StreamId stream_id, Notify::Change change,
                          uint32_t value) {
  PLAT_ASSIGN(notify, find(id, counting));
  PLAT_ASSIGN(stream, streams_.find_for_work(stream_id));
  PLAT_TRY(check_host_use(*notify));
  PLAT_TRY(stream->push(NotifyRecordStep{std::move(notify), change, value}));
  streams_.scheduler().drive();
  return {};
}

Result<> Notifies::check(NotifyId id, bool counting) const {
  PLAT_TRY(find(id, counting));
  return {};
}

Result<int> Notifies::device_of(NotifyId id) const {
  PLAT_ASSIGN(notify, find(id, false));
  return notify->device();
}

Result<> Notifies::wait(NotifyId id, bool counting, StreamId stream_id, const Notify::Awaited& awaited,
                        uint32_t timeout_s) {
  PLAT_ASSIGN(notify, find(id, counting));
  PLAT_ASSIGN(stream, streams_.find_for_work(stream_id));
  PLAT_TRY(check_host_use(*notify));
  if (notify->is_imported())
    return fail(RuleId::NotifyWaitHere, "notify", "notify {:#x} was imported", id.value);
  if (notify->device() != stream->traits().device)
    return fail(RuleId::NotifyWaitHere, "stream", "the notify is of device {}, the stream of device {}",
                notify->device(), stream->traits().device);
  if (timeout_s == UINT32_MAX) timeout_s = streams_.events().wait_limit_s();
  PLAT_TRY(stream->push(NotifyWaitStep{std::move(notify), awaited, timeout_s}));
  streams_.scheduler().drive();
  return {};
}

Result<> Notifies::reset(NotifyId id) {
  PLAT_ASSIGN(notify, find(id, false));
  notify->change(Notify::Change::Set, 0);
  return {};
}

Result<std::string> Notifies::export_key(NotifyId id, bool open_to_all) {
  PLAT_ASSIGN(notify, find(id, false));
  if (notify->is_imported())
    return fail(RuleId::NotifyShown, "notify", "notify {:#x} was imported", id.value);
  PLAT_ASSIGN(board, streams_.boards().own());
  PLAT_ASSIGN(place, notify->show(board));
  if (open_to_all) board->open_to_all(place->index());
  return text_of({board->owner(), board->secret(), place->index(), place->generation()});
}

Result<> Notifies::allow(NotifyId id, std::span<const int32_t> pids) {
  PLAT_ASSIGN(notify, find(id, false));
  PLAT_TRY(streams_.contexts().current());
  const auto place = notify->place();
  if (!place || notify->is_imported())
    return fail(RuleId::NotifyShown, "notify", "notify {:#x} was {}", id.value,
                notify->is_imported() ? "imported" : "not exported");
  if (place->board().allow(place->index(), pids)) return {};
  return fail(RuleId::NotifyLimit, "num", "there is no room for {} more processes", pids.size());
}

Result<NotifyId> Notifies::import_key(std::string_view key, int32_t bare_pid) {
  PLAT_TRY(streams_.contexts().current());
  const auto said = parse_key(key);
  if (!said) return fail(RuleId::NotifyKey, "key", "'{:.64}' is no key of a notify", key);
  if (const auto own = streams_.boards().own_if_any(); own && own->secret() == said->secret)
    return fail(RuleId::NotifyKeySelf, "key", "process {} exported it", said->pid);
  const auto board = streams_.boards().of(said->pid, said->secret);
  if (!board) return fail(RuleId::NotifyKey, "key", "process {} has ended, or cannot be seen", said->pid);
  auto place = HeldPlace::hold(board, Board::Kind::Notify, said->index, said->generation);
  if (!place) return fail(RuleId::NotifyKey, "key", "process {} has destroyed the notify", said->pid);
  if (!board->is_allowed(said->index, bare_pid))
    return fail(RuleId::NotifyKeyDenied, "key", "process {} has not named this one ({})", said->pid,
                bare_pid);
  auto notify = table_.add([&](uint64_t id) { return std::make_shared<Notify>(NotifyId{id}, place); });
  if (notify) return notify->id();
  return fail(RuleId::NotifyLimit, "notify", "there are no more notifies in this process");
}

}  // namespace plat::stream
