# SPDX-License-Identifier: Apache-2.0
"""Memory that travels to another process as a number."""
from typing import TYPE_CHECKING, Any

import acl

from ._arguments import kind
from ._errors import checked
from ._svg import size_text

if TYPE_CHECKING:
    from ._memory import PhysicalMemory


class SharedMemory:
    """What PhysicalMemory.share gives: a small value that can be pickled. Whoever holds it may open it, for as long as
    somebody holds the memory."""

    def __init__(self, token: int, size: int, device_index: int) -> None:
        self.token, self.size, self.device_index = token, size, device_index

    def __repr__(self) -> str:
        return f"<plat.SharedMemory of {size_text(self.size)} on device {self.device_index}>"

    def open(self, device: Any) -> "PhysicalMemory":
        """The memory, in this process."""
        from ._device import Device
        from ._memory import PhysicalMemory
        kind("device", device, Device)._check_open()
        return PhysicalMemory(device, self.size,
                              checked(acl.rt.mem_import_from_shareable_handle(self.token, device.index)))
