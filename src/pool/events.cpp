#include "pool/events.h"

#include <acl/acl_rt.h>

namespace plat::pool {

namespace {

class DeviceEvents final : public Events {
 public:
  void* create() override {
    aclrtEvent event = nullptr;
    return aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC) == ACL_SUCCESS ? event : nullptr;
  }
  void destroy(void* event) override { aclrtDestroyEvent(event); }
  bool record(void* event, plat_stream stream) override {
    return aclrtRecordEvent(event, stream) == ACL_SUCCESS;
  }
  bool has_passed(void* event) override {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return aclrtQueryEventStatus(event, &status) == ACL_SUCCESS &&
           status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
  }
  bool wait(void* event) override { return aclrtSynchronizeEvent(event) == ACL_SUCCESS; }
  bool wait_for_stream(plat_stream stream) override { return aclrtSynchronizeStream(stream) == ACL_SUCCESS; }
  bool make_wait(plat_stream waiter, void* event) override {
    return aclrtStreamWaitEvent(waiter, event) == ACL_SUCCESS;
  }
};

}  // namespace

Events& Events::of_device() {
  static auto* events = new DeviceEvents;  // never destroyed: pools may outlive static objects
  return *events;
}

}  // namespace plat::pool
