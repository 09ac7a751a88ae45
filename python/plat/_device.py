# SPDX-License-Identifier: Apache-2.0
"""A device, as the thread that opened it uses it."""
import contextlib
from typing import Any, Iterator, Optional

import acl

from ._arguments import whole
from ._errors import PlatError, checked
from ._event import Event, Notify
from ._managed import ManagedMemory
from ._memory import PhysicalMemory, Reservation
from ._owner import Owner
from ._stream import DefaultStream, Stream


def initialise() -> None:
    """ACL is initialised once for each process; programs that did it themselves are not disturbed."""
    ret = acl.init()
    if ret not in (0, acl.ACL_ERROR_REPEAT_INITIALIZE):
        raise PlatError(ret, acl.get_recent_err_msg())


class Device(Owner):
    """A device. Everything made from it is closed before it is reset.

    >>> import plat
    >>> with plat.Device(0) as device:
    ...     device.total_bytes > 0
    True
    """

    def __init__(self, index: int = 0) -> None:
        super().__init__()
        self.index = whole("index", index, 0, (1 << 31) - 1)
        initialise()
        checked(acl.rt.set_device(self.index))
        self._opened()
        self._context = checked(acl.rt.get_context())
        self._default_stream: Optional[DefaultStream] = None

    def _words(self) -> str:
        return str(self.index)

    @contextlib.contextmanager
    def _here(self) -> Iterator[None]:
        before, ret = acl.rt.get_context()
        if ret == 0 and before == self._context:
            yield
            return
        checked(acl.rt.set_context(self._context))
        try:
            yield
        finally:
            if ret == 0 and before:
                acl.rt.set_context(before)

    def _release(self) -> None:
        checked(acl.rt.reset_device(self.index))

    def _repr_svg_(self) -> str:
        return self._picture()

    def use(self) -> None:
        """Makes the device current for the calling thread, which may be another one than opened it."""
        self._check_open()
        checked(acl.rt.set_context(self._context))

    @property
    def free_bytes(self) -> int:
        self._check_open()
        return checked(acl.rt.get_mem_info(acl.ACL_HBM_MEM))[0]

    @property
    def total_bytes(self) -> int:
        self._check_open()
        return checked(acl.rt.get_mem_info(acl.ACL_HBM_MEM))[1]

    def reserve(self, size: int) -> Reservation:
        """A range of addresses, without memory."""
        return Reservation(self, size)

    def allocate(self, size: int) -> PhysicalMemory:
        """Physical memory, in multiples of 2 MiB."""
        return PhysicalMemory(self, size)

    def stream(self, priority: Optional[int] = None) -> Stream:
        """A queue of work. Of several that can run, the one with the lowest priority, from 0 to 7, runs first."""
        return Stream(self, priority)

    @property
    def default_stream(self) -> Stream:
        """The stream that work goes to which names none."""
        self._check_open()
        if self._default_stream is None or self._default_stream.closed:
            self._default_stream = DefaultStream(self)
        return self._default_stream

    def event(self, shared: bool = False) -> Event:
        """A mark in a stream. With shared, other processes can open it (Event.share)."""
        return Event(self, shared)

    def notify(self) -> Notify:
        """A flag that one stream sets and another, of any process, waits for and takes."""
        return Notify(self)

    def managed(self, shape: Any, dtype: Any = "uint8") -> ManagedMemory:
        """Memory for an array that host and device use by one address."""
        return ManagedMemory(self, shape, dtype)

    def synchronize(self) -> None:
        """Waits for all streams."""
        self._check_open()
        checked(acl.rt.synchronize_device())
