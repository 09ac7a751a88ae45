// SPDX-License-Identifier: Apache-2.0
#include "device/liveness.h"

#include <vector>

#include "os/file.h"
#include "os/process.h"

namespace plat::device {

namespace {

bool is_locked(int control_fd, SlotId slot) {
  return os::is_byte_locked(control_fd, kSlotLockByte + slot.value) ||
         os::is_byte_locked(control_fd, kSlotSpareByte + slot.value);
}

}  // namespace

bool slot_is_alive(int control_fd, SlotId slot, const ProcessSlot& record, uint64_t my_namespace) {
  if (!is_locked(control_fd, slot)) return false;
  const bool knows_pids = my_namespace != 0 && record.pid_namespace == my_namespace;
  return !knows_pids || !os::process_is_gone(record.pid);
}

bool anybody_lives(int control_fd) {
  LedgerHeader header{};
  std::vector<ProcessSlot> slots(kMaxProcesses);
  const bool is_understood =
      os::read_at(control_fd, &header, sizeof header, 0) && header.magic == kLedgerMagic &&
      header.layout_version == kLayoutVersion &&
      os::read_at(control_fd, slots.data(), slots.size() * sizeof slots[0], sizeof header);
  const uint64_t my_namespace = os::pid_namespace();
  for (const SlotId slot : ids<SlotId>(kMaxProcesses)) {
    // Of a file that is not ours to read the locks are all that is known.
    if (!is_understood && is_locked(control_fd, slot)) return true;
    if (is_understood && slots[slot.value].state.load(std::memory_order_relaxed) == SlotState::Live &&
        slot_is_alive(control_fd, slot, slots[slot.value], my_namespace))
      return true;
  }
  return false;
}

}  // namespace plat::device
