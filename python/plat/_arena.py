# SPDX-License-Identifier: Apache-2.0
"""Blocks of a pool that end together."""
from typing import TYPE_CHECKING, Any, Union

from . import _pool_library as library
from ._arguments import whole
from ._buffer import Buffer
from ._handle import Handle
from ._owner import Owner
from ._svg import size_text
from ._weak import Weak

if TYPE_CHECKING:
    from ._pool import Pool


class Arena(Owner):
    """Hands out blocks that are given back in one step: reset keeps its memory for the next round, close gives it back to the pool.

    >>> import plat
    >>> with plat.Device(0) as device, plat.Pool(device) as pool, pool.arena() as arena:
    ...     first = arena.allocate(1000)
    ...     arena.reset()
    ...     first.closed, arena.allocate(1000).address == first.address
    (True, True)
    """

    def __init__(self, outer: "Union[Pool, Arena]", chunk_bytes: int = 0) -> None:
        super().__init__(outer)
        self.pool: "Pool" = outer.pool if isinstance(outer, Arena) else outer
        self._streams = Weak()
        chunk_bytes = whole("chunk_bytes", chunk_bytes)
        with outer._handle as handle:
            make = library.arena_nest if isinstance(outer, Arena) else library.arena_create
            self._handle = Handle(make(handle, chunk_bytes), "Arena", library.arena_destroy, outer._handle, alone=True)
            self._opened()

    def _words(self) -> str:
        return f"of {self.pool!r}"

    def allocate(self, size: int, alignment: int = 0) -> "ArenaBlock":
        """A block that lives until the arena is reset or closed."""
        return ArenaBlock(self, size, alignment)

    def arena(self, chunk_bytes: int = 0) -> "Arena":
        """An arena inside of this one, which ends with it at the latest."""
        return Arena(self, chunk_bytes)

    def reset(self) -> None:
        """Ends all blocks, and arenas inside of it, and keeps the memory."""
        self._check_open()
        self._settle()
        for child in reversed(self._living()):
            child.close()
        with self._handle as arena:
            library.arena_reset(arena)

    def _settle(self) -> None:
        self._handle.check_outside()
        super()._settle()
        for stream in self._streams:
            if not stream.closed:
                stream._finish()

    def _release(self) -> None:
        self._handle.end()


class ArenaBlock(Owner, Buffer):
    """Memory of an arena."""

    def __init__(self, arena: Arena, size: int, alignment: int) -> None:
        Buffer.__init__(self)
        Owner.__init__(self, arena)
        self.arena, self.size, alignment = arena, whole("size", size), whole("alignment", alignment)
        self._on_host = arena.pool._is_host("compute")
        with arena._handle as handle:
            self.address = library.arena_allocate(handle, self.size, alignment)
            self._opened()

    def _words(self) -> str:
        return f"of {size_text(self.size)} at {self.address:#x}"

    def _used_on(self, stream: Any) -> None:
        arena: Any = self.arena  # which waits, also when the block is forgotten
        while isinstance(arena, Arena):
            arena._streams.add(stream)
            arena = arena._parent

    def _settle(self) -> None:
        self._want_unseen()

    def _release(self) -> None:
        pass  # the arena has it
