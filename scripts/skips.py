#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""skips.py PRESET: fails if the last run of ctest skipped a test that tests/may_skip.txt does not name for that preset."""
import fnmatch
import pathlib
import re
import sys

preset = sys.argv[1]
top = pathlib.Path(__file__).parent.parent
allowed = [line.split(maxsplit=2)[:2] for line in (top / "tests/may_skip.txt").read_text().splitlines()
           if line and not line.startswith("#")]
log = (top / "build" / preset / "Testing/Temporary/LastTest.log").read_text(errors="replace")
# GoogleTest names a test once when it skips it, and once more, without a time, in its list at the end. pytest -rs names the place, as seen
# from where it ran.
skipped = set(re.findall(r"^\[  SKIPPED \] (\S+) \(", log, re.M))
skipped |= set(re.findall(r"^SKIPPED \[\d+\] \S*?(tests/\S+?\.py):", log, re.M))
skipped |= set(re.findall(r"^\d+/\d+ Test +#\d+: (\S+) \.+\**Skipped", log, re.M))
unknown = [name for name in sorted(skipped)
           if not any(fnmatch.fnmatch(preset, where) and fnmatch.fnmatch(name, what) for where, what in allowed)]
for name in unknown:
    print(f"skipped with {preset}, and not in tests/may_skip.txt: {name}", file=sys.stderr)
sys.exit(1 if unknown else 0)
