# SPDX-License-Identifier: Apache-2.0
"""Device memory with an address and a size: what mappings and blocks of a pool have in common."""
import math
from typing import Any, Tuple

import acl

from ._arguments import whole
from ._errors import checked
from ._host import DLPACK_CPU, array_interface, dlpack, host_view
from ._weak import Weak


def array_for(array: Any) -> Any:
    """An array whose bytes can travel."""
    import numpy
    source = numpy.ascontiguousarray(array)
    if source.dtype.hasobject:
        raise TypeError("an array of Python objects has nothing but addresses of the host in it")
    return source


def like(shape: Any, dtype: Any) -> Tuple[Tuple[int, ...], Any, int]:
    """Shape, type and bytes, 1 at least, of an array to be."""
    import numpy
    dtype = numpy.dtype(dtype)
    if dtype.hasobject:
        raise TypeError("an array of Python objects has nothing but addresses of the host in it")
    shape = tuple(whole("a dimension", each) for each in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    return shape, dtype, max(math.prod(shape) * dtype.itemsize, 1)


class Buffer:
    """Memory with an address and a size in bytes."""

    address: int
    size: int
    _like: Any = None  # shape and type of the array that it was made from
    _on_host = False   # pinned memory of the host, which the host may touch

    def __init__(self) -> None:
        self._views = Weak()    # by which the host sees it
        self._streams = Weak()  # that were given work on it

    def _check_open(self) -> None:
        raise NotImplementedError

    def _array_words(self) -> str:
        """ for an array of 2x3 float32"""
        if self._like is None:
            return ""
        shape, dtype = self._like
        return f" for an array of {'x'.join(map(str, shape)) or '1'} {dtype}"

    def _range(self, offset: int, count: int) -> int:
        self._check_open()
        if offset < 0 or count < 0 or offset + count > self.size:
            raise ValueError(f"{count} bytes at offset {offset} are not inside of {self.size} bytes")
        return self.address + offset

    def _used_on(self, stream: Any) -> None:
        """A stream is given work on it."""
        self._streams.add(stream)

    def _want_unseen(self) -> None:
        """As with mmap.mmap: a view of memory that is gone would be a crash."""
        if any(True for _ in self._views):
            raise BufferError(f"{self!r} cannot be closed or changed while the host has a view of it: delete the arrays and memoryviews first")

    def _settle(self) -> None:
        """Before it goes: nobody may look at it any more, and streams finish what they do with it."""
        self._want_unseen()
        for stream in self._streams:
            if not stream.closed:
                stream._finish()

    def _shaped(self, shape: Any, dtype: Any, offset: int) -> Tuple[Tuple[int, ...], Any, int]:
        """Shape, type and bytes of what a reader asks for."""
        import numpy
        offset = whole("offset", offset, -1 << 62)
        if shape is None and dtype is None and offset == 0 and self._like is not None:
            shape, dtype = self._like
        dtype = numpy.dtype("uint8" if dtype is None else dtype)
        if dtype.hasobject:
            raise TypeError("memory of a device cannot be read as Python objects: they are addresses of the host")
        if shape is None:
            if dtype.itemsize == 0:
                raise ValueError(f"{dtype!r} has no size; give a shape")
            shape = max(self.size - offset, 0) // dtype.itemsize
        whole_shape = tuple(whole("a dimension", each) for each in (shape if isinstance(shape, (tuple, list)) else (shape,)))
        return whole_shape, dtype, math.prod(whole_shape) * dtype.itemsize

    def from_numpy(self, array: Any, offset: int = 0) -> None:
        """Copies an array to the device."""
        source = array_for(array)
        target = self._range(whole("offset", offset, -1 << 62), source.nbytes)
        if source.nbytes:
            kind = acl.ACL_MEMCPY_HOST_TO_HOST if self._on_host else acl.ACL_MEMCPY_HOST_TO_DEVICE
            checked(acl.rt.memcpy(target, source.nbytes, acl.util.numpy_to_ptr(source), source.nbytes, kind))

    def to_numpy(self, shape: Any = None, dtype: Any = None, offset: int = 0) -> Any:
        """A copy of device memory as an array; without a shape, all that follows the offset. Memory that was made from an array comes
        back as one like it."""
        import numpy
        shape, dtype, count = self._shaped(shape, dtype, offset)
        source = self._range(offset, count)
        target = numpy.empty(shape, dtype)
        if count:
            kind = acl.ACL_MEMCPY_HOST_TO_HOST if self._on_host else acl.ACL_MEMCPY_DEVICE_TO_HOST
            checked(acl.rt.memcpy(acl.util.numpy_to_ptr(target), count, source, count, kind))
        return target

    def fill(self, value: int) -> None:
        """Sets every byte."""
        address, value = self._range(0, self.size), whole("value", value, 0, 255)
        if self.size:
            checked(acl.rt.memset(address, self.size, value, self.size))

    # With PLAT_HOST_ACCESS=allow the host sees device memory, and these give views of it; otherwise they raise. Pinned memory of the host
    # is always seen.

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
