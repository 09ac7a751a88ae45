// SPDX-License-Identifier: Apache-2.0
// Snapshots of the process, and functions of Python that are told of their stages.

#include "groups.h"
#include "slots.h"

namespace plat::acl_python {

namespace {

struct Stage {
  using Function = aclrtSnapShotCallBack;
  static uint32_t call(const Registered& entry, int32_t device, void*) {
    return static_cast<uint32_t>(code_of(entry.function, device, entry.data));
  }
};

int tell(int32_t stage, const py::function& function, const py::object& data) {
  // One that is registered for this stage is what the library says it is.
  const size_t known = Slots<Stage>::find(stage, function);
  const size_t slot = known < kSlots ? known : Slots<Stage>::put({stage, function, data});
  const auto in_c = Slots<Stage>::function_of(slot);
  const int ret = unlocked(
      [&] { return aclrtSnapShotCallbackRegister(static_cast<aclrtSnapShotStage>(stage), in_c, nullptr); });
  if (ret != ACL_SUCCESS && known == kSlots) Slots<Stage>::take(slot);
  return ret;
}

int tell_no_more(int32_t stage, const py::function& function) {
  const size_t slot = Slots<Stage>::find(stage, function);
  const auto in_c = Slots<Stage>::function_of(slot);
  const int ret =
      unlocked([&] { return aclrtSnapShotCallbackUnregister(static_cast<aclrtSnapShotStage>(stage), in_c); });
  if (ret == ACL_SUCCESS) Slots<Stage>::take(slot);
  return ret;
}

}  // namespace

void add_snapshot(Group& rt) {
  const auto pid = "pid"_a, args = "args"_a, stage = "stage"_a, callback = "callback"_a;
  rt.def("snap_shot_process_lock", Ret<aclrtSnapShotProcessLock>::call, pid, "reserve"_a, Release(),
         "Waits until streams are done and holds up the calls of other threads. pid is os.getpid(), reserve "
         "0.");
  rt.def("snap_shot_process_unlock", Ret<aclrtSnapShotProcessUnlock>::call, pid, "reserve"_a, Release(),
         "Lets the other threads go on, and forgets the backup.");
  rt.def("snap_shot_process_backup", Ret<aclrtSnapShotProcessBackup>::call, pid, args, Release(),
         "Keeps what is in the process's device memory, in memory of the host. args is 0.");
  rt.def("snap_shot_process_restore", Ret<aclrtSnapShotProcessRestore>::call, pid, args, Release(),
         "Brings back what the last backup kept. args is 0.");
  rt.def(
      "snap_shot_callback_register", tell, stage, callback, args,
      R"(callback(device_id, args) is called at a stage (ACL_RT_SNAPSHOT_*), once for each open device; another
result than 0 or None ends the call with 507912.)");
  rt.def("snap_shot_callback_unregister", tell_no_more, stage, callback,
         "Forgets a function of snap_shot_callback_register; 107000 if there is none.");
}

}  // namespace plat::acl_python
