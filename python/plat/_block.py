# SPDX-License-Identifier: Apache-2.0
"""A block of a pool."""
from typing import TYPE_CHECKING, Any, Optional, Tuple

from . import _pool_library as library
from ._arguments import kind, whole
from ._buffer import Buffer
from ._owner import Owner
from ._stream import Stream
from ._svg import size_text

if TYPE_CHECKING:
    from ._pool import Pool


def text_of(name: str, value: Any) -> bytes:
    """A name, as C takes it."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{name} has a NUL in it")
    return value.encode()


class Block(Owner, Buffer):
    """Memory of a pool. Closed after work was queued on its stream, it is reused when that work has completed."""

    def __init__(self, pool: "Pool", size: int, stream: Optional[Any] = None, alignment: int = 0, tag: int = 0, purpose: str = "compute",
                 address: int = 0) -> None:
        Buffer.__init__(self)
        Owner.__init__(self, pool)
        self.pool, self.size, self.stream, self.tag, self.purpose = pool, whole("size", size), stream, tag, purpose
        self._on_host = pool._is_host(purpose)
        pool._note(stream)
        with pool._handle as handle:
            self.address = address or pool._take(handle, self.size, stream, alignment, tag, purpose)
            self._opened()  # before the pool can be closed

    def _words(self) -> str:
        tag = f", tag {self.tag}" if self.tag else ""
        host = ", on the host" if self._on_host else ""
        return f"of {size_text(self.size)}{self._array_words()} at {self.address:#x}{tag}{host}"

    @property
    def asleep(self) -> bool:
        """Whether Pool.sleep took its memory, and Pool.wake has not brought it back."""
        self._check_open()
        if not self.pool._was_put_to_sleep:
            return False
        owner = self.pool.owner(self.address)
        return owner is not None and owner.asleep

    def _range(self, offset: int, count: int) -> int:
        address = super()._range(offset, count)
        if self.asleep:
            raise library.asleep(f"{self!r} is asleep; wake({self.tag}) brings its memory back")
        return address

    def _check_open(self) -> None:
        super()._check_open()
        self.pool._check_open()

    def _used_on(self, stream: Any) -> None:
        if stream is not self.stream:
            self.use_on(stream)

    def use_on(self, stream: Any) -> None:
        """Work on another stream than its own uses it too: when it is closed, it waits for what is queued there by then. The calls of
        Stream do this themselves."""
        self._check_open()
        kind("stream", stream, Stream)._check_open()
        self.pool._note(stream)
        with self.pool._handle as pool:
            library.use_on(pool, self.address, stream._pool_handle)

    def resize(self, size: int) -> bool:
        """Changes the size where it stands. False, and nothing changed, when its neighbour is in the way."""
        self._check_open()
        size = whole("size", size)
        self._settle()
        with self.pool._handle as pool:
            if not library.resize(pool, self.address, size):
                return False
            self.size, self._like = size, None
        return True

    @property
    def usable(self) -> Tuple[int, int]:
        """Bytes from its start that are its own: without its tail, and with it."""
        self._check_open()
        with self.pool._handle as pool:
            return library.usable(pool, self.address)

    def set_name(self, name: str) -> None:
        """What tools call it, if one listens."""
        self._check_open()
        with self.pool._handle as pool:
            library.name_block(pool, self.address, text_of("name", name))

    def _repr_svg_(self) -> str:
        return self._picture()

    def _settle(self) -> None:
        self._want_unseen()  # streams are waited for by the pool, later

    def _stream_of_free(self) -> Optional[int]:
        # A stream that was closed before has finished its work.
        return self.stream._pool_handle if self.stream is not None and not self.stream.closed else None

    def _release(self) -> None:
        try:
            with self.pool._handle as pool:
                library.free(pool, self.address, self._stream_of_free())
        except ValueError:
            if not self.pool.closed:
                raise
