# SPDX-License-Identifier: Apache-2.0
"""Memory that host and device use by one address."""
from typing import Any, Dict, List, Optional, Union

import acl

from ._arguments import kind, one_of
from ._buffer import Buffer, like
from ._errors import checked
from ._owner import Owner
from ._stream import Stream
from ._svg import size_text

_PAGE = 2 << 20
_ADVICE = {"read_mostly": acl.ACL_MEM_ADVISE_SET_READ_MOSTLY, "preferred_location": acl.ACL_MEM_ADVISE_SET_PREFERRED_LOCATION,
           "accessed_by": acl.ACL_MEM_ADVISE_SET_ACCESSED_BY}
_UNDO = 1  # the advice that takes another one back is the next number
_HOST, _NONE = -1, -2  # ids that are none of a device
_IDS_MAX = 64

Place = Union[Any, str]  # a Device, or "host"


def _location(place: Place) -> Dict[str, int]:
    from ._device import Device
    if place == "host":
        return {"type": acl.ACL_MEM_LOCATIONTYPE_HOST}
    if not isinstance(place, Device):
        raise TypeError(f"place must be a plat.Device or 'host', not {place!r}")
    place._check_open()
    return {"type": acl.ACL_MEM_LOCATIONTYPE_DEVICE, "id": place.index}


class ManagedMemory(Owner, Buffer):
    """An array's memory, which host and device see at one address, in whole pages of 2 MiB. np.asarray of it is the memory itself. Who writes
    while the other reads is for the program to order: wait for the stream first.

    >>> import numpy, plat
    >>> with plat.Device(0) as device, device.managed(4, "i4") as memory:
    ...     memory.fill(0)
    ...     view = numpy.asarray(memory)
    ...     view[1] = 7
    ...     memory.to_numpy().tolist()
    ...     del view
    [0, 7, 0, 0]
    """

    def __init__(self, device: Any, shape: Any, dtype: Any = "uint8") -> None:
        Buffer.__init__(self)
        Owner.__init__(self, device)
        shape, dtype, self.size = like(shape, dtype)
        self.device, self._like, self._pages = device, (shape, dtype), -(-self.size // _PAGE) * _PAGE
        with self._here():
            self.address = checked(acl.rt.mem_alloc_managed(self._pages, acl.ACL_RT_MEM_ATTACH_GLOBAL))
        self._opened()

    def _words(self) -> str:
        return f"of {size_text(self.size)}{self._array_words()} at {self.address:#x}"

    def advise(self, advice: str, place: Place = "host", undo: bool = False) -> None:
        """Says how it will be used: "read_mostly", "preferred_location" or "accessed_by", the latter two with a Device or "host". It is kept
        and told; all places are equally near here."""
        self._check_open()
        number = one_of("advice", advice, _ADVICE)
        where = {} if number == acl.ACL_MEM_ADVISE_SET_READ_MOSTLY else _location(place)
        checked(acl.rt.mem_managed_advise(self.address, self._pages, number + (_UNDO if undo else 0), where))

    def prefetch(self, place: Place, stream: Optional[Stream] = None) -> None:
        """Asks, in the order of a stream, for it to be brought to a Device or the "host"."""
        self._check_open()
        if stream is not None:
            kind("stream", stream, Stream)._check_open()
            self._used_on(stream)
        checked(acl.rt.mem_managed_prefetch_async(self.address, self._pages, _location(place), 0, stream.handle if stream is not None else 0))

    def _attribute(self, which: int, count: int = 1) -> Any:
        self._check_open()
        return checked(acl.rt.mem_managed_get_attr(which, self.address, self._pages, 4 * count))

    def _place(self, which: int) -> Union[int, str, None]:
        found = self._attribute(which)
        return None if found == _NONE else "host" if found == _HOST else found

    @property
    def read_mostly(self) -> bool:
        return bool(self._attribute(acl.ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY))

    @property
    def preferred_location(self) -> Union[int, str, None]:
        """The number of a device, "host", or None."""
        return self._place(acl.ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION)

    @property
    def last_prefetch(self) -> Union[int, str, None]:
        """Where it was last asked to be brought."""
        return self._place(acl.ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION)

    @property
    def accessed_by(self) -> "List[Union[int, str]]":
        """Numbers of devices, and "host"."""
        found = self._attribute(acl.ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, _IDS_MAX)
        return ["host" if each == _HOST else each for each in found if each != _NONE]

    def _settle(self) -> None:
        Buffer._settle(self)

    def _release(self) -> None:
        with self._here():
            checked(acl.rt.free(self.address))
