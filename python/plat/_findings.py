# SPDX-License-Identifier: Apache-2.0
"""What the inspector finds, as objects."""
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple


@dataclass(frozen=True)
class Frame:
    """A line of a program."""
    function: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.function} at {self.file}:{self.line}"


@dataclass(frozen=True)
class Site:
    """Where a call was made. stack: the lines of Python, innermost first; native: those of C and C++ below them."""
    call: str
    event: int
    thread: int
    stack: Tuple[Frame, ...]
    native: Tuple[Frame, ...]


@dataclass(frozen=True)
class Involved:
    """A block, mapping, stream or the like that a finding is about. freed is None while it lives."""
    role: str
    kind: str
    address: int
    size: int
    name: str
    allocated: Optional[Site]
    used: Optional[Site]
    freed: Optional[Site]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    rule: what was broken, such as INSP-Leak-device-block; severity: error or warning. message: the numbers. sentence: the
    rule. cause and hint: why it happens, and what to do. site: where it shows, or for a leak where the thing came from.
    blocks: what it is about. count: how often. result: the code of a call that the device refused, else 0.
    """
    rule: str
    severity: str
    message: str
    sentence: str
    cause: str
    hint: str
    count: int
    address: int
    size: int
    result: int
    site: Optional[Site]
    blocks: Tuple[Involved, ...]
    text: str = field(repr=False)

    @property
    def block(self) -> Optional[Involved]:
        """What it is about, if that is anything."""
        return self.blocks[0] if self.blocks else None

    @property
    def stacks(self) -> List[Tuple[Frame, ...]]:
        """All stacks that help: where it shows, where the memory came from, and where it went."""
        sites = [self.site] + [site for block in self.blocks for site in (block.allocated, block.used, block.freed)]
        return [site.stack for site in sites if site is not None and site.stack]

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from ._html import finding_html
        return finding_html(self)


class FindingsError(AssertionError):
    """Something was found. findings has it."""

    def __init__(self, findings: List[Finding]) -> None:
        super().__init__("\n" + "\n".join(finding.text for finding in findings))
        self.findings = findings

    def __reduce__(self) -> Any:
        return type(self), (self.findings,)


def frames_of(rows: List[Dict[str, Any]]) -> Tuple[Frame, ...]:
    """Frames from their JSON."""
    return tuple(Frame(row["function"] or row["address"], row.get("file", row.get("module", "")), row.get("line", 0)) for row in rows)


def _site(row: Optional[Dict[str, Any]]) -> Optional[Site]:
    if row is None:
        return None
    return Site(row["call"], row["event"], row["thread"], frames_of(row["stack"]), frames_of(row["native"]))


def _involved(row: Dict[str, Any]) -> Involved:
    return Involved(row["role"], row["kind"], int(row["address"], 16), row.get("bytes", 0), row.get("name", ""),
                    _site(row.get("allocated")), _site(row.get("used")), _site(row.get("freed")))


def finding_of(row: Dict[str, Any]) -> Finding:
    """A finding from its JSON."""
    return Finding(row["rule"], row["severity"], row["detail"], row["sentence"], row["cause"], row["hint"], row["count"],
                   int(row.get("address", "0x0"), 16), row.get("bytes", 0), row.get("result", 0), _site(row.get("site")),
                   tuple(_involved(each) for each in row["objects"]), row["text"])
