# SPDX-License-Identifier: Apache-2.0
"""The plat command, as a user runs it."""
import json
import os
import subprocess

PLAT = os.environ["PLAT_COMMAND"]


def run(*arguments, **options):
    return subprocess.run([PLAT, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)


def hiding(tmp_path, library):
    """An environment in which a library of the system cannot be opened: one that is no library comes before it."""
    folder = tmp_path / "hiding"
    folder.mkdir()
    (folder / library).touch()
    return {**os.environ, "LD_LIBRARY_PATH": str(folder)}


def rules_of(done):
    """The rules of findings that were printed as JSON lines."""
    return [finding["rule"] for finding in told_by(done) if "rule" in finding]


def told_by(done):
    """Findings, then failed calls."""
    return [json.loads(line) for line in done.stdout.splitlines()]
