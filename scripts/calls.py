#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/calls.md: every call that the headers declare, what it does, and whether the library has it.

calls.py LIBRARY [FILE]
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DECLARATION = re.compile(r"((?:^//[^\n]*\n)*)^ACL_FUNC_VISIBILITY([^;{]*?)\b(\w+)\s*\(", re.M)
HEAD = """# Calls

Every call that the headers declare. What the library does not have yet is not exported, so that a program that
needs it fails to link, and one that probes with `dlsym` takes its other path.

This page is made by `make docs`.
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
            title = re.match(r"// (.*?)(?:\.\s|\n)", text, re.S).group(1).rstrip(".")
            yield path.relative_to(ROOT / "include").as_posix(), title, calls


def declared():
    return {name for _, _, calls in headers() for name, _ in calls}


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], text=True, capture_output=True, check=True).stdout
    names = (line.split() for line in lines.splitlines())
    return {name[-1].split("@")[0] for name in names if name[-2] in "TWi"} - {"_init", "_fini"}


def page(library):
    done = exported(library)
    lines = [HEAD]
    for header, title, calls in headers():
        lines.append(f"## {title}\n\n`#include <{header}>`\n\n| Call | What it does | Done |\n|---|---|---|")
        for name, comment in calls:
            text = comment.replace("|", "\\|")
            lines.append(f"| `{name}` | {text} | {'yes' if name in done else 'no'} |")
        lines.append("")
    return "\n".join(lines)


def main():
    target = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs" / "calls.md"
    target.write_text(page(sys.argv[1]))


if __name__ == "__main__":
    main()
