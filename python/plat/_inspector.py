# SPDX-License-Identifier: Apache-2.0
"""The recorder in this process: it sees the calls of libascendcl.so if it is there before they are bound."""
import atexit
import os
import shutil
import struct
import sys
import tempfile
from typing import Any, Dict

from ._libraries import find

_LIBRARY = "libplat_inspect.so"
_FOLDER = "plat-python-"
_HEADER = struct.Struct("<8sIII")  # magic, version, size of a chunk, pid
_MAGIC = b"PLATTRC\n"
_attached = False


class InspectorError(RuntimeError):
    """The inspector cannot look into this process, or not at this."""


def native() -> Any:
    try:
        from . import _inspect
    except ImportError as error:
        raise InspectorError(f"the inspector cannot be loaded: {error}") from None
    return _inspect


def attach() -> None:
    """From here on calls are recorded, until the process ends. Once is enough."""
    global _attached
    if _attached:
        return
    if not native().is_loaded():
        _load()
    _connect()
    os.register_at_fork(after_in_child=_connect_later)
    from . import _trail
    _trail.follow()
    _attached = True


def _load() -> None:
    early = [name for name in ("acl", "plat._pool_library") if name in sys.modules]
    if early:
        raise InspectorError(
            f"{early[0]} was imported before the inspector, and its calls go past it. Call plat.check() or plat.record() once before "
            "the first `import acl` or plat.Device, or start the program with `plat record -- python3 ...`, which loads it first")
    named = os.environ.get("PLAT_INSPECT_TRACE", "")
    if not named or os.path.basename(os.path.dirname(named)).startswith(_FOLDER):  # nobody did, or a parent for itself
        folder = tempfile.mkdtemp(prefix=_FOLDER)
        os.environ["PLAT_INSPECT_TRACE"] = os.path.join(folder, "trace")
        atexit.register(_remove, folder, os.getpid())
    try:
        native().load(find(_LIBRARY))
    except ImportError as error:
        raise InspectorError(f"the inspector cannot be loaded: {error}") from None
    if not native().is_loaded():
        raise InspectorError(f"another library than {_LIBRARY} has the calls of ACL already, in the scope of the whole process")


def _remove(folder: str, pid: int) -> None:
    if os.getpid() == pid:  # a forked child leaves its parent's alone
        shutil.rmtree(folder, ignore_errors=True)


def _connect() -> None:
    if not native().connect():
        raise InspectorError(f"the recorder takes no notes: the trace {os.environ.get('PLAT_INSPECT_TRACE', '')} cannot be written")


_pending = False


def _connect_later() -> None:
    """A forked child begins a trace with its first call, and must name everything anew in it."""
    global _pending
    _pending = True
    from . import _trail
    _trail.forget()


def begin(number: int, text: str) -> int:
    """Writes a note."""
    global _pending
    if _pending:
        _pending = False
        _connect()
    return native().begin(number, text)


def trace() -> str:
    """The file that this process writes: as named, or with the pid if that was taken. It is mapped as long as the process lives."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
        files = {line.rstrip("\n").split(maxsplit=5)[5] for line in lines if " rw-s " in line and "/" in line}
    for path in files:
        try:
            with open(path, "rb") as file:
                head = file.read(_HEADER.size)
        except OSError:
            continue
        if len(head) == _HEADER.size and head.startswith(_MAGIC) and _HEADER.unpack(head)[3] == os.getpid():
            return path
    raise InspectorError("this process has no trace")


def read_trace(path: str, window: int, objects: bool = False, **options: Any) -> Dict[str, Any]:
    """What a trace shows of a check."""
    import json
    asked = {"leaks": True, "unwritten": True, "warnings": True, "pedantic": False, "suppressions": "", **options}
    try:
        return json.loads(native().trace_json(path, window, objects=objects, **asked))
    except RuntimeError as error:
        raise InspectorError(str(error)) from None


def export(path: str, form: str) -> bytes:
    """A trace as a file that other tools open."""
    try:
        return native().export_trace(path, form)
    except RuntimeError as error:
        raise InspectorError(str(error)) from None
