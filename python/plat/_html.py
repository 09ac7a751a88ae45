# SPDX-License-Identifier: Apache-2.0
"""Findings as a notebook shows them. Colours of the text are the notebook's own, light or dark."""
from html import escape
from typing import TYPE_CHECKING, List, Optional, Sequence

if TYPE_CHECKING:
    from ._findings import Finding, Frame

_EDGE = {"error": "#d1605e", "warning": "#c9a227"}
_FRAMES_MAX = 12
_FINDINGS_MAX = 50


def _stack(title: str, frames: "Sequence[Frame]") -> str:
    rows = [escape(str(frame)) for frame in frames[:_FRAMES_MAX]]
    if len(frames) > _FRAMES_MAX:
        rows.append(f"and {len(frames) - _FRAMES_MAX} more")
    return f"<details><summary>{escape(title)}</summary><pre style='margin:2px 0 2px 16px'>{'<br>'.join(rows)}</pre></details>" if rows else ""


def finding_html(finding: "Finding") -> str:
    """The rule, what is wrong, where, and what to do."""
    times = f", {finding.count} times" if finding.count > 1 else ""
    where = f"<div>at <code>{escape(str(finding.site.stack[0]))}</code></div>" if finding.site and finding.site.stack else ""
    stacks: List[str] = [_stack("all of the stack", finding.site.stack)] if finding.site else []
    for block in finding.blocks:
        for words, site in (("allocated", block.allocated), ("used", block.used), ("freed", block.freed)):
            if site is not None and (finding.site is None or site.event != finding.site.event):
                stacks.append(_stack(f"{block.kind} at {block.address:#x}, {words} by {site.call}", site.stack))
    hint = f"<div><i>{escape(finding.hint)}</i></div>" if finding.hint else ""
    return (f"<div style='border-left:4px solid {_EDGE.get(finding.severity, '#8c8c8c')};padding:2px 10px;margin:6px 0'>"
            f"<div><b>{escape(finding.severity)}</b> <code>{escape(finding.rule)}</code>{times}</div>"
            f"<div>{escape(finding.message)}</div>{where}{hint}{''.join(stacks)}</div>")


def findings_html(title: str, findings: "Sequence[Finding]", picture: Optional[str] = None) -> str:
    """All of them, below a picture if there is one."""
    more = f"<div>and {len(findings) - _FINDINGS_MAX} more</div>" if len(findings) > _FINDINGS_MAX else ""
    return f"<div>{picture or ''}<div>{escape(title)}</div>{''.join(map(finding_html, findings[:_FINDINGS_MAX]))}{more}</div>"
