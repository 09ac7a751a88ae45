"""Address ranges, physical memory, and mappings of one to the other."""
from typing import Any, Optional

import acl

from ._errors import checked
from ._host import DLPACK_CPU, array_interface, dlpack, host_view
from ._owner import Owner
from ._share import SharedMemory

_DEVICE = 1  # a location's type


class Buffer:
    """Device memory with an address and a size in bytes: what mappings and blocks of a pool have in common."""

    address: int
    size: int
    _like: Any = None  # shape and type of the array that it was made from

    def _check_open(self) -> None:
        raise NotImplementedError

    def _range(self, offset: int, count: int) -> int:
        self._check_open()
        if offset < 0 or count < 0 or offset + count > self.size:
            raise ValueError(f"{count} bytes at offset {offset} are not inside of {self.size} bytes")
        return self.address + offset

    def from_numpy(self, array: Any, offset: int = 0) -> None:
        """Copies an array to the device."""
        import numpy
        source = numpy.ascontiguousarray(array)
        if source.dtype.hasobject:
            raise TypeError("an array of Python objects has nothing but addresses of the host in it")
        target = self._range(offset, source.nbytes)
        if source.nbytes:
            checked(acl.rt.memcpy(target, source.nbytes, acl.util.numpy_to_ptr(source), source.nbytes,
                                  acl.ACL_MEMCPY_HOST_TO_DEVICE))

    def to_numpy(self, shape: Any = None, dtype: Any = None, offset: int = 0) -> Any:
        """A copy of device memory as an array; without a shape, all that follows the offset. Memory that was made from an array comes
        back as one like it."""
        import numpy
        if shape is None and dtype is None and offset == 0 and self._like is not None:
            shape, dtype = self._like
        dtype = "uint8" if dtype is None else dtype
        if shape is None:
            shape = (self.size - offset) // numpy.dtype(dtype).itemsize
        target = numpy.empty(shape, dtype)
        source = self._range(offset, target.nbytes)
        if target.nbytes:
            checked(acl.rt.memcpy(acl.util.numpy_to_ptr(target), target.nbytes, source, target.nbytes,
                                  acl.ACL_MEMCPY_DEVICE_TO_HOST))
        return target

    def fill(self, value: int) -> None:
        """Sets every byte."""
        checked(acl.rt.memset(self._range(0, self.size), self.size, value, self.size))

    # With PLAT_HOST_ACCESS=allow the host sees device memory, and these give views of it; otherwise they raise.

    def view(self) -> memoryview:
        """The bytes themselves, for memoryview, bytes() and every other user of the buffer protocol."""
        return memoryview(host_view(self, self._range(0, self.size))).cast("B")

    @property
    def __array_interface__(self) -> Any:
        return array_interface(self, self._range(0, self.size))

    def __dlpack__(self, **_: Any) -> Any:
        return dlpack(self, self._range(0, self.size))

    def __dlpack_device__(self) -> Any:
        return DLPACK_CPU, 0


class PhysicalMemory(Owner):
    """Physical memory of a device. It lives on while it is mapped."""

    def __init__(self, device: Any, size: int, handle: Optional[int] = None) -> None:
        super().__init__(device)
        self.device, self.size = device, size
        if handle is None:
            prop = {"memAttr": acl.ACL_HBM_MEM_HUGE, "location": {"id": device.index, "type": _DEVICE}}
            handle = checked(acl.rt.malloc_physical(size, prop, 0))
        self.handle = handle
        self._shared: Optional[int] = None
        self._opened()

    def _release(self) -> None:
        checked(acl.rt.free_physical(self.handle))

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
        self.device, self.size = device, size
        self.address = checked(acl.rt.reserve_mem_address(size, 0, 0, 1))
        self._opened()

    def map(self, memory: PhysicalMemory, offset: int = 0) -> "Mapping":
        """Maps memory at an offset, a multiple of 2 MiB. The range is closed after its mappings."""
        return Mapping(self, memory, offset)

    def _repr_svg_(self) -> str:
        from ._draw import draw
        return draw(self).svg

    def _release(self) -> None:
        checked(acl.rt.release_mem_address(self.address))


class Mapping(Owner, Buffer):
    """Physical memory at an address."""

    def __init__(self, reservation: Reservation, memory: PhysicalMemory, offset: int) -> None:
        memory._check_open()
        if offset < 0 or offset + memory.size > reservation.size:  # the next range may begin right behind
            raise ValueError(f"{memory.size} bytes at offset {offset} are not inside of {reservation.size} bytes")
        super().__init__(reservation)
        self.reservation, self.memory, self.size = reservation, memory, memory.size
        self.address = reservation.address + offset
        checked(acl.rt.map_mem(self.address, self.size, 0, memory.handle, 0))
        self._opened()

    def _release(self) -> None:
        checked(acl.rt.unmap_mem(self.address))
