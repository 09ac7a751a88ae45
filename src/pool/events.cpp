// SPDX-License-Identifier: Apache-2.0
#include "pool/events.h"

#include <mutex>
#include <new>
#include <unordered_map>

#include "pool/on_device.h"

namespace plat::pool {

namespace {

// A stream can be asked only in its own context, and the thread that asks may have another. The context in
// which a stream first answered is its own, and is kept with it.
class DeviceEvents final : public Events {
 public:
  explicit DeviceEvents(int32_t device) : device_(device) {}
  void* create() override {
    const OnDevice here(device_);
    aclrtEvent event = nullptr;
    return aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC) == ACL_SUCCESS ? event : nullptr;
  }
  void destroy(void* event) override {
    const OnDevice here(device_);
    aclrtDestroyEvent(event);
  }
  bool record(void* event, plat_stream stream) override {
    const OnDevice here(device_, context_of(stream));
    return aclrtRecordEvent(event, handle(stream)) == ACL_SUCCESS;
  }
  bool has_passed(void* event) override {
    const OnDevice here(device_);
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return aclrtQueryEventStatus(event, &status) == ACL_SUCCESS &&
           status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
  }
  StreamState state(plat_stream stream) override {
    const aclrtContext context = context_of(stream);
    const OnDevice here(device_, context);
    if (context != nullptr && is_context_gone(here.code())) return StreamState::kGone;
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    const aclError code = aclrtStreamQuery(handle(stream), &status);
    if (is_gone(code)) return StreamState::kGone;
    if (code != ACL_SUCCESS) return StreamState::kUnknown;
    if (context == nullptr) note_context(stream);
    return status == ACL_STREAM_STATUS_COMPLETE ? StreamState::kIdle : StreamState::kBusy;
  }
  bool wait(void* event) override {
    const OnDevice here(device_);
    return aclrtSynchronizeEvent(event) == ACL_SUCCESS;
  }
  bool wait_for_stream(plat_stream stream) override {
    const aclrtContext context = context_of(stream);
    const OnDevice here(device_, context);
    if (context != nullptr && is_context_gone(here.code())) return true;
    const aclError code = aclrtSynchronizeStream(handle(stream));
    return code == ACL_SUCCESS || is_gone(code);
  }
  bool make_wait(plat_stream waiter, void* event) override {
    const OnDevice here(device_, context_of(waiter));
    return aclrtStreamWaitEvent(handle(waiter), event) == ACL_SUCCESS;
  }
  void forget(plat_stream stream) override {
    std::lock_guard guard(mutex_);
    contexts_.erase(stream);
  }

 private:
  // ACL's name for the default stream is what the pool calls no stream.
  static aclrtStream handle(plat_stream stream) {
    return stream == PLAT_POOL_DEFAULT_STREAM ? nullptr : stream;
  }
  static bool is_gone(aclError code) { return code == ACL_ERROR_RT_INVALID_HANDLE; }
  // Streams go with their context.
  static bool is_context_gone(aclError code) { return is_gone(code) || code == ACL_ERROR_RT_CONTEXT_NULL; }
  aclrtContext context_of(plat_stream stream) {
    std::lock_guard guard(mutex_);
    const auto found = contexts_.find(stream);
    return found != contexts_.end() ? found->second : nullptr;
  }
  // Every context has a default stream: that of the thread is meant.
  void note_context(plat_stream stream) {
    aclrtContext context = nullptr;
    if (stream == PLAT_POOL_DEFAULT_STREAM || aclrtGetCurrentContext(&context) != ACL_SUCCESS) return;
    try {
      std::lock_guard guard(mutex_);
      contexts_[stream] = context;
    } catch (const std::bad_alloc&) {
      // Then it is asked in the thread's context, as it just was.
    }
  }

  const int32_t device_;
  std::mutex mutex_;
  std::unordered_map<plat_stream, aclrtContext> contexts_;
};

}  // namespace

std::unique_ptr<Events> Events::of_device(int32_t device) { return std::make_unique<DeviceEvents>(device); }

}  // namespace plat::pool
