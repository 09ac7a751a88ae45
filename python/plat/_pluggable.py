# SPDX-License-Identifier: Apache-2.0
"""The entry pair by which torch_npu takes its memory from another library."""
import os
from typing import Any, Dict, List

from . import _pool_library as library
from ._arguments import whole
from ._device import initialise
from ._libraries import find
from ._stream import Stream

_DEVICE_MAX, _ADDRESS_MAX = (1 << 31) - 1, (1 << 64) - 1


class PluggableAllocator:
    """The pair malloc(size, device, stream) and free(address, size, device, stream) of libplat_pool.so: one pool for each device, made
    when it is first asked. torch_npu loads the pair by name,

        torch_npu.npu.memory.NPUPluggableAllocator(allocator.library, allocator.malloc_name, allocator.free_name)

    and from Python it is called here. A stream is a plat.Stream, an address, or 0 for the default one.

    >>> import plat
    >>> with plat.Device(0):
    ...     allocator = plat.PluggableAllocator()
    ...     address = allocator.malloc(1000)
    ...     allocator.free(address, 1000)
    """

    def __repr__(self) -> str:
        return f"<plat.PluggableAllocator of {self.library}>"

    malloc_name = "plat_pool_torch_malloc"
    free_name = "plat_pool_torch_free"

    @property
    def library(self) -> str:
        """The file that has the pair."""
        return find("libplat_pool.so")

    def malloc(self, size: int, device: int = 0, stream: Any = 0) -> int:
        """An address for work queued on the stream from now on. Raises PoolError when there is no memory."""
        initialise()
        _want_own_process()
        size = whole("size", size)
        address = library.torch_malloc(size, whole("device", device, 0, _DEVICE_MAX), _handle(stream))
        if address == 0 and size > 0:
            raise library.error(library.NO_MEMORY)  # the pair says no more than that; the message does
        return address

    def free(self, address: int, size: int, device: int = 0, stream: Any = 0) -> None:
        """Gives back what work queued on the stream may still use. Like the pair itself it cannot fail: an address that is not the
        pool's is left alone."""
        _want_own_process()
        library.torch_free(whole("address", address, 0, _ADDRESS_MAX), whole("size", size), whole("device", device, 0, _DEVICE_MAX), _handle(stream))

    def stats(self, device: int = 0) -> Dict[str, int]:
        """What the pool of a device counts, as in Pool.stats."""
        initialise()
        _want_own_process()
        pool = library.torch_pool(whole("device", device, 0, _DEVICE_MAX))
        if pool == 0:
            raise library.error(library.INVALID)
        return library.stats(pool)


def _handle(stream: Any) -> int:
    if isinstance(stream, Stream):
        stream._check_open()
        return stream.handle
    return whole("stream", stream, 0, _ADDRESS_MAX)


_used_by: List[int] = []  # the process that made the pools


def _want_own_process() -> None:
    """The pools of a parent are no use to a forked child, and may be locked for ever."""
    if not _used_by:
        _used_by.append(os.getpid())
    if os.getpid() != _used_by[0]:
        raise ValueError(f"the pools of the pluggable allocator belong to process {_used_by[0]}, and this is a child; make a plat.Pool")
