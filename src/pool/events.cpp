#include "pool/events.h"

#include "pool/on_device.h"

namespace plat::pool {

namespace {

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
    const OnDevice here(device_);
    return aclrtRecordEvent(event, handle(stream)) == ACL_SUCCESS;
  }
  bool has_passed(void* event) override {
    const OnDevice here(device_);
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return aclrtQueryEventStatus(event, &status) == ACL_SUCCESS &&
           status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
  }
  bool is_idle(plat_stream stream) override {
    const OnDevice here(device_);
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    return aclrtStreamQuery(handle(stream), &status) == ACL_SUCCESS && status == ACL_STREAM_STATUS_COMPLETE;
  }
  bool wait(void* event) override {
    const OnDevice here(device_);
    return aclrtSynchronizeEvent(event) == ACL_SUCCESS;
  }
  bool wait_for_stream(plat_stream stream) override {
    const OnDevice here(device_);
    return aclrtSynchronizeStream(handle(stream)) == ACL_SUCCESS;
  }
  bool make_wait(plat_stream waiter, void* event) override {
    const OnDevice here(device_);
    return aclrtStreamWaitEvent(handle(waiter), event) == ACL_SUCCESS;
  }

 private:
  // ACL's name for the default stream is what the pool calls no stream.
  static aclrtStream handle(plat_stream stream) {
    return stream == PLAT_POOL_DEFAULT_STREAM ? nullptr : stream;
  }
  const int32_t device_;
};

}  // namespace

std::unique_ptr<Events> Events::of_device(int32_t device) { return std::make_unique<DeviceEvents>(device); }

}  // namespace plat::pool
