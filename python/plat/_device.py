"""A device, as the thread that opened it uses it."""
import acl

from ._errors import PlatError, checked
from ._memory import PhysicalMemory, Reservation
from ._owner import Owner
from ._stream import Event, Stream


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
        initialise()
        checked(acl.rt.set_device(index))
        self._opened()
        self.index = index
        self._context = checked(acl.rt.get_context())

    def _release(self) -> None:
        checked(acl.rt.reset_device(self.index))

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

    def stream(self) -> Stream:
        return Stream(self)

    def event(self) -> Event:
        return Event(self)

    def synchronize(self) -> None:
        """Waits for all streams."""
        self._check_open()
        checked(acl.rt.synchronize_device())
