"""The pool of libplat_pool.so."""
from typing import Any, Dict, Optional

from . import _pool_library as library
from ._memory import Buffer
from ._owner import Owner


class Pool(Owner):
    """Device memory handed out in small blocks that keep every rule of divided memory.

    >>> import numpy, plat
    >>> with plat.Device(0) as device, plat.Pool(device) as pool:
    ...     block = pool.allocate(100)
    ...     block.from_numpy(numpy.array([1, 2, 3], dtype=numpy.uint8))
    ...     block.address % 64, block.to_numpy(3).tolist()
    (0, [1, 2, 3])
    """

    def __init__(self, device: Any, limit_bytes: int = 0, name: str = "python") -> None:
        super().__init__(device)
        self.device = device
        self._pool = library.create(name, device.index, limit_bytes)
        self._opened()

    def allocate(self, size: int, stream: Optional[Any] = None) -> "Block":
        """A block, for work queued on the stream from now on if there is one."""
        return Block(self, size, stream)

    def from_numpy(self, array: Any, stream: Optional[Any] = None) -> "Block":
        """A block with a copy of an array; its to_numpy() gives the array back.

        >>> import numpy, plat
        >>> with plat.Device(0) as device, plat.Pool(device) as pool:
        ...     block = pool.from_numpy(numpy.eye(2))
        ...     block.to_numpy().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        import numpy
        array = numpy.asarray(array)
        block = self.allocate(max(array.nbytes, 1), stream)
        try:
            block.from_numpy(array)
        except BaseException:
            block.close()
            raise
        block._like = array.shape, array.dtype
        return block

    @property
    def stats(self) -> Dict[str, int]:
        """What the pool holds: reserved_bytes, used_bytes, live_blocks and so on."""
        self._check_open()
        return library.stats(self._pool)

    def trim(self, keep_bytes: int = 0) -> None:
        """Gives idle memory back to the device."""
        self._check_open()
        library.trim(self._pool, keep_bytes)

    def _repr_svg_(self) -> str:
        from ._draw import draw
        return draw(self).svg

    def _forget(self, stream: Any) -> None:
        if not self.closed:
            library.forget(self._pool, stream.handle)

    def _release(self) -> None:
        library.destroy(self._pool)


class Block(Owner, Buffer):
    """Memory of a pool. Closed after work was queued on its stream, it is reused when that work has completed."""

    def __init__(self, pool: Pool, size: int, stream: Optional[Any]) -> None:
        if stream is not None:
            stream._check_open()
            stream._pools.add(pool)
        super().__init__(pool)
        self.pool, self.size, self.stream = pool, size, stream
        self.address = library.allocate(pool._pool, size, stream.handle if stream else None)
        self._opened()

    def _release(self) -> None:
        # A stream that was closed before has finished its work.
        stream = self.stream.handle if self.stream and not self.stream.closed else None
        library.free(self.pool._pool, self.address, stream)
