// SPDX-License-Identifier: Apache-2.0
#include "support/object_play.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "acl/acl_data.h"

namespace plat::test {

namespace {

constexpr size_t kObjectsRemembered = 30;
constexpr uint64_t kManagedMost = uint64_t{3} << 40;

}  // namespace

bool ObjectPlayer::differ(std::string how) {
  difference_ = std::move(how);
  return false;
}

std::string ObjectPlayer::history() const {
  std::string text;
  for (const std::string& call : calls_) text += "  " + call + "\n";
  return text;
}

bool ObjectPlayer::agree(std::string call, std::optional<RuleId> wanted, int got) {
  calls_.push_back(fmt::format("{} = {}", call, got));
  if (calls_.size() > kObjectsRemembered) calls_.pop_front();
  const int code = wanted ? rules::get(*wanted).code(machine_ == Machine::A950 ? rules::Generation::V3
                                                                               : rules::Generation::V2)
                          : 0;
  const std::string_view wanted_rule = wanted ? rules::get(*wanted).name : "";
  const std::string_view message = aclGetRecentErrMsg();
  const std::string_view rule = got == 0 ? "" : message.substr(0, message.find(' '));
  if (got == code && rule == wanted_rule) return true;
  return differ(fmt::format("{} returned {} {}, wanted {} {}\n  message: {}", call, got, rule, code,
                            wanted_rule, got == 0 ? "" : message));
}

bool ObjectPlayer::open() {
  if (aclrtSetDevice(0) != 0) return differ("no device");
  if (machine_ == Machine::Rc) return true;
  if (machine_ == Machine::A950) return aclrtCreateStream(&stream_) == 0 || differ("no stream");
  for (void*& block : blocks_) {
    if (aclrtMalloc(&block, kPage - 64, ACL_MEM_MALLOC_HUGE_ONLY) != 0) return differ("no memory");
    if (aclrtMemset(block, sizeof(Words), 0, sizeof(Words)) != 0) return differ("no fill");
  }
  if (!read_options()) return differ("no options");
  return aclrtCreateStream(&stream_) == 0 || differ("no stream");
}

bool ObjectPlayer::take_down() {
  if (snapshot_ != Snapshot::Running && aclrtSnapShotProcessUnlock(getpid(), nullptr) != 0)
    return differ("cannot unlock");
  for (const auto& [start, block] : managed_)
    if (!agree("aclrtFree", std::nullopt, aclrtFree(pointer(start)))) return false;
  for (const auto& [handle, is_set] : notifies_)
    if (!agree("aclrtDestroyNotify", std::nullopt, aclrtDestroyNotify(pointer(handle)))) return false;
  for (const auto& [handle, count] : counts_)
    if (!agree("aclrtCntNotifyDestroy", std::nullopt, aclrtCntNotifyDestroy(pointer(handle)))) return false;
  for (const auto& [handle, flag] : events_)
    if (!agree("aclrtDestroyEvent", std::nullopt, aclrtDestroyEvent(pointer(handle)))) return false;
  for (const auto& [handle, attributes] : streams_)
    if (!agree("aclrtDestroyStream", std::nullopt, aclrtDestroyStream(pointer(handle)))) return false;
  for (const auto& [handle, buffer] : buffers_)
    if (buffer.head == 0 && !agree("aclrtFreeBuf", std::nullopt, aclrtFreeBuf(pointer(handle)))) return false;
  for (void* block : blocks_)
    if (block != nullptr && !agree("aclrtFree", std::nullopt, aclrtFree(block))) return false;
  if (is_peer_ && aclrtSetDevice(1) != 0) return differ("no device 1");
  if (is_peer_ && !agree("aclrtDeviceDisablePeerAccess", std::nullopt, aclrtDeviceDisablePeerAccess(0)))
    return false;
  if (aclrtSetDevice(0) != 0) return differ("no device 0");
  return stream_ == nullptr || agree("aclrtDestroyStream", std::nullopt, aclrtDestroyStream(stream_));
}

bool ObjectPlayer::play(Script script) {
  if (!open()) return false;
  for (; !script.empty(); script = script.subspan(std::min(kRecordBytes, script.size()))) {
    Choices choices(script.first(std::min(kRecordBytes, script.size())));
    if (!step(choices)) return false;
  }
  return take_down();
}

bool ObjectPlayer::step(Choices& choices) {
  using Action = bool (ObjectPlayer::*)(Choices&);
  static constexpr Action kOfA2[] = {
      &ObjectPlayer::managed_allocate,
      &ObjectPlayer::managed_free,
      &ObjectPlayer::managed_advise,
      &ObjectPlayer::managed_ask,
      &ObjectPlayer::managed_touch,
      &ObjectPlayer::reduce,
      &ObjectPlayer::fill,
      &ObjectPlayer::peer_map,
      &ObjectPlayer::notify_create,
      &ObjectPlayer::notify_use,
      &ObjectPlayer::notify_use,
      &ObjectPlayer::snapshot,
      &ObjectPlayer::stream_create,
      &ObjectPlayer::stream_ask,
      &ObjectPlayer::stream_set,
      &ObjectPlayer::stream_cut,
      &ObjectPlayer::event_record,
      &ObjectPlayer::options,
  };
  static constexpr Action kOfRc[] = {&ObjectPlayer::buffer_allocate, &ObjectPlayer::buffer_use,
                                     &ObjectPlayer::buffer_chain};
  static constexpr Action kOf950[] = {&ObjectPlayer::count_create, &ObjectPlayer::count_use,
                                      &ObjectPlayer::count_use, &ObjectPlayer::stream_create,
                                      &ObjectPlayer::stream_ask};
  const Action action = machine_ == Machine::Rc     ? kOfRc[choices.below(std::size(kOfRc))]
                        : machine_ == Machine::A950 ? kOf950[choices.below(std::size(kOf950))]
                                                    : kOfA2[choices.below(std::size(kOfA2))];
  return (this->*action)(choices);
}

// -- Managed memory

uint64_t ObjectPlayer::some_managed(Choices& choices) const {
  return some_key(managed_, freed_managed_, choices);
}

bool ObjectPlayer::managed_allocate(Choices& choices) {
  if (managed_.size() > 8) return true;
  const uint64_t size = choices.one_in(6) ? choices.among<uint64_t>({0, 1, kManagedMost + 1, UINT64_MAX})
                                          : (1 + choices.below(3)) * kPage - choices.among<uint64_t>({0, 5});
  const uint32_t flag = choices.one_in(8) ? choices.among<uint32_t>({0, 2}) : 1;
  void* out = nullptr;
  void** output = choices.one_in(16) ? nullptr : &out;
  const std::optional<RuleId> wanted = output == nullptr     ? std::optional(RuleId::ArgNull)
                                       : flag != 1           ? std::optional(RuleId::ArgEnum)
                                       : size == 0           ? std::optional(RuleId::ManagedArguments)
                                       : size > kManagedMost ? std::optional(RuleId::ManagedRoom)
                                                             : std::nullopt;
  if (!agree(fmt::format("aclrtMemAllocManaged({}, {})", size, flag), wanted,
             aclrtMemAllocManaged(output, size, flag)))
    return false;
  if (wanted) return true;
  const uint64_t whole = (size + kPage - 1) / kPage * kPage;
  for (const auto& [start, block] : managed_)
    if (number(out) < start + block.size && start < number(out) + whole) return differ("two blocks overlap");
  managed_[number(out)] = {whole, 0, std::vector<int32_t>(whole / kPage, -2)};
  return true;
}

bool ObjectPlayer::managed_free(Choices& choices) {
  uint64_t start = some_managed(choices);
  if (start != 0 && choices.one_in(8)) start += kPage / 2;
  const std::optional<RuleId> wanted = start == 0                 ? std::optional(RuleId::ArgNull)
                                       : managed_.contains(start) ? std::nullopt
                                                                  : std::optional(RuleId::FreeUnknown);
  if (!agree(fmt::format("aclrtFree({:#x})", start), wanted, aclrtFree(pointer(start)))) return false;
  if (managed_.erase(start) != 0) freed_managed_ = start;
  return true;
}

std::optional<std::pair<ObjectPlayer::Managed*, size_t>> ObjectPlayer::pages_of(uint64_t start,
                                                                                uint64_t size) {
  for (auto& [first, block] : managed_) {
    if (start - first >= block.size || size > block.size - (start - first)) continue;
    return std::pair(&block, static_cast<size_t>((start - first) / kPage));
  }
  return std::nullopt;
}

bool ObjectPlayer::managed_advise(Choices& choices) {
  uint64_t start = some_managed(choices);
  if (start != 0) start += choices.among<uint64_t>({0, 0, kPage, 4096});
  const uint64_t size = choices.among<uint64_t>({kPage, kPage, 2 * kPage, 1, 0, UINT64_MAX});
  const int advice = choices.one_in(8) ? choices.among({-1, 6}) : choices.among({2, 2, 3});
  aclrtMemManagedLocation place{ACL_MEM_LOCATIONTYPE_DEVICE, choices.among({0, 1, 1, 7, -1})};
  if (choices.one_in(3)) place = {ACL_MEM_LOCATIONTYPE_HOST, 5};
  if (choices.one_in(6)) place = {ACL_MEM_LOCATIONTYPE_INVALID, 0};
  const bool no_device =
      place.type == ACL_MEM_LOCATIONTYPE_DEVICE && static_cast<uint32_t>(place.id) >= 2;  // of two
  const auto pages = pages_of(start, size);
  const std::optional<RuleId> wanted =
      start == 0                                                  ? std::optional(RuleId::ArgNull)
      : size == 0                                                 ? std::optional(RuleId::ArgZeroSize)
      : advice < 0 || advice > 5 || no_device                     ? std::optional(RuleId::ManagedArguments)
      : start % kPage != 0 || size % kPage != 0                   ? std::optional(RuleId::ManagedRange)
      : advice == 2 && place.type == ACL_MEM_LOCATIONTYPE_INVALID ? std::optional(RuleId::ManagedLocation)
      : !pages                                                    ? std::optional(RuleId::ManagedRange)
                                                                  : std::nullopt;
  if (!agree(
          fmt::format("aclrtMemManagedAdvise({:#x}, {}, {}, {}:{})", start, size, advice,
                      static_cast<int>(place.type), place.id),
          wanted,
          aclrtMemManagedAdvise(pointer(start), size, static_cast<aclrtMemManagedAdviseType>(advice), place)))
    return false;
  if (wanted) return true;
  const int32_t to = advice == 3 ? -2 : place.type == ACL_MEM_LOCATIONTYPE_HOST ? -1 : place.id;
  for (size_t i = 0; i < size / kPage; ++i) pages->first->preferred[pages->second + i] = to;
  return true;
}

bool ObjectPlayer::managed_ask(Choices& choices) {
  uint64_t start = some_managed(choices);
  if (start != 0) start += choices.among<uint64_t>({0, 0, kPage, kPage - 1});
  const uint64_t size = choices.among<uint64_t>({1, kPage, 2 * kPage, 0});
  const int attribute = choices.one_in(8) ? choices.among({0, 9}) : 2;
  const size_t data_bytes = choices.one_in(8) ? 8 : 4;
  int32_t data[2] = {99, 99};
  const auto pages = pages_of(start, size);
  const std::optional<RuleId> wanted = start == 0        ? std::optional(RuleId::ArgNull)
                                       : size == 0       ? std::optional(RuleId::ArgZeroSize)
                                       : attribute != 2  ? std::optional(RuleId::ManagedArguments)
                                       : data_bytes != 4 ? std::optional(RuleId::ManagedData)
                                       : !pages          ? std::optional(RuleId::ManagedRange)
                                                         : std::nullopt;
  if (!agree(fmt::format("aclrtMemManagedGetAttr({}, {:#x}, {})", attribute, start, size), wanted,
             aclrtMemManagedGetAttr(static_cast<aclrtMemManagedRangeAttribute>(attribute), pointer(start),
                                    size, data, data_bytes)))
    return false;
  if (wanted) return true;
  const auto& all = pages->first->preferred;
  const uint64_t last = (start % kPage + size - 1) / kPage;  // pages start at multiples
  int32_t common = all[pages->second];
  for (uint64_t i = 1; i <= last; ++i)
    if (all[pages->second + i] != common) common = -2;
  return data[0] == common || differ(fmt::format("preferred is {}, wanted {}", data[0], common));
}

// The host reads what it wrote last, and copies of the device move it.
bool ObjectPlayer::managed_touch(Choices& choices) {
  if (managed_.empty()) return true;
  auto& [start, block] = *std::next(managed_.begin(), choices.below(static_cast<uint32_t>(managed_.size())));
  auto* const bytes = static_cast<char*>(pointer(start));
  for (const uint64_t at : {uint64_t{0}, block.size / 2, block.size - 1})
    if (bytes[at] != block.byte)
      return differ(
          fmt::format("byte {} of the block at {:#x} is {}, wanted {}", at, start, bytes[at], block.byte));
  block.byte = static_cast<char>(choices.below(256));
  if (choices.one_in(2)) {
    std::memset(bytes, block.byte, block.size);
    return true;
  }
  return agree("aclrtMemsetAsync", std::nullopt,
               aclrtMemsetAsync(bytes, block.size, block.byte, block.size, stream_)) &&
         agree("aclrtSynchronizeStream", std::nullopt, aclrtSynchronizeStream(stream_));
}

// -- Reductions, and the memory that snapshots bring back

bool ObjectPlayer::same_words(int block) {
  Words found{};
  if (aclrtMemcpy(found.data(), sizeof found, blocks_[block], sizeof found, ACL_MEMCPY_DEVICE_TO_HOST) != 0)
    return differ("block cannot be read");
  return found == words_[block] || differ(fmt::format("block {} holds other numbers than it should", block));
}

bool ObjectPlayer::reduce(Choices& choices) {
  const int target = static_cast<int>(choices.below(2));
  const int source = static_cast<int>(choices.below(2));
  const int kind = choices.one_in(8) ? choices.among({9, 14}) : choices.among({10, 11, 12});
  const uint64_t bytes =
      choices.one_in(6) ? choices.among<uint64_t>({0, 6}) : 4 * (1 + choices.below(kWords));
  const bool bad_type = choices.one_in(12);
  const std::optional<RuleId> wanted = bad_type ? std::optional(RuleId::ArgEnum)
                                       : kind < 10 || kind > 13 || bytes == 0 || bytes % 4 != 0
                                           ? std::optional(RuleId::ReduceArguments)
                                           : std::nullopt;
  if (!agree(fmt::format("aclrtReduceAsync({}, {}, {}, {})", target, source, bytes, kind), wanted,
             aclrtReduceAsync(blocks_[target], blocks_[source], bytes, static_cast<aclrtReduceKind>(kind),
                              bad_type ? ACL_STRING : ACL_INT32, stream_, nullptr)))
    return false;
  if (wanted) return true;
  for (size_t i = 0; i < bytes / 4; ++i) {
    int32_t& to = words_[target][i];
    const int32_t from = words_[source][i];
    to = kind == 10   ? static_cast<int32_t>(static_cast<uint32_t>(to) + static_cast<uint32_t>(from))
         : kind == 11 ? std::max(to, from)
                      : std::min(to, from);
  }
  return agree("aclrtSynchronizeStream", std::nullopt, aclrtSynchronizeStream(stream_)) && same_words(target);
}

bool ObjectPlayer::fill(Choices& choices) {
  const int block = static_cast<int>(choices.below(2));
  for (int32_t& word : words_[block]) word = static_cast<int32_t>(choices.below(256) * 0x01020304u);
  return agree("aclrtMemcpy", std::nullopt,
               aclrtMemcpy(blocks_[block], sizeof(Words), words_[block].data(), sizeof(Words),
                           ACL_MEMCPY_HOST_TO_DEVICE));
}

bool ObjectPlayer::peer_map(Choices& choices) {
  if (choices.one_in(4)) {
    // Device 1 is let reach device 0, or no longer.
    if (aclrtSetDevice(1) != 0) return differ("no device 1");
    const int got = is_peer_ ? aclrtDeviceDisablePeerAccess(0) : aclrtDeviceEnablePeerAccess(0, 0);
    is_peer_ = !is_peer_;
    return aclrtSetDevice(0) == 0 && agree("peer access", std::nullopt, got);
  }
  const int32_t to = choices.among({1, 1, 0, 2, -1});
  const uint64_t size = choices.among<uint64_t>({64, kPage - 64, 0});
  const uint64_t flags = choices.one_in(8) ? 1 : 0;
  const std::optional<RuleId> wanted = size == 0              ? std::optional(RuleId::ArgZeroSize)
                                       : flags != 0           ? std::optional(RuleId::ArgReserved)
                                       : to < 0 || to > 1     ? std::optional(RuleId::DeviceId)
                                       : to == 0 || !is_peer_ ? std::optional(RuleId::PeerMap)
                                                              : std::nullopt;
  return agree(fmt::format("aclrtMemP2PMap({}, {})", size, to), wanted,
               aclrtMemP2PMap(blocks_[0], size, to, flags));
}

// -- Notifies

uint64_t ObjectPlayer::some_notify(Choices& choices) const {
  return some_key(notifies_, gone_notify_, choices);
}

bool ObjectPlayer::notify_create(Choices& choices) {
  if (notifies_.size() > 8) return true;
  const uint64_t flag = choices.one_in(8) ? choices.among<uint64_t>({2, UINT64_MAX}) : 0;
  aclrtNotify made = nullptr;
  const std::optional<RuleId> wanted = flag != 0 ? std::optional(RuleId::NotifyFlags) : std::nullopt;
  if (!agree("aclrtCreateNotify", wanted, aclrtCreateNotify(&made, flag))) return false;
  if (!wanted && !notifies_.emplace(number(made), false).second)
    return differ("a notify that lives was made");
  return true;
}

bool ObjectPlayer::notify_use(Choices& choices) {
  const uint64_t notify = some_notify(choices);
  const auto found = notifies_.find(notify);
  const std::optional<RuleId> wanted = notify == 0                ? std::optional(RuleId::ArgNull)
                                       : found == notifies_.end() ? std::optional(RuleId::NotifyHandle)
                                                                  : std::nullopt;
  uint32_t id = 0;
  aclrtNotify list[] = {pointer(notify)};
  switch (choices.below(5)) {
    case 0:
      if (!agree("aclrtRecordNotify", wanted, aclrtRecordNotify(pointer(notify), stream_))) return false;
      if (!wanted) found->second = true;
      break;
    case 1:
      // One that is not set would be waited for in vain.
      if (!wanted && !found->second) return true;
      if (!agree("aclrtWaitAndResetNotify", wanted, aclrtWaitAndResetNotify(pointer(notify), stream_, 60)))
        return false;
      if (!wanted) found->second = false;
      break;
    case 2:
      return agree("aclrtGetNotifyId", wanted, aclrtGetNotifyId(pointer(notify), &id));
    case 3:
      if (!agree("aclrtNotifyBatchReset",
                 found == notifies_.end() ? std::optional(RuleId::NotifyHandle) : std::nullopt,
                 aclrtNotifyBatchReset(list, 1)))
        return false;
      if (!wanted) found->second = false;
      return true;
    default:
      if (!agree("aclrtDestroyNotify", wanted, aclrtDestroyNotify(pointer(notify)))) return false;
      if (!wanted) gone_notify_ = notify;
      if (!wanted) notifies_.erase(found);
      return true;
  }
  return agree("aclrtSynchronizeStream", std::nullopt, aclrtSynchronizeStream(stream_));
}

// -- Snapshots

bool ObjectPlayer::snapshot(Choices& choices) {
  const int pid = getpid();
  switch (choices.below(4)) {
    case 0: {
      const bool legal = snapshot_ == Snapshot::Running;
      if (!agree("aclrtSnapShotProcessLock", legal ? std::nullopt : std::optional(RuleId::SnapshotLock),
                 aclrtSnapShotProcessLock(pid, nullptr)))
        return false;
      if (legal) snapshot_ = Snapshot::Locked;
      return true;
    }
    case 1: {
      const bool legal = snapshot_ != Snapshot::Running;
      if (!agree("aclrtSnapShotProcessBackup", legal ? std::nullopt : std::optional(RuleId::SnapshotBackup),
                 aclrtSnapShotProcessBackup(pid, nullptr)))
        return false;
      if (legal) snapshot_ = Snapshot::BackedUp;
      if (legal) saved_ = words_;
      return true;
    }
    case 2: {
      const bool legal = snapshot_ == Snapshot::BackedUp;
      if (!agree("aclrtSnapShotProcessRestore", legal ? std::nullopt : std::optional(RuleId::SnapshotRestore),
                 aclrtSnapShotProcessRestore(pid, nullptr)))
        return false;
      if (!legal) return true;
      snapshot_ = Snapshot::Locked;
      words_ = saved_;
      return same_words(0) && same_words(1);
    }
    default: {
      const bool legal = snapshot_ != Snapshot::Running;
      if (!agree("aclrtSnapShotProcessUnlock", legal ? std::nullopt : std::optional(RuleId::SnapshotUnlock),
                 aclrtSnapShotProcessUnlock(pid, nullptr)))
        return false;
      snapshot_ = Snapshot::Running;
      return true;
    }
  }
}

}  // namespace plat::test
