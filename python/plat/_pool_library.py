"""plat/pool.h, as far as the package needs it. ctypes lets go of the interpreter's lock around every call."""
import ctypes
import functools
import os
from typing import Any, Dict, Optional

from ._errors import PoolError
from ._libraries import find

CALLS = ("create", "allocate", "free", "trim", "forget", "destroy", "torch_malloc", "torch_free")  # what takes or gives back memory
INVALID = 1
NO_MEMORY = 2
_ROOM_BYTES = 512  # for options of a newer library than this file knows


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("device", ctypes.c_int32),
                ("source", ctypes.c_int), ("limit_bytes", ctypes.c_uint64)]


class Stats(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in (
        "reserved_bytes", "reserved_peak", "used_bytes", "used_peak", "cached_bytes", "idle_bytes", "live_blocks", "maps",
        "unmaps", "remaps", "out_of_memory", "address_bytes", "bookkeeping_bytes", "most_remaps",
        "host_bytes", "asleep_bytes")]


_POINTER, _U64 = ctypes.c_void_p, ctypes.c_uint64
_SIGNATURES = {
    "plat_pool_options_init": [_POINTER], "plat_pool_create": [_POINTER, _POINTER], "plat_pool_destroy": [_POINTER],
    "plat_pool_alloc": [_POINTER, _U64, _POINTER], "plat_pool_alloc_on": [_POINTER, _U64, _POINTER, _POINTER],
    "plat_pool_free": [_POINTER, _POINTER], "plat_pool_free_on": [_POINTER, _POINTER, _POINTER],
    "plat_pool_forget_stream": [_POINTER, _POINTER],
    "plat_pool_get_stats": [_POINTER, _POINTER], "plat_pool_trim": [_POINTER, _U64],
    "plat_pool_torch_malloc": [ctypes.c_size_t, ctypes.c_int, _POINTER],
    "plat_pool_torch_free": [_POINTER, ctypes.c_size_t, ctypes.c_int, _POINTER],
    "plat_pool_torch_pool": [ctypes.c_int],
}


@functools.lru_cache(maxsize=None)
def load() -> Any:
    """The library, with the types of its calls."""
    try:
        library = ctypes.CDLL(find("libplat_pool.so"), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
    except OSError as error:
        raise ImportError(f"the pool needs libplat_pool.so: {error}") from None
    for name, arguments in _SIGNATURES.items():
        getattr(library, name).argtypes = arguments
    library.plat_pool_options_init.restype = None
    library.plat_pool_torch_malloc.restype = ctypes.c_void_p
    library.plat_pool_torch_free.restype = None
    library.plat_pool_torch_pool.restype = ctypes.c_void_p
    library.plat_pool_last_error.restype = ctypes.c_char_p
    library.plat_pool_status_name.restype = ctypes.c_char_p
    return library


def error(status: int) -> PoolError:
    """What went wrong in this thread just now."""
    return PoolError(status, load().plat_pool_status_name(status).decode(), load().plat_pool_last_error().decode())


def check(status: int) -> None:
    if status != 0:
        raise error(status)


def create(name: str, device: int, limit_bytes: int) -> int:
    room = ctypes.create_string_buffer(_ROOM_BYTES)
    load().plat_pool_options_init(room)
    options = Options.from_buffer(room)
    kept = name.encode()
    options.name, options.device, options.limit_bytes = kept, device, limit_bytes
    pool = ctypes.c_void_p()
    check(load().plat_pool_create(room, ctypes.byref(pool)))
    return pool.value or 0


def allocate(pool: int, size: int, stream: Optional[int]) -> int:
    address = ctypes.c_void_p()
    if stream is None:
        check(load().plat_pool_alloc(pool, size, ctypes.byref(address)))
    else:
        check(load().plat_pool_alloc_on(pool, size, stream, ctypes.byref(address)))
    return address.value or 0


def free(pool: int, address: int, stream: Optional[int]) -> None:
    check(load().plat_pool_free(pool, address) if stream is None else load().plat_pool_free_on(pool, address, stream))


def stats(pool: int) -> Dict[str, int]:
    values = Stats(struct_size=ctypes.sizeof(Stats))
    check(load().plat_pool_get_stats(pool, ctypes.byref(values)))
    return {name: getattr(values, name) for name, _ in Stats._fields_[1:]}


def trim(pool: int, keep_bytes: int) -> None:
    check(load().plat_pool_trim(pool, keep_bytes))


def forget(pool: int, stream: int) -> None:
    check(load().plat_pool_forget_stream(pool, stream))


def destroy(pool: int) -> None:
    check(load().plat_pool_destroy(pool))


def torch_malloc(size: int, device: int, stream: int) -> int:
    return load().plat_pool_torch_malloc(size, device, stream) or 0


def torch_free(address: int, size: int, device: int, stream: int) -> None:
    load().plat_pool_torch_free(address, size, device, stream)


def torch_pool(device: int) -> int:
    return load().plat_pool_torch_pool(device) or 0
