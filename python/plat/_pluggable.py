"""The entry pair by which torch_npu takes its memory from another library."""
from typing import Any, Dict

from . import _pool_library as library
from ._device import initialise
from ._libraries import find


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

    malloc_name = "plat_pool_torch_malloc"
    free_name = "plat_pool_torch_free"

    @property
    def library(self) -> str:
        """The file that has the pair."""
        return find("libplat_pool.so")

    def malloc(self, size: int, device: int = 0, stream: Any = 0) -> int:
        """An address for work queued on the stream from now on. Raises PoolError when there is no memory."""
        initialise()
        address = library.torch_malloc(size, device, _handle(stream))
        if address == 0 and size > 0:
            raise library.error(library.NO_MEMORY)  # the pair says no more than that; the message does
        return address

    def free(self, address: int, size: int, device: int = 0, stream: Any = 0) -> None:
        """Gives back what work queued on the stream may still use. Like the pair itself it cannot fail: an address that is not the
        pool's is left alone."""
        library.torch_free(address, size, device, _handle(stream))

    def stats(self, device: int = 0) -> Dict[str, int]:
        """What the pool of a device counts, as in Pool.stats."""
        initialise()
        pool = library.torch_pool(device)
        if pool == 0:
            raise library.error(library.INVALID)
        return library.stats(pool)


def _handle(stream: Any) -> int:
    return stream if isinstance(stream, int) else stream.handle
