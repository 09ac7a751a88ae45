# SPDX-License-Identifier: Apache-2.0
"""Device memory in Python: objects that give back what they hold, and errors that explain themselves.

The seven steps of virtual memory:

>>> import numpy, plat
>>> with plat.Device(0) as device:
...     before = device.free_bytes
...     with device.reserve(4 * plat.MIB) as addresses, device.allocate(2 * plat.MIB) as memory:
...         with addresses.map(memory) as mapping:
...             mapping.from_numpy(numpy.arange(4, dtype=numpy.int32))
...             mapping.to_numpy(4, numpy.int32).tolist()
...     device.free_bytes == before
[0, 1, 2, 3]
True

A call that fails raises, and says which rule it broke:

>>> with plat.Device(0) as device:
...     try:
...         device.allocate(1 << 50)
...     except plat.PlatError as error:
...         print(error.rule, error.code, error.function)
MEM-Capacity 207001 aclrtMallocPhysical
"""
import importlib
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from ._arena import Arena, ArenaBlock
    from ._block import Block
    from ._check import Check, check
    from ._device import Device
    from ._draw import Drawing, draw
    from ._errors import PlatError, PoolError
    from ._event import Event, Notify, SharedEvent, SharedNotify
    from ._findings import FindingsError, Finding, Frame, Involved, Site
    from ._inspector import InspectorError
    from ._buffer import Buffer
    from ._kv_cache import KvCache
    from ._managed import ManagedMemory
    from ._memory import Mapping, PhysicalMemory, Reservation
    from ._pluggable import PluggableAllocator
    from ._pool import LiveBlock, Pool
    from ._record import Life, Recording, record
    from ._share import SharedMemory
    from ._stream import Stream
    from ._trial import TrialError, sleep_trial
    from ._version import __version__

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

# Which file has which name. They are read when they are first used: `plat.check` works only if it comes before the module acl.
_HOMES = {
    "_arena": ["Arena", "ArenaBlock"],
    "_block": ["Block"],
    "_check": ["Check", "check"],
    "_device": ["Device"],
    "_draw": ["Drawing", "draw"],
    "_errors": ["PlatError", "PoolError"],
    "_event": ["Event", "Notify", "SharedEvent", "SharedNotify"],
    "_findings": ["Finding", "FindingsError", "Frame", "Involved", "Site"],
    "_inspector": ["InspectorError"],
    "_buffer": ["Buffer"],
    "_kv_cache": ["KvCache"],
    "_managed": ["ManagedMemory"],
    "_memory": ["Mapping", "PhysicalMemory", "Reservation"],
    "_pluggable": ["PluggableAllocator"],
    "_pool": ["LiveBlock", "Pool"],
    "_record": ["Life", "Recording", "record"],
    "_share": ["SharedMemory"],
    "_stream": ["Stream"],
    "_trial": ["TrialError", "sleep_trial"],
    "_version": ["__version__"],
}

__all__ = sorted(["GIB", "KIB", "MIB", *(name for names in _HOMES.values() for name in names)])


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(importlib.import_module(f".{home}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'plat' has no attribute {name!r}")


def __dir__() -> List[str]:
    return __all__
