#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/calls.md: every call of the vendor's public runtime headers, what it does or why it is not here.

What is here is read from our headers and from the library; what is not, with the reason, from calls_out.txt. A call
that was built meanwhile loses its line there.

calls.py LIBRARY [FILE]
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "scripts" / "calls_out.txt"
DECLARATION = re.compile(r"((?:^//[^\n]*\n)*)^ACL_FUNC_VISIBILITY([^;{]*?)\b(\w+)\s*\(", re.M)
HEAD = """# Calls

The calls of the vendor's public runtime headers: {built} are here, {out} are not. What is not here is not exported, so that a program that
needs it fails to link, and one that probes with `dlsym` takes its other path. Operators (`aclop*`), models (`aclmdl*` but for the dump
calls), queues and channels (`acltdt*`) and media processing (`acldvpp*`, `hi_mpi_*` but for memory) have headers of their own and are
not listed: nothing is computed here.

This page is made by `make docs` from the headers, the library and `scripts/calls_out.txt`; a test compares them.
"""


def headers():
    """(header, title, [(name, comment)]) for each header that declares calls, in the order of their names."""
    for path in sorted((ROOT / "include" / "acl").rglob("*.h")):
        text = path.read_text()
        calls = []
        comment = ""
        for block, _, name in DECLARATION.findall(text):
            comment = " ".join(line.lstrip("/ ") for line in block.splitlines()) or comment
            calls.append((name, comment))
        if calls:
            title = re.match(r"// SPDX[^\n]*\n// (.*?)(?:\.\s|\n)", text, re.S).group(1).rstrip(".")
            yield path.relative_to(ROOT / "include").as_posix(), title, calls


def declared():
    return {name for _, _, calls in headers() for name, _ in calls}


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], text=True, capture_output=True, check=True).stdout
    names = (line.split() for line in lines.splitlines())
    return {name[-1].split("@")[0] for name in names if name[-2] in "TWi"} - {"_init", "_fini"}


def left_out():
    """[(reason, [name])], as the table has them."""
    groups = []
    for line in OUT.read_text().splitlines():
        if line.startswith(": "):
            groups.append((line[2:], []))
        elif line and not line.startswith("#"):
            groups[-1][1].append(line)
    return groups


def forget_built(done):
    """Takes the lines away of calls that the library has."""
    text = OUT.read_text()
    kept = "".join(line for line in text.splitlines(keepends=True) if line.strip() not in done)
    if kept != text:
        OUT.write_text(kept)


def page(library):
    done = exported(library)
    groups = [(reason, names) for reason, names in left_out() if names]
    lines = [HEAD.format(built=len(done & declared()), out=sum(len(names) for _, names in groups))]
    for header, title, calls in headers():
        lines.append(f"## {title}\n\n`#include <{header}>`\n\n| Call | What it does |\n|---|---|")
        for name, comment in calls:
            text = comment.replace("|", "\\|")
            lines.append(f"| `{name}` | {text} |")
        lines.append("")
    lines.append("## Not here\n")
    for reason, names in groups:
        lines.append(f"**{reason}** " + ", ".join(f"`{name}`" for name in names) + "\n")
    return "\n".join(lines)


def main():
    target = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs" / "calls.md"
    forget_built(exported(sys.argv[1]))
    target.write_text(page(sys.argv[1]))


if __name__ == "__main__":
    main()
