# SPDX-License-Identifier: Apache-2.0
"""Long work says on a terminal how far it is, and nowhere else."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from command import PLAT, run
from trace_file import OPS

COLUMNS = 40
NUMBERS = {name: number for number, (name, _) in enumerate(OPS)}


def varint(value):
    text = b""
    while value >= 128:
        text += bytes([value & 127 | 128])
        value >>= 7
    return text + bytes([value])


def event(name, time, *fields):
    return bytes([NUMBERS[name], 0]) + varint(time) + b"".join(map(varint, fields))


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """Some hundred thousand allocations and frees, which the command reads piece by piece."""
    chunks = 30
    pair = event("aclrtMalloc", 1, 0, 4096, 0) + event("aclrtFree", 1, 0)
    body = pair * ((65536 - 100) // len(pair))
    path = tmp_path_factory.mktemp("long") / "a-trace-with-a-name-that-is-longer-than-the-terminal-is-wide"
    with open(path, "wb") as file:
        file.write((b"PLATTRC\n" + struct.pack("<III", 2, 65536, 42)).ljust(4096, b"\0"))
        for number in range(chunks):
            start = event("Thread", 0, 7, 0)
            # The address, as the difference to none; then it stays.
            start += event("aclrtMalloc", 1 + number * 1_000_000, 2 << 40, 4096, 0) + event("aclrtFree", 1, 0)
            events = start + body
            file.write((struct.pack("<IIQQ", 0x6b6e6843, len(events), 0, 0) + events).ljust(65536, b"\0"))
    return path


def on_terminal(*arguments, after_ms=0):
    """After so many milliseconds the command says how far it is: how fast a machine is decides nothing here."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    done = subprocess.Popen([PLAT, *map(str, arguments)], stdout=subprocess.PIPE, stderr=slave,
                            env={**os.environ, "PLAT_SHOW_AFTER_MS": str(after_ms)})
    os.close(slave)
    seen = b""
    try:
        while more := os.read(master, 65536):
            seen += more
    except OSError:
        pass  # the other end is gone
    os.close(master)
    output = done.stdout.read().decode()
    return done.wait(300), output, seen.decode()


@pytest.mark.parametrize("command, word", [(["check"], "checking"), (["report"], "reading"), (["replay"], "replaying"),
                                           (["export", "folded", "--of", "allocated", "-o", "/dev/null"], "reading"),
                                           (["view", "--no-open", "-o", "/dev/null"], "reading")])
def test_a_line_says_how_far_it_is(trace, command, word):
    code, output, seen = on_terminal(*command, trace)
    assert code == 0, seen
    parts = [int(part) for part in re.findall(rf"\r *(\d+) % {word} ", seen)]
    assert len(parts) > 1 and parts == sorted(parts) and parts[0] < parts[-1] <= 100, seen
    assert "%" not in output or command == ["report"]
    # Each time in one row, and at the end nothing is left of it.
    for shown in seen.split("\r")[1:-1]:
        assert len(shown.replace("\x1b[K", "")) < COLUMNS
    assert seen.endswith("\r\x1b[K") and "\n" not in seen


def test_what_is_done_soon_shows_nothing(trace):
    code, _, seen = on_terminal("report", trace, after_ms=3_600_000)
    assert code == 0 and seen == ""


def test_without_a_terminal_nothing_is_said(trace):
    done = run("report", trace, env={**os.environ, "PLAT_SHOW_AFTER_MS": "0"})
    assert done.returncode == 0 and done.stderr == ""


def test_what_is_wrong_stands_in_a_line_of_its_own(tmp_path):
    path = tmp_path / "none"
    path.write_text("no trace")
    code, _, seen = on_terminal("report", path)
    assert code == 2 and re.fullmatch(r"\r *\d+ % reading .*\r\x1b\[Kplat: [^\r]*\r\n", seen), seen
    code, _, seen = on_terminal("report", path, after_ms=3_600_000)
    assert code == 2 and re.fullmatch(r"plat: [^\r]*\r\n", seen), seen
