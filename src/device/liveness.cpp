#include "device/liveness.h"

#include "os/process.h"

namespace plat::device {

bool slot_is_alive(int control_fd, const os::FileIdentity& control, uint32_t slot, const ProcessSlot& record,
                   uint64_t my_pid_namespace) {
  if (os::is_byte_locked(control_fd, kSlotLockByte + slot)) return true;
  return record.pid_namespace == my_pid_namespace && os::start_time_of(record.pid) == record.start_time &&
         os::maps_file(record.pid, control.device, control.inode);
}

}  // namespace plat::device
