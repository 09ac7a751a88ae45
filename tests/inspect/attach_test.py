# SPDX-License-Identifier: Apache-2.0
"""Looking into a process that was started without the recorder, through the mstx broker."""
import array
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import termios
import time

from command import PLAT, run

PROGRAM = os.environ["PLAT_PROGRAM"]
RECORDER = os.path.join(os.path.dirname(os.path.dirname(PLAT)), "lib64", "libplat_inspect.so")


@contextlib.contextmanager
def running(*arguments, **variables):
    """The program, from its first call on; it ends, well, with its input."""
    program = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, **variables})
    try:
        assert program.stdout.readline() == "ready\n"
        yield program
        if program.poll() == -signal.SIGKILL:
            return  # by the test
        program.stdin.close()
        assert program.wait(timeout=120) == 0
    finally:
        program.kill()


def look(program, *options):
    done = run("top", "--once", "--json", "--pid", program.pid, "--wait", 120, *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_top_sees_what_lives_and_what_each_process_holds():
    with running(PLAT_MSTX_REMEMBER="1") as program:
        seen = look(program)
        kinds = seen["process"]["kinds"]
        assert seen["process"]["mstx_only"]
        assert kinds["heap"]["left"] == 1 and kinds["heap"]["left_bytes"] == 8192
        assert kinds["region"]["left_bytes"] >= 1024  # the one that stays was there before the recorder
        assert "device block" not in kinds  # calls of the device are not seen this way
        holders = {holder["pid"]: holder for device in seen["devices"] for holder in device["processes"]}
        assert holders[program.pid]["bytes"] > 0  # but what the device gave is


def test_what_nobody_remembered_is_not_seen():
    with running() as program:
        assert "heap" not in look(program)["process"]["kinds"]


def test_looking_again_and_again_leaves_nothing_behind(tmp_path):
    with running(PLAT_MSTX_REMEMBER="1") as program:
        for _ in range(5):
            done = run("top", "--once", "--json", "--pid", program.pid, "--wait", 120,
                       env={**os.environ, "TMPDIR": str(tmp_path)})
            assert json.loads(done.stdout)["process"]["kinds"]["heap"]["left"] == 1
        assert list(tmp_path.iterdir()) == []


def test_a_running_process_is_recorded_and_checked(tmp_path):
    trace = tmp_path / "t"
    with running(PLAT_MSTX_REMEMBER="1") as program:
        for _ in range(2):  # the second time replaces the trace
            recorder = subprocess.Popen([PLAT, "record", "--pid", str(program.pid), "--wait", "120", "-o", trace],
                                        stderr=subprocess.PIPE, text=True)
            assert "recording" in recorder.stderr.readline()
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=120) == 0
            recorder.stderr.close()
            done = run("check", "--json", trace)
            assert done.returncode == 0 and done.stdout == ""
    assert "calls of the device were not seen" in run("check", trace).stdout


def test_the_end_of_a_recorded_process_ends_the_recording(tmp_path):
    with running(PLAT_MSTX_REMEMBER="1") as program:
        recorder = subprocess.Popen([PLAT, "record", "--pid", str(program.pid), "--wait", "120", "-o", tmp_path / "t"],
                                    stderr=subprocess.PIPE, text=True)
        assert "recording" in recorder.stderr.readline()
        program.kill()
        program.wait()
        assert recorder.wait(timeout=120) == 0
        recorder.stderr.close()
        assert run("check", tmp_path / "t").returncode == 0


def recorded(program, trace):
    """plat record, once the recorder is in the program."""
    recorder = subprocess.Popen([PLAT, "record", "--pid", str(program.pid), "--wait", "120", "-o", trace],
                                stderr=subprocess.PIPE, text=True)
    assert "recording" in recorder.stderr.readline()
    return recorder


def end(recorder, how):
    recorder.send_signal(how)
    recorder.communicate(timeout=120)


def maps(program):
    with open(f"/proc/{program.pid}/maps") as file:
        return file.read()


def is_asked(program):
    """Whether somebody asks for a recorder (mstx/board.h): the second word of the page is Asked::Attach."""
    numbers = f"/proc/{program.pid}/fd"
    number, = (number for number in os.listdir(numbers) if "plat-mstx-board" in os.readlink(f"{numbers}/{number}"))
    with open(f"{numbers}/{number}", "rb") as file:
        return file.read(8)[4:] == b"\1\0\0\0"


