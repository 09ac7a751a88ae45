# SPDX-License-Identifier: Apache-2.0
"""plat/pool.h: its structs, the types of its calls, and a function for each. ctypes lets go of the interpreter's lock around every call."""
import ctypes
import functools
import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ._errors import PoolError
from ._libraries import find

# What takes or gives back memory: a recording notes the line of Python around these.
CALLS = ("create", "allocate", "request", "allocate_batch", "free", "free_batch", "trim", "reset", "forget", "destroy", "sleep", "wake",
         "arena_create", "arena_nest", "arena_allocate", "arena_reset", "arena_destroy", "kv_create", "kv_set_tokens", "kv_destroy",
         "torch_malloc", "torch_free")
INVALID = 1
NO_MEMORY = 2
NOT_OWNED = 3
ALL_TAGS = 0xFFFF
ASLEEP = 6  # PLAT_POOL_ASLEEP
SOURCES = {"vmm": 0, "malloc": 1, "host": 2, "media": 3, "caller": 4, "cached": 5, "device": 6}
PURPOSES = {"compute": 0, "media": 1, "host": 2, "cached": 3}
RELEASES = {"never": 0, "watermark": 1, "now": 2, "idle": 3}
_ROOM_BYTES = 512  # for options of a newer library than this file knows

_POINTER, _U64, _SIZE, _TAG = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint16
OutOfMemory = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _POINTER, _U64, ctypes.c_char_p)


class Options(ctypes.Structure):
    _fields_ = [("struct_size", _SIZE), ("name", ctypes.c_char_p), ("device", ctypes.c_int32), ("source", ctypes.c_int),
                ("limit_bytes", _U64), ("initial_bytes", _U64), ("chunk_bytes", _U64), ("caller_base", _POINTER), ("caller_bytes", _U64),
                ("tail_bytes", ctypes.c_int32), ("release", ctypes.c_int), ("release_watermark", _U64), ("slack", ctypes.c_double),
                ("thread_cache", ctypes.c_uint32), ("reuse_waits", ctypes.c_uint32), ("release_idle_ms", _U64), ("max_remaps", _U64),
                ("host_limit_bytes", _U64), ("whole_pages", ctypes.c_uint32)]


class Request(ctypes.Structure):
    _fields_ = [("struct_size", _SIZE), ("bytes", _U64), ("alignment", _U64), ("stream", _POINTER), ("purpose", ctypes.c_int),
                ("tag", _TAG)]


class Stats(ctypes.Structure):
    _fields_ = [("struct_size", _SIZE)] + [(name, _U64) for name in (
        "reserved_bytes", "reserved_peak", "used_bytes", "used_peak", "cached_bytes", "idle_bytes", "live_blocks", "maps",
        "unmaps", "remaps", "out_of_memory", "address_bytes", "bookkeeping_bytes", "most_remaps",
        "host_bytes", "asleep_bytes")]


class LiveBlock(ctypes.Structure):
    _fields_ = [("struct_size", _SIZE), ("address", _POINTER), ("bytes", _U64), ("with_tail", _U64), ("tag", _TAG),
                ("on_host", ctypes.c_uint8), ("asleep", ctypes.c_uint8)]


Visitor = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, ctypes.POINTER(LiveBlock))


