#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""spdx.py [--fix]: every source says its licence in its first line (its second, below a line that must be the first).

Prints the files that do not, and exits with 1 if there are any; with --fix adds the line.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LICENCE = "SPDX-License-Identifier: Apache-2.0"
COMMENTS = {
    **dict.fromkeys((".h", ".hpp", ".c", ".cpp", ".inc", ".js", ".mjs", ".proto"), "// {}"),
    **dict.fromkeys((".py", ".pyi", ".sh", ".bash", ".cmake", ".map", ".pc", ".service"), "# {}"),
    ".css": "/* {} */",
    ".html": "<!-- {} -->",
}
# Files without a suffix.
NAMES = {"CMakeLists.txt": "# {}", "Makefile": "# {}", "_plat": "# {}"}
# First lines that must stay the first: who runs the file, or what it is.
FIRST = ("#!", "#compdef", "<!doctype")
# Files that are data of a test, where a line more would be another test.
EXCEPT = ("tests/traces/", "tests/fuzz/corpus/")


def comment_of(path):
    """How a file says something to its readers alone; None where it cannot. A template is what is made of it."""
    if path.name in NAMES:
        return NAMES[path.name]
    return COMMENTS.get(path.with_suffix("").suffix if path.suffix == ".in" else path.suffix)


def with_licence(text, comment):
    lines = text.splitlines(keepends=True)
    at = 1 if lines and lines[0].startswith(FIRST) else 0
    return "".join(lines[:at] + [comment.format(LICENCE) + "\n"] + lines[at:])


def main():
    fix = "--fix" in sys.argv[1:]
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    missing = []
    for name in names:
        path = ROOT / name
        comment = comment_of(path)
        if comment is None or name.startswith(EXCEPT) or not path.is_file():
            continue
        text = path.read_text()
        if any(LICENCE in line for line in text.splitlines()[:2]):
            continue
        missing.append(name)
        if fix:
            path.write_text(with_licence(text, comment))
    if missing and not fix:
        print("\n".join(f"{name}: its first line is not '{LICENCE}' (scripts/spdx.py --fix)" for name in missing))
    return 1 if missing and not fix else 0


if __name__ == "__main__":
    sys.exit(main())
