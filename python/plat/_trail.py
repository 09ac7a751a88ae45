# SPDX-License-Identifier: Apache-2.0
"""Which line of Python makes a call: noted in the trace around every call of acl and of the pool."""
import functools
import os
import sys
from types import CodeType, FrameType, ModuleType
from typing import Any, Callable, Dict, Optional, Tuple

_FRAMES_MAX = 32
_TEXT_MAX = 1000  # bytes; the recorder cuts longer ones
FOREIGN: "set[str]" = set()  # packages at which a stack ends: who runs the program says nothing about it
_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep

_Key = Tuple[Any, ...]
_numbers: Dict[_Key, int] = {}
_last = 0


def forget() -> None:
    """A new trace knows no stacks."""
    _numbers.clear()


def _row(code: CodeType, line: int) -> str:
    name = getattr(code, "co_qualname", code.co_name)
    return f"{line}\t{name}\t{code.co_filename}".replace("\n", " ")


def _note(frame: Optional[FrameType], by_pool: bool) -> int:
    global _last
    from . import _inspector
    rows = []
    while frame is not None and len(rows) < _FRAMES_MAX and frame.f_globals.get("__name__", "").partition(".")[0] not in FOREIGN:
        if rows or not frame.f_code.co_filename.startswith(_OWN):  # what the package itself does says nothing
            rows.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    key = (by_pool, *rows)
    number = _numbers.get(key)
    if number is not None:
        return _inspector.begin(number, "")
    text = "pool" if by_pool else "call"
    for code, line in rows:
        longer = f"{text}\n{_row(code, line)}"
        if len(longer.encode(errors="replace")) > _TEXT_MAX:
            break
        text = longer
    _last += 1
    number = _last
    note = _inspector.begin(number, text.encode(errors="replace").decode())
    _numbers[key] = number
    return note


def _told(function: Callable[..., Any], by_pool: bool) -> Callable[..., Any]:
    from . import _inspector
    end = _inspector.native().end

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        note = _note(sys._getframe(1), by_pool)
        try:
            return function(*args, **kwargs)
        finally:
            end(note)

    return call


def _follow(module: ModuleType, by_pool: bool = False) -> None:
    for name, value in list(vars(module).items()):
        if callable(value) and not name.startswith("_") and not isinstance(value, type):
            setattr(module, name, _told(value, by_pool))


def follow() -> None:
    """Puts the notes around the functions of the modules. Functions that somebody kept from before are seen all the same, but
    without the lines of Python."""
    import acl
    for module in acl, acl.rt, acl.media, acl.himpi:
        _follow(module)
    from . import _pool_library
    for name in _pool_library.CALLS:
        setattr(_pool_library, name, _told(getattr(_pool_library, name), True))
