#include "device/liveness.h"

#include "os/file.h"

namespace plat::device {

bool slot_is_alive(int control_fd, uint32_t slot) {
  return os::is_byte_locked(control_fd, kSlotLockByte + slot) ||
         os::is_byte_locked(control_fd, kSlotSpareByte + slot);
}

}  // namespace plat::device
