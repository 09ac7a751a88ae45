# SPDX-License-Identifier: Apache-2.0
"""The options of a pool, checked before C sees them."""
from typing import Any, Dict, Optional

from . import _pool_library as library
from ._arguments import kind, one_of, whole
from ._buffer import Buffer

_SIZES = ("limit_bytes", "initial_bytes", "chunk_bytes", "release_watermark", "release_idle_ms", "max_remaps", "host_limit_bytes")
_KNOWN = (*_SIZES, "source", "release", "tail_bytes", "slack", "thread_cache", "reuse_waits", "whole_pages")


def options_of(memory: Optional[Buffer] = None, **given: Any) -> Dict[str, Any]:
    """Fields of plat_pool_options."""
    chosen: Dict[str, Any] = {}
    for name, value in given.items():
        if name in _SIZES:
            chosen[name] = whole(name, value)
        elif name == "source":
            chosen[name] = one_of(name, value, library.SOURCES)
        elif name == "release":
            chosen[name] = one_of(name, value, library.RELEASES)
        elif name == "tail_bytes":
            chosen[name] = whole(name, value, -1, (1 << 31) - 1)
        elif name == "slack":
            chosen[name] = float(value)
        elif name == "thread_cache":
            chosen[name] = whole(name, value, 0, (1 << 32) - 1)
        elif name in ("reuse_waits", "whole_pages"):
            chosen[name] = int(bool(value))
        else:
            raise TypeError(f"a pool has no option {name!r}; it has {', '.join(_KNOWN)}")
    if (memory is not None) != (chosen.get("source") == library.SOURCES["caller"]):
        raise ValueError('source="caller" and memory=a buffer go together: the pool hands out that memory')
    if memory is not None:
        chosen["caller_base"], chosen["caller_bytes"] = kind("memory", memory, Buffer)._range(0, memory.size), memory.size
    return chosen
