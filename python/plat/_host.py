"""Device memory as the host sees it, where it is allowed to."""
import ctypes
from typing import Any

import acl

DLPACK_CPU = 1


def _want_host_access(buffer: Any, address: int) -> None:
    try:
        acl.util.ptr_to_bytes(address, 1)
        acl.util.ptr_to_bytes(address + buffer.size - 1, 1)
    except ValueError:
        raise BufferError("the host may not touch device memory; copy with to_numpy, or set PLAT_HOST_ACCESS=allow") from None


def host_view(buffer: Any, address: int) -> Any:
    _want_host_access(buffer, address)
    view = (ctypes.c_ubyte * buffer.size).from_address(address)
    view.owner = buffer  # lives as long as the view
    return view


def array_interface(buffer: Any, address: int) -> Any:
    _want_host_access(buffer, address)
    return {"version": 3, "shape": (buffer.size,), "typestr": "|u1", "data": (address, False)}


def dlpack(buffer: Any, address: int) -> Any:
    import numpy
    return numpy.frombuffer(host_view(buffer, address), numpy.uint8).__dlpack__()
