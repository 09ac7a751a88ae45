// SPDX-License-Identifier: Apache-2.0
// Notifies: all that a process has, and what is done with them. Counting ones are another kind of handle.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "stream/handle_table.h"
#include "stream/ids.h"
#include "stream/notify.h"
#include "stream/quota.h"

namespace plat::stream {

class Streams;

inline constexpr size_t kNotifyKeyLength = 64;  // characters, without the null

class Notifies {
 public:
  Notifies(Streams& streams, uint32_t max);

  void set_max(uint32_t max) { quota_.set_max(max); }

  Result<NotifyId> create(NotifyUse use);
  Result<> destroy(NotifyId id, bool counting);
  void destroy_all();
  Result<> check(NotifyId id, bool counting = false) const;
  Result<int> device_of(NotifyId id) const;
  Result<uint32_t> number(NotifyId id, bool counting) const;

  Result<> record(NotifyId id, bool counting, StreamId stream, Notify::Change change, uint32_t value);
  Result<> wait(NotifyId id, bool counting, StreamId stream, const Notify::Awaited& awaited,
                uint32_t timeout_s);
  Result<> reset(NotifyId id);

  // Between processes: a key for others, who may use it, and the notify of such a key. `bare_pid` is what
  // whitelists call this process.
  Result<std::string> export_key(NotifyId id, bool open_to_all);
  Result<> allow(NotifyId id, std::span<const int32_t> pids);
  Result<NotifyId> import_key(std::string_view key, int32_t bare_pid);

 private:
  Result<std::shared_ptr<Notify>> find(NotifyId id, bool counting) const;

  Streams& streams_;
  Quota quota_;
  HandleTable<Notify> table_{0x4e};
};

}  // namespace plat::stream
