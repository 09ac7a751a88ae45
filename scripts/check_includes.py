#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a folder of src/ includes a folder that does not stand above it.

The order is the one in src/CMakeLists.txt. Public headers (acl/, mstx/, plat/) are visible to all, except that the pool and
the inspector may see nothing of the device but those.
"""
import pathlib
import re
import sys

ORDER = "base os core rules device vmm share stream malloc acl mstx pool inspect cli".split()
PUBLIC_DIRS = {"acl", "mstx", "plat"}
# What a folder may include of src/ beyond itself; all others may include every folder above them.
LIMITED = {
    "core": {"base"},
    "rules": {"base"},
    "mstx": {"base"},
    "pool": {"base", "core"},
    "inspect": {"base", "core", "rules"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    wrong = []
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in {".h", ".cpp", ".hpp", ".inc"}:
            continue
        folder = path.relative_to(root / "src").parts[0]
        allowed = LIMITED.get(folder, set(ORDER[: ORDER.index(folder)])) | {folder}
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match or "/" not in match.group(1):
                continue
            target = match.group(1).split("/")[0]
            if (root / "include" / match.group(1)).exists() and target in PUBLIC_DIRS:
                continue
            if target in ORDER and target not in allowed:
                wrong.append(f"{path.relative_to(root)}:{number}: {folder}/ may not include {match.group(1)}")
    print("\n".join(wrong) if wrong else "include direction: ok")
    return 1 if wrong else 0


sys.exit(main())
