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
from ._device import Device
from ._errors import PlatError, PoolError
from ._memory import Buffer, Mapping, PhysicalMemory, Reservation
from ._pool import Block, Pool
from ._share import SharedMemory
from ._stream import Event, Stream

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

__all__ = ["Block", "Buffer", "Device", "Event", "GIB", "KIB", "MIB", "Mapping", "PhysicalMemory", "PlatError", "Pool",
           "PoolError", "Reservation", "SharedMemory", "Stream"]
