"""Streams and events."""
import weakref
from typing import Any, Optional

import acl

from ._errors import checked
from ._owner import Owner


class Stream(Owner):
    """A queue of work. Closing it waits for the work."""

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        self._pools: "weakref.WeakSet[Any]" = weakref.WeakSet()  # they hold frees that wait for this stream
        self.handle = checked(acl.rt.create_stream())
        self._opened()

    def _release(self) -> None:
        for pool in list(self._pools):
            pool._forget(self)
        checked(acl.rt.destroy_stream(self.handle))

    @property
    def done(self) -> bool:
        self._check_open()
        return checked(acl.rt.stream_query(self.handle)) == acl.ACL_STREAM_STATUS_COMPLETE

    def synchronize(self) -> None:
        """Waits for everything queued so far; raises if a task of it failed."""
        self._check_open()
        checked(acl.rt.synchronize_stream(self.handle))

    def wait(self, event: "Event") -> None:
        """Later work of this stream waits for what the event recorded."""
        self._check_open()
        event._check_open()
        checked(acl.rt.stream_wait_event(self.handle, event.handle))

    def fill(self, buffer: Any, value: int) -> None:
        """Sets every byte of a buffer, in stream order."""
        self._check_open()
        address = buffer._range(0, buffer.size)
        checked(acl.rt.memset_async(address, buffer.size, value, buffer.size, self.handle))


class Event(Owner):
    """A mark in a stream."""

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        self.handle = checked(acl.rt.create_event())
        self._opened()

    def _release(self) -> None:
        checked(acl.rt.destroy_event(self.handle))

    def record(self, stream: Optional[Stream] = None) -> None:
        """Marks the work that a stream, or the default one, has been given so far."""
        self._check_open()
        checked(acl.rt.record_event(self.handle, stream.handle if stream else 0))

    def synchronize(self) -> None:
        """Waits for the recorded work."""
        self._check_open()
        checked(acl.rt.synchronize_event(self.handle))
