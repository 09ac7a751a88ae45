# SPDX-License-Identifier: Apache-2.0
"""A part of a program under the eyes of the inspector."""
import contextlib
import itertools
import os
from typing import Any, Dict, Iterator, List

from . import _inspector
from ._findings import Finding, FindingsError, finding_of
from ._svg import count_text

_numbers = itertools.count(1)


class Check:
    """What was found inside of a with block. It is known when the block is left."""

    def __init__(self, **options: Any) -> None:
        _inspector.attach()
        self._plain(options, next(_numbers))

    def _plain(self, options: Dict[str, Any], window: int) -> None:
        self._options = options
        self._window = window
        self._pid = 0
        self.findings: List[Finding] = []
        self.events = 0      # calls that the inspector saw
        self.suppressed = 0  # findings that the suppressions cover
        self.lost = 0        # events that found no room; findings may be wrong then

    @property
    def errors(self) -> List[Finding]:
        return [finding for finding in self.findings if finding.severity == "error"]

    @property
    def warnings(self) -> List[Finding]:
        return [finding for finding in self.findings if finding.severity == "warning"]

    @property
    def ok(self) -> bool:
        """Whether there was no error."""
        return not self.errors

    def _words(self) -> str:
        return f"{count_text(self.errors, 'error')} and {count_text(self.warnings, 'warning')} in {self.events} calls" if self.events else "not used yet"

    def __repr__(self) -> str:
        return f"<plat.{type(self).__name__}: {self._words()}>"

    def _repr_html_(self) -> str:
        from ._html import findings_html
        return findings_html(self._words(), self.findings)

    def raise_errors(self) -> None:
        """Raises FindingsError if there was an error."""
        if not self.ok:
            raise FindingsError(self.errors)

    def __enter__(self) -> "Check":
        if self._pid:
            raise _inspector.InspectorError("this check has been used; make another one")
        self._pid = os.getpid()
        _inspector.begin(0, f"begin {self._window}")
        return self

    def __exit__(self, *error: Any) -> None:
        if os.getpid() != self._pid:
            return  # a forked child; the parent judges its own part
        _inspector.begin(0, f"end {self._window}")
        self._read()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """What happens inside of this is not looked at, nor is what is made there."""
        _inspector.begin(0, f"hold {self._window}")
        try:
            yield
        finally:
            _inspector.begin(0, f"go on {self._window}")

    def _read(self) -> None:
        self._take(_inspector.read_trace(_inspector.trace(), self._window, **self._options))

    def _take(self, told: Dict[str, Any]) -> None:
        self.findings = [finding_of(row) for row in told["findings"]]
        self.events, self.suppressed, self.lost = told["events"], told["suppressed"], told["lost"]


def check(*, leaks: bool = True, unwritten: bool = True, warnings: bool = True, pedantic: bool = False, suppressions: str = "") -> Check:
    """Finds what a with block does wrong with memory, and what it does not give back.

    It must come before the first `import acl` or plat.Device of the process, or the program must have been started by `plat record`:
    otherwise it raises InspectorError. From the first check on the process is recorded until its end.

    leaks, unwritten, warnings: look for that too. pedantic: also at how pools cut their blocks. suppressions: text of a file for
    `plat check --suppressions`.
    """
    return Check(leaks=leaks, unwritten=unwritten, warnings=warnings, pedantic=pedantic, suppressions=suppressions)
