# SPDX-License-Identifier: Apache-2.0
"""Device memory as the host sees it, where it is allowed to."""
import ctypes
from typing import Any

import acl

DLPACK_CPU = 1


def _want_host_access(buffer: Any, address: int) -> None:
    if buffer.size == 0:
        return
    try:
        acl.util.ptr_to_bytes(address, 1)
        acl.util.ptr_to_bytes(address + buffer.size - 1, 1)
    except ValueError:
        raise BufferError("the host may not touch device memory; copy with to_numpy, or set PLAT_HOST_ACCESS=allow") from None


def host_view(buffer: Any, address: int) -> Any:
    """All views of a buffer hang on one of these, so that the buffer knows whether it is seen."""
    _want_host_access(buffer, address)
    view = (ctypes.c_ubyte * buffer.size).from_address(address)
    view.owner = buffer  # lives as long as the view
    buffer._views.add(view)
    return view


def _like(buffer: Any) -> Any:
    """Shape and type of what lies there."""
    import numpy
    shape, dtype = buffer._like or ((buffer.size,), "uint8")
    return shape, numpy.dtype(dtype)


def array_interface(buffer: Any, address: int) -> Any:
    shape, dtype = _like(buffer)
    return {"version": 3, "shape": shape, "typestr": dtype.str, "descr": dtype.descr, "data": host_view(buffer, address)}


def dlpack(buffer: Any, address: int) -> Any:
    import math
    import numpy
    shape, dtype = _like(buffer)
    return numpy.frombuffer(host_view(buffer, address), dtype, math.prod(shape)).reshape(shape).__dlpack__()
