// SPDX-License-Identifier: Apache-2.0
#include "stream/contexts.h"

#include <utility>

#include "rules/rules.h"

namespace plat::stream {

constinit thread_local Current t_current{};

namespace {

std::atomic<uint64_t> g_serial{0};

Result<> no_context(ContextId id) {
  return fail(RuleId::ContextHandle, "context", "{:#x} is no live context", id.value);
}

}  // namespace

Contexts::Contexts(const Setting& setting)
    : device_count_(setting.options.device_count), problem_(setting.problem), serial_(++g_serial) {}

Result<> Contexts::check_device(int device) const {
  if (problem_) return forward(*problem_);
  if (device >= 0 && device < device_count_) return {};
  return fail(RuleId::DeviceId, "deviceId", "device {} of {}", device, device_count_);
}

Result<std::shared_ptr<Context>> Contexts::current() const {
  if (t_current.runtime != serial_ || t_current.context.value == 0)
    return fail(RuleId::NoContext, "context", "no device was set in this thread");
  if (auto context = find(t_current.context)) return context;
  return fail(RuleId::NoContext, "context", "the thread's context {:#x} was destroyed",
              t_current.context.value);
}

Result<ContextId> Contexts::current_id() const {
  PLAT_ASSIGN(context, current());
  return context->id;
}

Result<int> Contexts::find_device() const {
  const uint64_t closed = closed_.load(std::memory_order_acquire);
  PLAT_ASSIGN(context, current());
  t_current.device = context->device;
  t_current.closed_plus_one = closed + 1;
  return context->device;
}

Result<> Contexts::set_current(ContextId id) {
  const auto context = find(id);
  if (!context) return no_context(id);
  use(*context);
  return {};
}

Result<int> Contexts::device_of(ContextId id) const {
  const auto context = find(id);
  if (!context) return forward(no_context(id).error());
  return context->device;
}

Result<> Contexts::set_option(size_t option, int64_t value) {
  PLAT_ASSIGN(context, current());
  std::lock_guard lock(mutex_);
  context->options[option] = value;
  return {};
}

Result<std::optional<int64_t>> Contexts::option(size_t option) const {
  PLAT_ASSIGN(context, current());
  std::lock_guard lock(mutex_);
  return context->options[option];
}

bool Contexts::is_set(int device) const {
  std::lock_guard lock(mutex_);
  const auto found = devices_.find(device);
  return found != devices_.end() && found->second.set_count > 0;
}

bool Contexts::is_used(int device) const {
  return table_.find_if([device](const Context& context) { return context.device == device; }) != nullptr;
}

Result<> Contexts::set_device(int device, const std::function<Result<std::shared_ptr<Context>>()>& make) {
  // Held while the default context is made, so that two threads do not make two.
  std::lock_guard making(default_mutex_);
  ContextId id;
  {
    std::lock_guard lock(mutex_);
    id = devices_[device].default_context;
  }
  if (id.value == 0) {
    PLAT_ASSIGN(made, make());
    id = made->id;
  }
  std::lock_guard lock(mutex_);
  Device& state = devices_[device];
  state.default_context = id;
  ++state.set_count;
  t_current = {serial_, id, 0, 0};
  return {};
}

Result<std::shared_ptr<Context>> Contexts::unset_device(int device, bool force) {
  std::scoped_lock lock(default_mutex_, mutex_);
  Device& state = devices_[device];
  if (state.set_count == 0)
    return fail(RuleId::DeviceNotSet, "deviceId", "device {} is not set in this process", device);
  state.set_count = force ? 0 : state.set_count - 1;
  if (state.set_count > 0) return nullptr;
  return find(std::exchange(state.default_context, {}));
}

void Contexts::unset_all() {
  std::scoped_lock lock(default_mutex_, mutex_);
  for (auto& [device, state] : devices_) state = {};
}

std::shared_ptr<Context> Contexts::add(int device, bool is_default) {
  return table_.add([&](uint64_t id) {
    auto made = std::make_shared<Context>();
    made->id = ContextId{id};
    made->device = device;
    made->is_default = is_default;
    return made;
  });
}

bool Contexts::remove(const Context& context) {
  if (!table_.remove(context.id.value)) return false;
  closed_.fetch_add(1, std::memory_order_release);
  return true;
}

}  // namespace plat::stream
