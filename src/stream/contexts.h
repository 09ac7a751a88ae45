// SPDX-License-Identifier: Apache-2.0
// Contexts: which devices are set, which contexts there are, and which one a thread uses. Knows nothing of
// the streams in them: Streams makes and closes those.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "stream/current.h"
#include "stream/handle_table.h"
#include "stream/ids.h"
#include "stream/options.h"
#include "stream/stream.h"

namespace plat::stream {

inline constexpr size_t kContextOptions = 3;  // that clients keep in a context

struct Context {
  ContextId id;
  int device = 0;
  bool is_default = false;
  StreamId default_stream;
  std::shared_ptr<FailurePolicy> failures = std::make_shared<FailurePolicy>();
  std::array<std::optional<int64_t>, kContextOptions> options;  // guarded by Contexts
};

class Contexts {
 public:
  explicit Contexts(const Setting& setting);

  // Tells sets of contexts apart: ids of one mean nothing in another.
  uint64_t serial() const { return serial_; }

  // What the calling thread uses.
  Result<int> current_device() const {
    if (const int device = known_device(); device >= 0) [[likely]]
      return device;
    return find_device();
  }
  // -1 when it must be looked up. A context that was there is there still, unless one was closed since.
  int known_device() const {
    const bool known = t_current.runtime == serial_ &&
                       t_current.closed_plus_one == closed_.load(std::memory_order_acquire) + 1;
    return known ? t_current.device : -1;
  }
  Result<std::shared_ptr<Context>> current() const;
  Result<ContextId> current_id() const;
  // Without looking whether it is still there.
  bool is_current(ContextId id) const { return t_current.runtime == serial_ && t_current.context == id; }
  Result<> set_current(ContextId id);

  std::shared_ptr<Context> find(ContextId id) const { return table_.find(id.value); }
  Result<int> device_of(ContextId id) const;
  // Numbers that clients keep in the current context; nothing before they are set.
  Result<> set_option(size_t option, int64_t value);
  Result<std::optional<int64_t>> option(size_t option) const;

  Result<> check_device(int device) const;
  // Whether the device was set more often than reset.
  bool is_set(int device) const;
  // Whether any context is left on the device.
  bool is_used(int device) const;

  // Counts one more setting of the device by the calling thread, which uses its default context from now on.
  // That is made if there is none, with no other thread at it: make() -> Result<std::shared_ptr<Context>>.
  Result<> set_device(int device, const std::function<Result<std::shared_ptr<Context>>()>& make);
  // Counts one setting less, or none any more; with the last one its default context, for the caller to
  // close.
  Result<std::shared_ptr<Context>> unset_device(int device, bool force);
  void unset_all();

  // nullptr when there are no more.
  std::shared_ptr<Context> add(int device, bool is_default);
  void use(const Context& context) const { t_current = {serial_, context.id, 0, 0}; }
  // False if somebody else has removed it.
  bool remove(const Context& context);
  std::vector<std::shared_ptr<Context>> all() const { return table_.all(); }

 private:
  struct Device {
    ContextId default_context;
    uint32_t set_count = 0;
  };

  Result<int> find_device() const;

  const int device_count_;
  const std::optional<Error> problem_;
  const uint64_t serial_;
  std::atomic<uint64_t> closed_{0};  // contexts; makes threads look again at what they remember
  HandleTable<Context> table_{0x43};
  std::mutex default_mutex_;  // orders making and dropping default contexts; taken before mutex_
  mutable std::mutex mutex_;  // guards devices_, and the options of contexts
  std::map<int, Device> devices_;
};

}  // namespace plat::stream
