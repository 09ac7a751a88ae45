# SPDX-License-Identifier: Apache-2.0
"""What happened to memory in a part of a program, to look at and to keep."""
import os
import shutil
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple, Union

from . import _inspector
from ._check import Check
from ._findings import Frame, frames_of

Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Life:
    """A block, handle, mapping, stream or the like, from the call that made it to the one that ended it (None: it lives on).
    takes_memory: its bytes are memory of the device, and not addresses or a view of other memory."""
    kind: str
    address: int
    size: int
    name: str
    device: int
    takes_memory: bool
    born: int
    died: Optional[int]
    stack: Tuple[Frame, ...]


class Recording(Check):
    """What plat.record saw: lives, beside the findings of a check. A notebook draws it."""

    def __init__(self, path: Optional[Path] = None, **options: Any) -> None:
        super().__init__(**options)
        self._keep = path
        self._trace = ""
        self.lives: List[Life] = []

    @classmethod
    def open(cls, path: Path) -> "Recording":
        """A trace of `plat record`, or one that plat.record kept: all of it."""
        self = cls.__new__(cls)
        self._plain({"leaks": True}, 0)
        self._keep, self._trace, self.lives = None, os.fspath(path), []
        self._take(_inspector.read_trace(os.fspath(path), 0, objects=True))
        return self

    def _read(self) -> None:
        path = _inspector.trace()
        self._take(_inspector.read_trace(path, self._window, objects=True, **self._options))
        self._trace = path
        if self._keep is not None:
            shutil.copyfile(path, self._keep)
            self._trace = os.fspath(self._keep)

    def _take(self, told: Dict[str, Any]) -> None:
        super()._take(told)
        self.lives = [Life(row["kind"], row["address"], row["bytes"], row["name"], row["device"], row["takes_memory"], row["born"],
                           row["died"] or None, frames_of(row["stack"])) for row in told["objects"]]

    @property
    def timeline(self) -> List[Tuple[int, int]]:
        """(event, bytes): device memory that the process held after each event that changed it."""
        steps: Dict[int, int] = {}
        for life in self.lives:
            if life.takes_memory:
                steps[life.born] = steps.get(life.born, 0) + life.size
                if life.died is not None:
                    steps[life.died] = steps.get(life.died, 0) - life.size
        held, line = 0, []
        for event in sorted(steps):
            held += steps[event]
            line.append((event, held))
        return line

    @property
    def peak_bytes(self) -> int:
        return max((held for _, held in self.timeline), default=0)

    def to_snapshot(self, path: Path) -> None:
        """Writes the memory snapshot that pytorch.org/memory_viz, MindStudio Insight (call it .pickle) and `plat replay` open: of
        all that the process did up to the end of the with block if the trace was kept (plat.record(path)), else up to now."""
        self._export("snapshot", path)

    def to_perfetto(self, path: Path) -> None:
        """Writes the same as a trace for ui.perfetto.dev."""
        self._export("perfetto", path)

    def _export(self, form: str, path: Path) -> None:
        if not self._trace:
            raise _inspector.InspectorError("nothing is recorded yet: leave the with block first")
        made = _inspector.export(self._trace, form)
        beside = f"{os.fspath(path)}.{os.getpid()}"
        try:
            with open(beside, "wb") as file:
                file.write(made)
            os.replace(beside, path)
        except OSError:
            if os.path.exists(beside):
                os.remove(beside)
            raise

    def _repr_svg_(self) -> str:
        from ._draw import draw
        return draw(self).svg

    def _repr_html_(self) -> str:
        from ._html import findings_html
        return findings_html(self._words(), self.findings, self._repr_svg_())


def record(path: Optional[Path] = None, **options: Any) -> Recording:
    """Records a with block: what lived when, and what was wrong. The options are those of plat.check, and so are the conditions.

    With a path the trace of the process up to the end of the block is kept there, for plat.Recording.open, `plat report` and
    `plat check`.
    """
    return Recording(path, **options)