def test_a_recorder_whose_asker_was_killed_is_let_go(tmp_path):
    with running(PLAT_MSTX_REMEMBER="1") as program:
        recorder = recorded(program, tmp_path / "t")
        assert str(tmp_path) in maps(program)
        end(recorder, signal.SIGKILL)
        until = time.monotonic() + 120
        while str(tmp_path) in maps(program):  # until some of its next calls
            assert time.monotonic() < until
        assert run("check", tmp_path / "t").returncode == 0


def test_who_asks_after_a_killed_asker_is_served(tmp_path):
    with running(PLAT_MSTX_REMEMBER="1") as program:
        for turn in range(4):
            end(recorded(program, tmp_path / str(turn)), signal.SIGKILL)
        assert look(program)["process"]["kinds"]["heap"]["left"] == 1


def test_one_asks_at_a_time(tmp_path):
    with running(PLAT_MSTX_REMEMBER="1") as program:
        recorder = recorded(program, tmp_path / "t")
        done = run("record", "--pid", program.pid, "-o", tmp_path / "other")
        assert done.returncode == 1 and "another plat looks into it" in done.stderr
        assert str(tmp_path / "t") in maps(program)
        end(recorder, signal.SIGINT)


def test_a_killed_look_leaves_no_file(tmp_path):
    with running(PLAT_MSTX_REMEMBER="1") as program:
        top = subprocess.Popen([PLAT, "top", "--json", "--pid", str(program.pid), "--wait", "120", "--interval", "100"],
                               stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)})
        assert top.stdout.readline()
        end(top, signal.SIGKILL)
        assert list(tmp_path.iterdir()) == []


def state_of(process):
    with open(f"/proc/{process.pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_a_look_that_is_killed_before_it_saw_its_trace_leaves_no_file(tmp_path):
    with running(PLAT_MSTX_REMEMBER="1") as program:
        program.send_signal(signal.SIGSTOP)
        top = subprocess.Popen([PLAT, "top", "--json", "--pid", str(program.pid), "--wait", "120"], stdout=subprocess.DEVNULL,
                               env={**os.environ, "TMPDIR": str(tmp_path)})
        until = time.monotonic() + 120
        while not is_asked(program):
            assert time.monotonic() < until and top.poll() is None
        top.send_signal(signal.SIGSTOP)
        while state_of(top) != "T":
            assert time.monotonic() < until
        program.send_signal(signal.SIGCONT)
        while str(tmp_path) not in maps(program):  # until it was answered
            assert time.monotonic() < until
        end(top, signal.SIGKILL)
        assert list(tmp_path.iterdir()) == []


def test_a_look_whose_output_nobody_reads_can_be_ended():
    with running(PLAT_MSTX_REMEMBER="1") as program:
        top = subprocess.Popen([PLAT, "top", "--json", "--pid", str(program.pid), "--wait", "120", "--interval", "0.05"],
                               stdout=subprocess.PIPE)
        fcntl.fcntl(top.stdout, fcntl.F_SETPIPE_SZ, 4096)
        queued = array.array("i", [0])
        until = time.monotonic() + 120
        while queued[0] < 4096:  # until there is no room for more
            assert time.monotonic() < until and top.poll() is None
            fcntl.ioctl(top.stdout, termios.FIONREAD, queued)
        # It keeps the first one until it asks, which it may never do again; the second ends it, unless both came as one.
        while top.returncode is None:
            assert time.monotonic() < until
            top.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                top.wait(0.05)
        top.stdout.close()


def test_who_cannot_be_looked_into_is_said(tmp_path):
    with running("silent") as program:
        done = run("top", "--once", "--pid", program.pid, "--wait", 0.1)
        assert done.returncode == 1 and "made no mstx call" in done.stderr
        done = run("record", "--pid", program.pid, "--wait", 0.1, "-o", tmp_path / "t")
        assert done.returncode == 1 and "made no mstx call" in done.stderr
    for pid in os.getpid(), 2**22 + 1:
        done = run("top", "--once", "--pid", pid)
        assert done.returncode == 1 and "plat record" in done.stderr
    assert run("record", "--pid", os.getpid(), "-o", tmp_path / "t", "--", "/bin/true").returncode == 2


def test_a_thousand_attaches_under_load_leave_a_trace_without_a_fault(tmp_path):
    trace = tmp_path / "t"
    done = subprocess.run([PROGRAM, "churn", RECORDER], timeout=500, capture_output=True, text=True,
                          env={**os.environ, "PLAT_INSPECT_TRACE": str(trace)})
    assert done.returncode == 0, done.stderr
    done = run("check", trace)
    assert done.returncode == 0 and "0 errors, 0 warnings" in done.stdout, done.stdout
    assert "damaged" not in done.stdout
