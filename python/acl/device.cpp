// SPDX-License-Identifier: Apache-2.0
// Devices and contexts.

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

py::tuple version() {
  int32_t major = 0, minor = 0, patch = 0;
  const int ret = aclrtGetVersion(&major, &minor, &patch);
  return py::make_tuple(major, minor, patch, ret);
}

}  // namespace

void add_device(Group& rt) {
  rt.def("set_device", Ret<aclrtSetDevice>::call, "device_id"_a, Release(),
         "Binds the thread to a device, with its default context and stream. Counted: as many reset_device "
         "undo it.");
  rt.def(
      "reset_device", Ret<aclrtResetDevice>::call, "device_id"_a, Release(),
      "Undoes one set_device; the last waits for queued work and gives back what the process holds there.");
  rt.def("reset_device_force", Ret<aclrtResetDeviceForce>::call, "device_id"_a, Release(),
         "Gives back what the process holds on the device, whatever the count.");
  rt.def("get_device", First<aclrtGetDevice>::call, ReleaseIfWanted(),
         "(device_id, ret); 107002 when the thread has none.");
  rt.def("get_device_count", First<aclrtGetDeviceCount>::call, ReleaseIfWanted(),
         "(count, ret): devices of the process.");
  rt.def("get_run_mode", First<aclrtGetRunMode>::call, ReleaseIfWanted(),
         "(mode, ret): 0 on the device, 1 on the host.");
  rt.def("synchronize_device", Ret<aclrtSynchronizeDevice>::call, Release(),
         "Waits for all streams of the current device.");
  rt.def("synchronize_device_with_timeout", Ret<aclrtSynchronizeDeviceWithTimeout>::call, "timeout"_a,
         Release(), "The same for at most so many milliseconds; -1 waits for ever.");
  rt.def("device_can_access_peer", First<aclrtDeviceCanAccessPeer>::call, "device_id"_a, "peer_device_id"_a,
         ReleaseIfWanted(), "(can_access, ret): whether a device can reach a peer's memory.");
  rt.def("device_enable_peer_access", Ret<aclrtDeviceEnablePeerAccess>::call, "peer_device_id"_a, "flags"_a,
         Release(), "Lets the current device reach the peer's memory, not the other way round. flags is 0.");
  rt.def("device_disable_peer_access", Ret<aclrtDeviceDisablePeerAccess>::call, "peer_device_id"_a, Release(),
         "Undoes device_enable_peer_access.");
  rt.def("device_peer_access_status", Last<aclrtDevicePeerAccessStatus>::call, "device_id"_a,
         "peer_device_id"_a, ReleaseIfWanted(),
         "(status, ret): 1 if the device may reach the peer's memory now.");
  rt.def("mem_p2p_map", Ret<aclrtMemP2PMap>::call, "dev_ptr"_a, "size"_a, "dst_dev_id"_a, "flags"_a,
         Release(),
         "Prepares a device to reach memory of another one, for which peer access is enabled. flags is 0.");
  rt.def("device_get_bare_tgid", First<aclrtDeviceGetBareTgid>::call, ReleaseIfWanted(),
         "(pid, ret): this process as others must name it in a whitelist, also from inside a container.");
  rt.def("set_device_sat_mode", Ret<aclrtSetDeviceSatMode>::call, "mode"_a, Release(),
         "Overflow mode of operators; kept, without effect.");
  rt.def("get_device_sat_mode", First<aclrtGetDeviceSatMode>::call, ReleaseIfWanted(), "(mode, ret).");
  rt.def("set_op_execute_time_out", Ret<aclrtSetOpExecuteTimeOut>::call, "timeout"_a, Release(),
         "How long an operator may run; accepted, without effect.");
  rt.def("get_version", version, "(major, minor, patch, ret): the version of the interface.");
}

void add_context(Group& rt) {
  rt.def("create_context", First<aclrtCreateContext>::call, "device_id"_a, Release(),
         "(context, ret): a context on a device, current for the thread from now on.");
  rt.def("destroy_context", Ret<aclrtDestroyContext>::call, "context"_a, Release(),
         "Destroys a context of create_context.");
  rt.def("set_context", Ret<aclrtSetCurrentContext>::call, "context"_a, ReleaseIfWanted(),
         "Makes a context the thread's current one, and with it its device.");
  rt.def("get_context", First<aclrtGetCurrentContext>::call, ReleaseIfWanted(),
         "(context, ret); 107002 when the thread has none.");
  rt.def("ctx_get_current_default_stream", First<aclrtCtxGetCurrentDefaultStream>::call, ReleaseIfWanted(),
         "(stream, ret): the default stream of the current context.");
}

}  // namespace plat::acl_python
