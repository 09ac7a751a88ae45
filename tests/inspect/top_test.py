# SPDX-License-Identifier: Apache-2.0
"""plat top on a terminal: what fits, keys, and what is left of it afterwards."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import pytest

from command import PLAT, run

PROGRAM = os.environ["PLAT_PROGRAM"]  # inspect_stays
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    def __init__(self, *arguments, rows=8, columns=50):
        self.rows, self.columns = rows, columns
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.top = subprocess.Popen([PLAT, "top", *map(str, arguments)], stdin=slave, stdout=slave, stderr=subprocess.PIPE)
        self.seen = ""

    def frame(self, holding):
        """The next screen whose status holds a text."""
        start = len(self.seen)
        while True:
            screens = self.seen[start:].split("\x1b[H")
            for screen in screens[1:]:
                if "\x1b[7m" in screen and "\x1b[0m" in screen and holding in screen.split("\x1b[7m")[1]:
                    return [ESCAPES.sub("", line).rstrip("\r") for line in screen.split("\r\n")]
            while not select.select([self.master], [], [], 1)[0]:
                assert self.top.poll() is None, self.top.stderr.read()
            self.seen += os.read(self.master, 65536).decode()

    def press(self, keys):
        os.write(self.master, keys.encode())

    def end(self):
        code = self.top.wait(60)
        state = termios.tcgetattr(self.slave)
        os.close(self.slave)
        try:
            while more := os.read(self.master, 65536):
                self.seen += more.decode()
        except OSError:
            pass
        os.close(self.master)
        assert state == self.before, "the terminal is as it was"
        assert self.seen.endswith("\x1b[?25h\x1b[?1049l")
        return code


class Running:
    """A recorded program that allocates a block for every line."""

    def __init__(self, trace):
        self.program = subprocess.Popen([PLAT, "record", "-o", str(trace), "--", PROGRAM], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.pid = int(self.program.stdout.readline())

    def step(self):
        self.program.stdin.write("more\n")
        self.program.stdin.flush()
        assert self.program.stdout.readline() == "done\n"


@pytest.fixture
def running(tmp_path):
    one = Running(tmp_path / "run.trace")
    yield one
    one.program.stdin.close()
    one.program.wait(60)


def test_it_fits_the_terminal_and_q_ends_it(running):
    terminal = Terminal("--pid", running.pid)
    screen = terminal.frame("q ends")
    assert len(screen) == terminal.rows
    assert [line for line in screen if len(line) > terminal.columns] == []
    assert screen[0].startswith("Software device, no NPU")
    terminal.press("q")
    assert terminal.end() == 0


def test_it_scrolls_and_never_past_its_end(running):
    terminal = Terminal("--pid", running.pid)
    first = terminal.frame("line 1 of")
    terminal.press("j")
    assert terminal.frame("line 2 of")[0] == first[1]
    terminal.press("k")
    terminal.frame("line 1 of")
    terminal.press("k")  # not above the first
    terminal.press("j")
    terminal.frame("line 2 of")
    lines = int(re.search(r"of (\d+)", first[-1]).group(1))
    for _ in range(3):
        terminal.press(" ")
        at = int(re.search(r"line (\d+)", terminal.frame("line ")[-1]).group(1))
        assert at <= lines
    terminal.press("g")
    assert terminal.frame("line 1 of")[0] == first[0]
    terminal.press("q")
    assert terminal.end() == 0


def test_it_sorts_and_names_the_owners(running):
    terminal = Terminal("--pid", running.pid, "--interval", "0.05", rows=40, columns=160)
    screen = terminal.frame("by bytes")
    title = next(i for i, line in enumerate(screen) if line.split()[:4] == ["bytes", "grown", "count", "births"])
    assert screen[title + 1].split()[:4] == ["4", "KiB", "1", "1"] and "device block" in screen[title + 1]
    running.step()
    while not any("+4 KiB" in line for line in terminal.frame("by bytes")[title + 1:]):
        pass
    for order in ["grown", "count", "births", "bytes"]:
        terminal.press("s")
        terminal.frame(f"by {order}")
    terminal.top.send_signal(signal.SIGINT)
    assert terminal.end() == 0


def test_a_narrow_terminal_shows_whose_memory_it_is(running):
    terminal = Terminal("--pid", running.pid, "--interval", "0.05", rows=20, columns=60)
    screen = terminal.frame("by bytes")
    title = next(i for i, line in enumerate(screen) if line.split()[:4] == ["bytes", "grown", "count", "births"])
    assert re.search(r"  program\.h:\d+ programs", screen[title + 1]), screen
    assert any(line.rstrip().endswith("since the first") for line in screen), screen
    terminal.press("q")
    assert terminal.end() == 0


def test_without_a_terminal_it_prints(running):
    done = run("top", "--once", "--pid", running.pid)
    assert done.returncode == 0 and "Who holds it now" in done.stdout and "\x1b[?1049h" not in done.stdout
