# SPDX-License-Identifier: Apache-2.0
"""Events and notifies: how streams wait for each other, also those of other processes."""
from typing import Any, Optional

import acl

from ._arguments import kind, whole
from ._errors import checked
from ._owner import Owner
from ._stream import Stream

_SECONDS_MAX = (1 << 32) - 2


def _number(stream: Optional[Stream]) -> int:
    """None is the device's own stream."""
    if stream is None:
        return 0
    kind("stream", stream, Stream)._check_open()
    return stream.handle


class Event(Owner):
    """A mark in a stream."""

    def __init__(self, device: Any, shared: bool = False, handle: Optional[int] = None) -> None:
        super().__init__(device)
        with self._here():
            if handle is None:
                handle = checked(acl.rt.create_event_ex_with_flag(acl.ACL_EVENT_IPC) if shared else acl.rt.create_event())
        self.handle = handle
        self._opened()

    def _words(self) -> str:
        return f"{self.handle:#x}"

    def _release(self) -> None:
        with self._here():
            checked(acl.rt.destroy_event(self.handle))

    def record(self, stream: Optional[Stream] = None) -> None:
        """Marks the work that a stream, or the default one, has been given so far."""
        self._check_open()
        checked(acl.rt.record_event(self.handle, _number(stream)))

    @property
    def done(self) -> bool:
        """Whether the recorded work has completed."""
        self._check_open()
        return checked(acl.rt.query_event_status(self.handle)) == acl.ACL_EVENT_RECORDED_STATUS_COMPLETE

    def synchronize(self) -> None:
        """Waits for the recorded work."""
        self._check_open()
        checked(acl.rt.synchronize_event(self.handle))

    def share(self) -> "SharedEvent":
        """What other processes open it by. Only an event of device.event(shared=True) can be shared."""
        self._check_open()
        return SharedEvent(checked(acl.rt.ipc_get_event_handle(self.handle)))


class SharedEvent:
    """What Event.share gives: a small value that can be pickled."""

    def __init__(self, token: bytes) -> None:
        self.token = token

    def __repr__(self) -> str:
        return f"<plat.SharedEvent {self.token[:8].hex()}>"

    def open(self, device: Any) -> Event:
        """The event, in this process, which can wait for what the other one records."""
        from ._device import Device
        kind("device", device, Device)._check_open()
        return Event(device, handle=checked(acl.rt.ipc_open_event_handle(self.token)))


class Notify(Owner):
    """A flag that a record sets and one wait takes. The process that made it waits; it, and those that opened it, record."""

    def __init__(self, device: Any, handle: Optional[int] = None) -> None:
        super().__init__(device)
        with self._here():
            self.handle = checked(acl.rt.create_notify(acl.ACL_NOTIFY_DEFAULT)) if handle is None else handle
        self._opened()

    def _words(self) -> str:
        return f"{self.handle:#x}"

    def _release(self) -> None:
        with self._here():
            checked(acl.rt.destroy_notify(self.handle))

    def record(self, stream: Optional[Stream] = None) -> None:
        """Sets it, when the stream gets there."""
        self._check_open()
        checked(acl.rt.record_notify(self.handle, _number(stream)))

    def wait(self, stream: Optional[Stream] = None, timeout: int = 0) -> None:
        """Later work of the stream waits until it is set, and takes it; after so many seconds (0: never) the stream fails."""
        self._check_open()
        checked(acl.rt.wait_and_reset_notify(self.handle, _number(stream), whole("timeout", timeout, 0, _SECONDS_MAX)))

    def share(self) -> "SharedNotify":
        """What other processes open it by, any of this machine."""
        self._check_open()
        return SharedNotify(checked(acl.rt.notify_get_export_key(self.handle, acl.ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION)))


class SharedNotify:
    """What Notify.share gives: a small value that can be pickled."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __repr__(self) -> str:
        return f"<plat.SharedNotify {self.key[:16]}>"

    def open(self, device: Any) -> Notify:
        """The notify, in this process, which can record it."""
        from ._device import Device
        kind("device", device, Device)._check_open()
        return Notify(device, checked(acl.rt.notify_import_by_key(self.key, acl.ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT)))