_SIGNATURES: Dict[str, List[Any]] = {
    "plat_pool_options_init": [_POINTER], "plat_pool_create": [_POINTER, _POINTER], "plat_pool_destroy": [_POINTER],
    "plat_pool_alloc": [_POINTER, _U64, _POINTER], "plat_pool_alloc_on": [_POINTER, _U64, _POINTER, _POINTER],
    "plat_pool_alloc_request": [_POINTER, _POINTER, _POINTER],
    "plat_pool_alloc_batch": [_POINTER, _POINTER, _SIZE, _POINTER, _POINTER],
    "plat_pool_free": [_POINTER, _POINTER], "plat_pool_free_on": [_POINTER, _POINTER, _POINTER],
    "plat_pool_free_batch": [_POINTER, _POINTER, _SIZE, _POINTER],
    "plat_pool_use_on": [_POINTER, _POINTER, _POINTER], "plat_pool_forget_stream": [_POINTER, _POINTER],
    "plat_pool_resize": [_POINTER, _POINTER, _U64], "plat_pool_usable": [_POINTER, _POINTER, _POINTER, _POINTER],
    "plat_pool_name_block": [_POINTER, _POINTER, ctypes.c_char_p],
    "plat_pool_get_stats": [_POINTER, _POINTER], "plat_pool_tag_bytes": [_POINTER, _TAG, _POINTER, _POINTER],
    "plat_pool_reset_peaks": [_POINTER], "plat_pool_set_limits": [_POINTER, _U64, _U64],
    "plat_pool_owner": [_POINTER, _POINTER, _POINTER], "plat_pool_walk": [_POINTER, Visitor, _POINTER],
    "plat_pool_snapshot": [_POINTER, ctypes.c_char_p],
    "plat_pool_trim": [_POINTER, _U64], "plat_pool_reset": [_POINTER],
    "plat_pool_set_oom_callback": [_POINTER, OutOfMemory, _POINTER], "plat_pool_flush_thread": [_POINTER],
    "plat_pool_sleep": [_POINTER, _TAG, ctypes.c_int], "plat_pool_wake": [_POINTER, _TAG],
    "plat_arena_create": [_POINTER, _U64, _POINTER], "plat_arena_nest": [_POINTER, _U64, _POINTER],
    "plat_arena_alloc": [_POINTER, _U64, _U64, _POINTER], "plat_arena_reset": [_POINTER], "plat_arena_destroy": [_POINTER],
    "plat_kv_create": [_POINTER, _U64, _U64, _POINTER], "plat_kv_set_tokens": [_POINTER, _U64], "plat_kv_base": [_POINTER],
    "plat_kv_backed_bytes": [_POINTER], "plat_kv_destroy": [_POINTER],
    "plat_pool_with_limit": [_POINTER, _U64, _POINTER], "plat_pool_with_statistics": [_POINTER, _POINTER],
    "plat_pool_with_trace": [_POINTER, ctypes.c_char_p, _POINTER], "plat_pool_with_guards": [_POINTER, _U64, _POINTER],
    "plat_pool_with_faults": [_POINTER, _U64, _U64, _POINTER],
    "plat_pool_torch_malloc": [_SIZE, ctypes.c_int, _POINTER], "plat_pool_torch_free": [_POINTER, _SIZE, ctypes.c_int, _POINTER],
    "plat_pool_torch_pool": [ctypes.c_int],
    "plat_pool_register_on_stream": [_POINTER, _POINTER], "plat_pool_unregister_from_stream": [_POINTER],
    "plat_pool_last_error": [], "plat_pool_status_name": [ctypes.c_int],
}
_RESULTS: Dict[str, Any] = {
    "plat_pool_options_init": None, "plat_pool_torch_malloc": _POINTER, "plat_pool_torch_free": None, "plat_pool_torch_pool": _POINTER,
    "plat_kv_base": _POINTER, "plat_kv_backed_bytes": _U64, "plat_pool_last_error": ctypes.c_char_p,
    "plat_pool_status_name": ctypes.c_char_p,
}


