# SPDX-License-Identifier: Apache-2.0
"""Address ranges, physical memory, and mappings of one to the other."""
from typing import Any, List, Optional

import acl

from ._arguments import kind, whole
from ._buffer import Buffer
from ._errors import checked
from ._owner import Owner
from ._share import SharedMemory
from ._svg import size_text

_DEVICE = 1  # a location's type


class PhysicalMemory(Owner):
    """Physical memory of a device. It lives on while it is mapped: closed before, it goes back with its last mapping."""

    def __init__(self, device: Any, size: int, handle: Optional[int] = None) -> None:
        super().__init__(device)
        self.device, self.size = device, whole("size", size)
        self._mappings: List[None] = []  # an entry for each
        if handle is None:
            prop = {"memAttr": acl.ACL_HBM_MEM_HUGE, "location": {"id": device.index, "type": _DEVICE}}
            handle = checked(acl.rt.malloc_physical(self.size, prop, 0))
        self.handle = handle
        self._held = [handle]  # until it is given back: who takes it out, does
        self._shared: Optional[int] = None
        self._opened()

    def _words(self) -> str:
        return f"of {size_text(self.size)} on device {self.device.index}"

    def _release(self) -> None:
        """Memory must be unmapped before it is freed."""
        if not self._mappings:
            self._give_back()

    def _give_back(self) -> None:
        try:
            handle = self._held.pop()
        except IndexError:
            return  # another thread was faster
        with self._here():
            checked(acl.rt.free_physical(handle))

    def _unmapped(self) -> None:
        self._mappings.pop()
        if self.closed and not self._mappings:
            self._give_back()

    def share(self) -> SharedMemory:
        """A token that can be pickled, put into a multiprocessing queue, and opened by any process on the same machine."""
        self._check_open()
        if self._shared is None:
            self._shared = checked(acl.rt.mem_export_to_shareable_handle(self.handle, 0, 1))
        return SharedMemory(self._shared, self.size, self.device.index)


class Reservation(Owner):
    """A range of addresses of a device."""

    def __init__(self, device: Any, size: int) -> None:
        super().__init__(device)
        self.device, self.size = device, whole("size", size)
        self.address = checked(acl.rt.reserve_mem_address(self.size, 0, 0, 1))
        self._opened()

    def _words(self) -> str:
        return f"of {size_text(self.size)} at {self.address:#x}"

    def map(self, memory: PhysicalMemory, offset: int = 0) -> "Mapping":
        """Maps memory at an offset, a multiple of 2 MiB. The range is closed after its mappings."""
        return Mapping(self, memory, offset)

    def _repr_svg_(self) -> str:
        return self._picture()

    def _release(self) -> None:
        with self._here():
            checked(acl.rt.release_mem_address(self.address))


class Mapping(Owner, Buffer):
    """Physical memory at an address."""

    def __init__(self, reservation: Reservation, memory: PhysicalMemory, offset: int) -> None:
        kind("memory", memory, PhysicalMemory)._check_open()
        offset = whole("offset", offset, -1 << 62)
        if offset < 0 or offset + memory.size > reservation.size:  # the next range may begin right behind
            raise ValueError(f"{memory.size} bytes at offset {offset} are not inside of {reservation.size} bytes")
        Buffer.__init__(self)
        Owner.__init__(self, reservation)
        self.reservation, self.memory, self.size = reservation, memory, memory.size
        self.address = reservation.address + offset
        memory._mappings.append(None)  # before, so that another thread's close waits for us
        try:
            checked(acl.rt.map_mem(self.address, self.size, 0, memory.handle, 0))
        except BaseException:
            memory._unmapped()
            raise
        self._opened()

    def _words(self) -> str:
        return f"of {size_text(self.size)} at {self.address:#x}"

    def _settle(self) -> None:
        Buffer._settle(self)

    def _release(self) -> None:
        with self._here():
            checked(acl.rt.unmap_mem(self.address))
        self.memory._unmapped()
