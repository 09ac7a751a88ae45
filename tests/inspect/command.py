"""The plat command, as a user runs it."""
import json
import os
import subprocess

PLAT = os.environ["PLAT_COMMAND"]


def run(*arguments, **options):
    return subprocess.run([PLAT, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)


def rules_of(done):
    """The rules of findings that were printed as JSON lines."""
    return [json.loads(line)["rule"] for line in done.stdout.splitlines()]
