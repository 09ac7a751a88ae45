// SPDX-License-Identifier: Apache-2.0
// Snapshots of the process.
#include "acl/snapshot.h"

#include <chrono>

#include "acl/call_gate.h"
#include "acl/entry.h"
#include "os/process.h"
#include "os/thread_sanitizer.h"

namespace plat::acl {

const char* Snapshot::state_text() const {
  const std::lock_guard guard(mutex_);
  if (under_way_) return "another call about snapshots is under way";
  return state_ == State::Running  ? "the process is not locked"
         : state_ == State::Locked ? "the process is locked, and there is no backup"
                                   : "the process is locked, and backed up";
}

Result<> Snapshot::tell(Runtime& runtime, aclrtSnapShotStage stage) {
  std::vector<Callback> due;
  {
    const std::lock_guard guard(mutex_);
    for (const Callback& callback : callbacks_)
      if (callback.stage == stage) due.push_back(callback);
  }
  for (const Callback& callback : due)
    for (uint32_t device = 0; device < device::kMaxDevices; ++device) {
      if (!runtime.node.is_open(device)) continue;
      const int32_t id = runtime.node.logical_id(device);
      const os::tsan::Watched watched;
      if (const uint32_t result = callback.function(id, callback.argument); result != 0)
        return fail(RuleId::SnapshotCallbackFailed, "", "a callback of stage {} returned {} for device {}",
                    static_cast<int>(stage), result, id);
    }
  return {};
}

Result<> Snapshot::lock(Runtime& runtime) {
  Turn turn(*this, {State::Running});
  if (!turn) return fail(RuleId::SnapshotLock, "pid", "{}", state_text());
  if (!CallGate::can_close())
    return fail(RuleId::SnapshotLock, "pid",
                "the system has no membarrier, so nobody knows where threads are");
  PLAT_TRY(tell(runtime, ACL_RT_SNAPSHOT_LOCK_PRE));
  const uint64_t wait_ms = runtime.node.config().snapshot_wait_ms;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  CallGate& gate = CallGate::instance();
  // Threads may wait for streams, and calls that are under way may give them more.
  if (!gate.close(deadline, [&] { return runtime.streams.drain(deadline); }))
    return fail(RuleId::SnapshotTimeout, "pid",
                "after {} ms a thread is still in a call, or a stream has work", wait_ms);
  turn.enter(State::Locked);
  return {};
}

Result<> Snapshot::unlock(Runtime& runtime) {
  Turn turn(*this, {State::Locked, State::BackedUp});
  if (!turn) return fail(RuleId::SnapshotUnlock, "pid", "{}", state_text());
  contents_.reset();
  turn.enter(State::Running);
  CallGate::instance().open();
  return tell(runtime, ACL_RT_SNAPSHOT_UNLOCK_POST);
}

Result<> Snapshot::back_up(Runtime& runtime) {
  Turn turn(*this, {State::Locked, State::BackedUp});
  if (!turn) return fail(RuleId::SnapshotBackup, "pid", "{}", state_text());
  PLAT_TRY(tell(runtime, ACL_RT_SNAPSHOT_BACKUP_PRE));
  PLAT_ASSIGN(saved, vmm::Contents::save(runtime.vmm));
  contents_ = std::move(saved);
  turn.enter(State::BackedUp);
  return tell(runtime, ACL_RT_SNAPSHOT_BACKUP_POST);
}

Result<> Snapshot::restore(Runtime& runtime) {
  Turn turn(*this, {State::BackedUp});
  if (!turn) return fail(RuleId::SnapshotRestore, "pid", "{}", state_text());
  PLAT_TRY(tell(runtime, ACL_RT_SNAPSHOT_RESTORE_PRE));
  PLAT_TRY(contents_->restore(runtime.vmm));
  contents_.reset();
  turn.enter(State::Locked);
  return tell(runtime, ACL_RT_SNAPSHOT_RESTORE_POST);
}

Result<> Snapshot::add_callback(aclrtSnapShotStage stage, aclrtSnapShotCallBack function, void* argument) {
  const std::lock_guard guard(mutex_);
  const bool known = std::any_of(callbacks_.begin(), callbacks_.end(), [&](const Callback& callback) {
    return callback.stage == stage && callback.function == function;
  });
  if (known)
    return fail(RuleId::SnapshotCallbackTwice, "callback", "it is registered for stage {} already",
                static_cast<int>(stage));
  callbacks_.push_back({stage, function, argument});
  return {};
}

Result<> Snapshot::remove_callback(aclrtSnapShotStage stage, aclrtSnapShotCallBack function) {
  const std::lock_guard guard(mutex_);
  const auto removed = std::erase_if(callbacks_, [&](const Callback& callback) {
    return callback.stage == stage && callback.function == function;
  });
  if (removed != 0) return {};
  return fail(RuleId::SnapshotCallback, "callback", "it is not registered for stage {}",
              static_cast<int>(stage));
}

}  // namespace plat::acl

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;

