# SPDX-License-Identifier: Apache-2.0
"""Streams."""
from typing import TYPE_CHECKING, Any, Callable, List, Optional

import acl

from ._arguments import kind, whole
from ._buffer import Buffer, array_for
from ._errors import PlatError, checked
from ._owner import Owner
from ._weak import Weak

if TYPE_CHECKING:
    from ._event import Event


class Stream(Owner):
    """A queue of work. Closing it waits for the work."""

    def __init__(self, device: Any, priority: Optional[int] = None) -> None:
        super().__init__(device)
        self._priority = None if priority is None else whole("priority", priority, 0, 7)
        self._pools = Weak()                         # they hold frees that wait for this stream
        self._arrays: List[Any] = []                 # of the host, which copies on their way read or write
        self._failure: Optional[PlatError] = None    # of work that was waited for on somebody else's behalf
        self._allocator: Any = None                  # the pool that was registered on it
        self.handle = self._make()
        self._opened()

    def _make(self) -> int:
        with self._here():
            if self._priority is None:
                return checked(acl.rt.create_stream())
            return checked(acl.rt.create_stream_with_config(self._priority, 0))

    @property
    def _pool_handle(self) -> int:
        """What the pool calls it."""
        return self.handle

    def _words(self) -> str:
        return f"{self.handle:#x}"

    def _finish(self) -> None:
        """Waits for the work. If it failed, that is told to whoever synchronizes next; it raises only if it could not wait."""
        with self._here():
            ret = acl.rt.synchronize_stream(self.handle)
            if ret == 0:
                return
            failure = PlatError(ret, acl.get_recent_err_msg())
            status, ret = acl.rt.stream_query(self.handle)
            if ret != 0 or status != acl.ACL_STREAM_STATUS_COMPLETE:
                raise failure
            self._failure = self._failure or failure

    def _release(self) -> None:
        if self._allocator is not None and not self._allocator.closed:
            self._allocator._unregister(self)
        for pool in self._pools:
            pool._forget(self)
        self._destroy()
        self._arrays.clear()

    def _settle(self) -> None:
        if any(True for _ in self._pools):
            self._finish()

    def _destroy(self) -> None:
        with self._here():
            checked(acl.rt.destroy_stream(self.handle))

    @property
    def done(self) -> bool:
        self._check_open()
        return checked(acl.rt.stream_query(self.handle)) == acl.ACL_STREAM_STATUS_COMPLETE

    def synchronize(self) -> None:
        """Waits for everything queued so far; raises if a task of it failed."""
        self._check_open()
        arrays = len(self._arrays)
        checked(acl.rt.synchronize_stream(self.handle))
        del self._arrays[:arrays]
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def wait(self, event: "Event") -> None:
        """Later work of this stream waits for what the event recorded."""
        from ._event import Event
        self._check_open()
        kind("event", event, Event)._check_open()
        checked(acl.rt.stream_wait_event(self.handle, event.handle))

    def _keep(self, array: Any) -> None:
        if self._arrays and self.done:
            self._arrays.clear()
        self._arrays.append(array)

    def fill(self, buffer: Any, value: int) -> None:
        """Sets every byte of a buffer, in stream order."""
        self._check_open()
        address = kind("buffer", buffer, Buffer)._range(0, buffer.size)
        value = whole("value", value, 0, 255)
        buffer._used_on(self)
        checked(acl.rt.memset_async(address, buffer.size, value, buffer.size, self.handle))

    def copy(self, target: Any, source: Any, size: Optional[int] = None, target_offset: int = 0, source_offset: int = 0) -> None:
        """Copies from one buffer to another, in stream order; without a size, as much as both have."""
        self._check_open()
        kind("target", target, Buffer), kind("source", source, Buffer)
        target_offset, source_offset = whole("target_offset", target_offset), whole("source_offset", source_offset)
        if size is None:
            size = max(min(target.size - target_offset, source.size - source_offset), 0)
        size = whole("size", size)
        to, at = target._range(target_offset, size), source._range(source_offset, size)
        ways = {(True, True): acl.ACL_MEMCPY_HOST_TO_HOST, (True, False): acl.ACL_MEMCPY_HOST_TO_DEVICE,
                (False, True): acl.ACL_MEMCPY_DEVICE_TO_HOST, (False, False): acl.ACL_MEMCPY_DEVICE_TO_DEVICE}
        if size:
            target._used_on(self), source._used_on(self)
            checked(acl.rt.memcpy_async(to, size, at, size, ways[source._on_host, target._on_host], self.handle))

    def from_numpy(self, buffer: Any, array: Any, offset: int = 0) -> None:
        """Copies an array to the device in stream order. A change of the array before the copy has run may be copied or not."""
        self._check_open()
        source = array_for(array)
        address = kind("buffer", buffer, Buffer)._range(whole("offset", offset), source.nbytes)
        if source.nbytes:
            way = acl.ACL_MEMCPY_HOST_TO_HOST if buffer._on_host else acl.ACL_MEMCPY_HOST_TO_DEVICE
            buffer._used_on(self)
            self._keep(source)
            checked(acl.rt.memcpy_async(address, source.nbytes, acl.util.numpy_to_ptr(source), source.nbytes, way, self.handle))

    def to_numpy(self, buffer: Any, shape: Any = None, dtype: Any = None, offset: int = 0) -> Any:
        """An array that the stream fills in its order: read it after synchronize()."""
        import numpy
        self._check_open()
        shape, dtype, count = kind("buffer", buffer, Buffer)._shaped(shape, dtype, offset)
        address = buffer._range(offset, count)
        target = numpy.zeros(shape, dtype)
        if count:
            way = acl.ACL_MEMCPY_HOST_TO_HOST if buffer._on_host else acl.ACL_MEMCPY_DEVICE_TO_HOST
            buffer._used_on(self)
            self._keep(target)
            checked(acl.rt.memcpy_async(acl.util.numpy_to_ptr(target), count, address, count, way, self.handle))
        return target

    def call(self, function: Callable[..., Any], *args: Any) -> None:
        """Calls a function of the host in stream order, in a thread of the library. It must not wait for this stream."""
        self._check_open()
        if not callable(function):
            raise TypeError(f"function must be callable, not {type(function).__name__}")
        checked(acl.rt.launch_host_func(self.handle, lambda given: function(*given), args))


class DefaultStream(Stream):
    """The device's own stream, which is always there."""

    def _make(self) -> int:
        return 0

    @property
    def _pool_handle(self) -> int:
        return (1 << 64) - 1

    def _words(self) -> str:
        return f"of device {self._parent.index}"  # type: ignore[union-attr]

    def _settle(self) -> None:
        self._finish()

    def _destroy(self) -> None:
        pass