@functools.lru_cache(maxsize=None)
def load() -> Any:
    """The library, with the types of its calls."""
    try:
        library = ctypes.CDLL(find("libplat_pool.so"), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
    except OSError as error:
        raise ImportError(f"the pool needs libplat_pool.so: {error}") from None
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, _RESULTS.get(name, ctypes.c_int)
    return library


def asleep(message: str) -> PoolError:
    """For memory that the pool has and the device has not."""
    return PoolError(ASLEEP, load().plat_pool_status_name(ASLEEP).decode(), message)


def error(status: int) -> PoolError:
    """What went wrong in this thread just now."""
    return PoolError(status, load().plat_pool_status_name(status).decode(), load().plat_pool_last_error().decode(errors="replace"))


def check(status: int) -> None:
    if status != 0:
        raise error(status)


def _made(call: Callable[..., int], *arguments: Any) -> int:
    """What a call puts behind its last argument: an address of memory, or of a pool, an arena or a cache."""
    address = ctypes.c_void_p()
    check(call(*arguments, ctypes.byref(address)))
    return address.value or 0


def create(name: bytes, device: int, chosen: Dict[str, Any]) -> int:
    room = ctypes.create_string_buffer(_ROOM_BYTES)
    load().plat_pool_options_init(room)
    options = Options.from_buffer(room)
    options.name, options.device = name, device
    for option, value in chosen.items():
        setattr(options, option, value)
    return _made(load().plat_pool_create, room)


def destroy(pool: int) -> None:
    check(load().plat_pool_destroy(pool))


def allocate(pool: int, size: int, stream: Optional[int]) -> int:
    if stream is None:
        return _made(load().plat_pool_alloc, pool, size)
    return _made(load().plat_pool_alloc_on, pool, size, stream)


def request(pool: int, size: int, stream: Optional[int], alignment: int, purpose: int, tag: int) -> int:
    wanted = Request(ctypes.sizeof(Request), size, alignment, stream, purpose, tag)
    return _made(load().plat_pool_alloc_request, pool, ctypes.byref(wanted))


def allocate_batch(pool: int, sizes: Sequence[int], stream: Optional[int]) -> List[int]:
    addresses = (_POINTER * len(sizes))()
    check(load().plat_pool_alloc_batch(pool, (_U64 * len(sizes))(*sizes), len(sizes), stream, addresses))
    return [address or 0 for address in addresses]


def free(pool: int, address: int, stream: Optional[int]) -> None:
    check(load().plat_pool_free(pool, address) if stream is None else load().plat_pool_free_on(pool, address, stream))


def free_batch(pool: int, addresses: Sequence[int], stream: Optional[int]) -> None:
    check(load().plat_pool_free_batch(pool, (_POINTER * len(addresses))(*addresses), len(addresses), stream))


def use_on(pool: int, address: int, stream: int) -> None:
    check(load().plat_pool_use_on(pool, address, stream))


def forget(pool: int, stream: int) -> None:
    check(load().plat_pool_forget_stream(pool, stream))


def resize(pool: int, address: int, size: int) -> bool:
    """False when it cannot have that size where it stands."""
    status = load().plat_pool_resize(pool, address, size)
    if status != NO_MEMORY:
        check(status)
    return bool(status == 0)


def usable(pool: int, address: int) -> Tuple[int, int]:
    own, with_tail = _U64(), _U64()
    check(load().plat_pool_usable(pool, address, ctypes.byref(own), ctypes.byref(with_tail)))
    return own.value, with_tail.value


def name_block(pool: int, address: int, name: bytes) -> None:
    check(load().plat_pool_name_block(pool, address, name))


def stats(pool: int) -> Dict[str, int]:
    values = Stats(struct_size=ctypes.sizeof(Stats))
    check(load().plat_pool_get_stats(pool, ctypes.byref(values)))
    return {name: getattr(values, name) for name, _ in Stats._fields_[1:]}


def tag_bytes(pool: int, tag: int) -> Tuple[int, int]:
    used, reserved = _U64(), _U64()
    check(load().plat_pool_tag_bytes(pool, tag, ctypes.byref(used), ctypes.byref(reserved)))
    return used.value, reserved.value


def reset_peaks(pool: int) -> None:
    check(load().plat_pool_reset_peaks(pool))


def set_limits(pool: int, limit_bytes: int, host_limit_bytes: int) -> None:
    check(load().plat_pool_set_limits(pool, limit_bytes, host_limit_bytes))


def _fields(block: LiveBlock) -> Tuple[int, int, int, int, bool, bool]:
    return block.address or 0, block.bytes, block.with_tail, block.tag, bool(block.on_host), bool(block.asleep)


def owner(pool: int, address: int) -> Optional[Tuple[int, int, int, int, bool, bool]]:
    """None when no live block of the pool has the address."""
    block = LiveBlock(struct_size=ctypes.sizeof(LiveBlock))
    status = load().plat_pool_owner(pool, address, ctypes.byref(block))
    if status == NOT_OWNED:
        return None
    check(status)
    return _fields(block)


def walk(pool: int) -> List[Tuple[int, int, int, int, bool, bool]]:
    found: List[Tuple[int, int, int, int, bool, bool]] = []

    def visit(_: Any, block: Any) -> int:
        found.append(_fields(block.contents))
        return 1

    check(load().plat_pool_walk(pool, Visitor(visit), None))
    return found


def snapshot(pool: int, path: bytes) -> None:
    check(load().plat_pool_snapshot(pool, path))


def trim(pool: int, keep_bytes: int) -> None:
    check(load().plat_pool_trim(pool, keep_bytes))


def reset(pool: int) -> None:
    check(load().plat_pool_reset(pool))


def flush_thread(pool: int) -> None:
    check(load().plat_pool_flush_thread(pool))


def set_oom_callback(pool: int, callback: Any) -> None:
    check(load().plat_pool_set_oom_callback(pool, callback, None))


def sleep(pool: int, tag: int, save: bool) -> None:
    check(load().plat_pool_sleep(pool, tag, int(save)))


def wake(pool: int, tag: int) -> None:
    check(load().plat_pool_wake(pool, tag))


def arena_create(pool: int, chunk_bytes: int) -> int:
    return _made(load().plat_arena_create, pool, chunk_bytes)


def arena_nest(outer: int, chunk_bytes: int) -> int:
    return _made(load().plat_arena_nest, outer, chunk_bytes)


def arena_allocate(arena: int, size: int, alignment: int) -> int:
    return _made(load().plat_arena_alloc, arena, size, alignment)


def arena_reset(arena: int) -> None:
    check(load().plat_arena_reset(arena))


def arena_destroy(arena: int) -> None:
    check(load().plat_arena_destroy(arena))


def kv_create(pool: int, token_bytes: int, max_tokens: int) -> int:
    return _made(load().plat_kv_create, pool, token_bytes, max_tokens)


def kv_set_tokens(cache: int, tokens: int) -> None:
    check(load().plat_kv_set_tokens(cache, tokens))


def kv_base(cache: int) -> int:
    return load().plat_kv_base(cache) or 0


def kv_backed_bytes(cache: int) -> int:
    return load().plat_kv_backed_bytes(cache)


def kv_destroy(cache: int) -> None:
    check(load().plat_kv_destroy(cache))


def layer(pool: int, kind: str, *arguments: Any) -> int:
    """A pool around a pool: kind is limit, statistics, trace, guards or faults."""
    return _made(getattr(load(), f"plat_pool_with_{kind}"), pool, *arguments)


def register_on_stream(pool: int, stream: int) -> None:
    check(load().plat_pool_register_on_stream(pool, stream))


def unregister_from_stream(stream: int) -> None:
    check(load().plat_pool_unregister_from_stream(stream))


def torch_malloc(size: int, device: int, stream: int) -> int:
    return load().plat_pool_torch_malloc(size, device, stream) or 0


def torch_free(address: int, size: int, device: int, stream: int) -> None:
    load().plat_pool_torch_free(address, size, device, stream)


def torch_pool(device: int) -> int:
    return load().plat_pool_torch_pool(device) or 0