namespace {

Result<> check_arguments(Runtime& runtime, int pid, const void* reserved, const char* name) {
  if (pid != static_cast<int>(os::process_id()))
    return fail(RuleId::SnapshotProcess, "pid", "pid is {}, this process is {}", pid, os::process_id());
  if (reserved != nullptr)
    return fail(RuleId::ArgReserved, name, "{} is {}, only null is known", name, fmt::ptr(reserved));
  if (device::has_snapshots(runtime.node.product())) return {};
  return fail(RuleId::ProductSupport, "", "{} has no snapshots", runtime.node.product().soc_name);
}

Result<> check_callback(aclrtSnapShotStage stage, aclrtSnapShotCallBack callback) {
  if (static_cast<unsigned>(stage) <= ACL_RT_SNAPSHOT_UNLOCK_POST && callback != nullptr) return {};
  return fail(RuleId::SnapshotCallback, callback == nullptr ? "callback" : "stage",
              "stage is {}, callback is {}", static_cast<int>(stage), callback == nullptr ? "null" : "set");
}

}  // namespace

extern "C" {

aclError aclrtSnapShotProcessLock(int pid, void* reserve) {
  return entry("aclrtSnapShotProcessLock", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(check_arguments(runtime, pid, reserve, "reserve"));
    return runtime.snapshot.lock(runtime);
  });
}

aclError aclrtSnapShotProcessUnlock(int pid, void* reserve) {
  return entry("aclrtSnapShotProcessUnlock", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(check_arguments(runtime, pid, reserve, "reserve"));
    return runtime.snapshot.unlock(runtime);
  });
}

aclError aclrtSnapShotProcessBackup(int pid, aclrtSnapShotBackupArgs* args) {
  return entry("aclrtSnapShotProcessBackup", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(check_arguments(runtime, pid, args, "args"));
    return runtime.snapshot.back_up(runtime);
  });
}

aclError aclrtSnapShotProcessRestore(int pid, aclrtSnapShotRestoreArgs* args) {
  return entry("aclrtSnapShotProcessRestore", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(check_arguments(runtime, pid, args, "args"));
    return runtime.snapshot.restore(runtime);
  });
}

aclError aclrtSnapShotCallbackRegister(aclrtSnapShotStage stage, aclrtSnapShotCallBack callback, void* args) {
  return entry("aclrtSnapShotCallbackRegister", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(check_callback(stage, callback));
    return runtime.snapshot.add_callback(stage, callback, args);
  });
}

aclError aclrtSnapShotCallbackUnregister(aclrtSnapShotStage stage, aclrtSnapShotCallBack callback) {
  return entry("aclrtSnapShotCallbackUnregister", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(check_callback(stage, callback));
    return runtime.snapshot.remove_callback(stage, callback);
  });
}

}  // extern "C"
