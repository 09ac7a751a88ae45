# SPDX-License-Identifier: Apache-2.0
"""What a user runs into: files that are not what they should be, places that cannot be written, programs that move."""
import json
import os
import resource
import signal
import struct
import subprocess

import pytest

from command import PLAT, rules_of, run

PROGRAM = os.environ["PLAT_PROGRAM"]
NOWHERE = "/no/such/folder/file"


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "good.trace"
    assert run("record", "-o", path, "--", PROGRAM, "leak_device_block").returncode == 0
    return path


@pytest.mark.parametrize("command", ["check", "report", "top"])
def test_what_is_no_trace_is_named(command, trace, tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("hello")
    (tmp_path / "short").write_bytes(trace.read_bytes()[:100])
    other = bytearray(trace.read_bytes())
    other[8:12] = struct.pack("<I", 99)
    (tmp_path / "other").write_bytes(other)
    once = ["--once"] if command == "top" else []
    for name, reason in [("empty", "it is empty"), ("text", "it is not a trace"), ("short", "it is not a trace"),
                         ("other", "it is a trace of version 99"), (".", "it is a directory"),
                         ("missing", "No such file")]:
        done = run(command, *once, tmp_path / name)
        assert done.returncode == 2 and done.stdout == ""
        assert reason in done.stderr and done.stderr.count("\n") == 1


def test_a_trace_that_was_cut_is_read_as_far_as_it_goes(trace, tmp_path):
    whole = trace.read_bytes()
    used = struct.unpack_from("<I", whole, 4096 + 4)[0]
    for keep in 0, 1, used // 2, used - 1:
        (tmp_path / "cut").write_bytes(whole[:4096 + 24 + keep])
        done = run("check", "--json", tmp_path / "cut")
        assert done.returncode in (0, 1) and set(rules_of(done)) <= {"INSP-Leak-device-block"}
        assert "the file is cut off, so leaks are not judged" in done.stderr
        # In the middle the cut may fall between two events, and what is there is whole then.
        assert "1 chunk of the trace is damaged" in done.stderr or keep in (0, used // 2)
        assert "note: the file is cut off" in run("report", tmp_path / "cut").stdout
        assert json.loads(run("report", "--json", tmp_path / "cut").stdout)[0]["cut_off"] is True
    assert "cut off" not in run("report", trace).stdout + run("check", "--json", trace).stderr


def test_a_trace_is_the_same_on_a_machine_with_larger_pages(tmp_path):
    """Chunks of a trace begin in the middle of such a page."""
    findings = []
    for size in "4096", "65536":
        path = tmp_path / size
        assert run("record", "-o", path, "--", PROGRAM, "leak_device_block", env=os.environ | {"PLAT_PAGE_BYTES": size}).returncode == 0
        assert (path.stat().st_size - 4096) % 65536 == 0
        findings.append(rules_of(run("check", "--json", path)))
    assert findings[0] == findings[1] == ["INSP-Leak-device-block"]


@pytest.mark.parametrize("option", ["--log-file", "--junit", "--sarif"])
def test_places_that_cannot_be_written_are_refused_before_the_program_runs(option, tmp_path):
    ran = tmp_path / "ran"
    for place in NOWHERE, tmp_path:
        done = run("check", option, place, "--", "/usr/bin/touch", ran)
        assert done.returncode == 2 and f"{place} cannot be written: " in done.stderr
        assert not ran.exists()


def test_a_trace_that_cannot_be_written_is_refused_before_the_program_runs(tmp_path):
    ran = tmp_path / "ran"
    done = run("record", "-o", NOWHERE, "--", "/usr/bin/touch", ran)
    assert done.returncode == 2 and "cannot be written: No such file or directory" in done.stderr
    assert not ran.exists()


def test_asking_changes_no_file(tmp_path):
    kept = tmp_path / "log"
    kept.write_text("mine")
    assert run("check", "--log-file", kept, "--junit", tmp_path / "new", "--", "/no/such/program").returncode == 127
    assert kept.read_text() == "mine" and not (tmp_path / "new").exists()


def test_findings_that_cannot_be_written_after_all_are_printed():
    done = run("check", "--log-file", "/dev/full", "--", PROGRAM, "freed")
    assert done.returncode == 2
    assert "/dev/full cannot be written: No space left" in done.stderr and "INSP-Access-freed" in done.stderr


def test_a_program_that_changes_its_directory_leaves_its_trace_where_it_was_asked_for(tmp_path):
    assert run("record", "-o", "here.trace", "--", PROGRAM, "elsewhere", cwd=tmp_path).returncode == 0
    assert run("check", "here.trace", cwd=tmp_path).returncode == 0


def test_findings_of_several_processes_say_whose_they_are():
    done = run("check", "--", PROGRAM, "forks")
    assert done.stderr.count("  In process ") == 1 and f": {PROGRAM} forks." in done.stderr
    assert "In process" not in run("check", "--", PROGRAM, "freed").stderr


def test_leaks_are_not_judged_if_events_were_lost():
    done = run("check", "--json", "--", PROGRAM, "many_events",
               env={**os.environ, "PLAT_INSPECT_MAX_BYTES": str(4096 + 2 * 65536)})
    assert done.returncode == 0 and rules_of(done) == []
    assert "reached its limit" in done.stderr
    done = run("check", "--", PROGRAM, "many_events", env={**os.environ, "PLAT_INSPECT_MAX_BYTES": str(4096 + 2 * 65536)})
    assert "lost, so leaks are not judged" in done.stderr


SMALLEST = {"PLAT_INSPECT_MAX_BYTES": str(4096 + 2 * 65536)}


def events_of(trace):
    """How many events a trace holds, and how many found no room."""
    done = run("report", "--json", trace)
    lost = struct.unpack_from("<Q", trace.read_bytes(), 48)[0]
    return json.loads(done.stdout)[0]["events"], lost


@pytest.mark.parametrize("stacks", ["none", "fp", "unwind"])
def test_each_event_that_finds_no_room_is_counted_once(stacks, tmp_path):
    whole, short = tmp_path / "whole", tmp_path / "short"
    for trace, variables in (whole, {}), (short, SMALLEST):
        done = run("record", "--stacks", stacks, "-o", trace, "--", PROGRAM, "many_events", env={**os.environ, **variables})
        assert done.returncode == 0, done.stderr
    events, lost = events_of(short)
    assert lost > 0 and (events + lost, 0) == events_of(whole)


def test_a_program_that_has_our_number_for_its_own_file_keeps_the_file_and_the_trace(tmp_path):
    trace, plain = tmp_path / "t", tmp_path / "plain"
    assert run("record", "-o", plain, "--", PROGRAM, "many_events").returncode == 0
    done = run("record", "-o", trace, "--", PROGRAM, "takes_all_numbers")
    assert done.returncode == 0 and "lost" not in done.stderr, done.stderr
    events, lost = events_of(trace)
    assert lost == 0 and events > events_of(plain)[0]


def test_a_program_that_takes_the_trace_away_is_told_what_is_lost(tmp_path):
    done = run("record", "-o", tmp_path / "t", "--", PROGRAM, "takes_all_numbers_and_the_name")
    assert done.returncode == 0 and "events are lost from here on" in done.stderr, done.stderr


def test_a_program_that_has_all_numbers_is_recorded_all_the_same(tmp_path):
    done = run("record", "-o", tmp_path / "t", "--", PROGRAM, "has_all_numbers")
    assert done.returncode == 0 and "lost" not in done.stderr, done.stderr


def test_a_limit_of_the_size_of_files_costs_events_and_not_the_program(tmp_path):
    done = run("record", "-o", tmp_path / "t", "--", PROGRAM, "limits_its_files")
    assert done.returncode == 0 and "File too large; events are lost from here on" in done.stderr, done.stderr
    assert events_of(tmp_path / "t")[1] > 0


def test_a_trace_that_is_cut_while_it_is_written_costs_events_and_not_the_program(tmp_path):
    done = run("record", "-o", tmp_path / "t", "--", PROGRAM, "cuts_its_trace")
    assert done.stderr.count("was made shorter by somebody while it was written; events are lost") == 1, done.stderr
    assert done.returncode == 0 and "SIGBUS" not in done.stderr, done.stderr


def test_what_is_said_to_nobody_does_not_end_the_program(tmp_path):
    done = run("record", "-o", tmp_path / "t", "--", PROGRAM, "has_no_reader", env={**os.environ, **SMALLEST})
    assert done.returncode == 0, done.stderr
    assert events_of(tmp_path / "t")[1] > 0


def commands_in(text):
    """What a terminal would obey."""
    return [c for c in text if (ord(c) < 32 and c not in "\n\t") or 0x7f <= ord(c) < 0xa0]


def test_names_do_not_command_the_terminal(tmp_path):
    trace = tmp_path / "t"
    assert run("record", "-o", trace, "--", PROGRAM, "names_that_command").returncode == 0
    for command in ["check"], ["check", "--json"], ["report"], ["report", "--json"], ["top", "--once"], ["top", "--once", "--json"]:
        done = run(*command, trace)
        assert "pool" in done.stdout and "[31mred" in done.stdout or command[0] == "check", command
        assert commands_in(done.stdout + done.stderr) == []
        if "--json" in command:
            for line in done.stdout.splitlines():
                json.loads(line)
    assert "[31mred\\x0dback" in run("report", trace).stdout
    odd = tmp_path / "\x1b[2J"
    for command in "check", "report", "top", "replay":
        done = run(command, odd)
        assert done.returncode == 2 and "\\x1b[2J" in done.stderr and commands_in(done.stderr) == []


def test_names_of_processes_do_not_command_the_terminal():
    program = subprocess.Popen([PROGRAM, "names_that_command"], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PLANTED_WAIT": "1"})
    try:
        assert program.stdout.readline() == "ready\n"
        for command in ["info"], ["info", "--json"], ["top", "--once"], ["top", "--once", "--json"]:
            done = run(*command)
            assert "blink" in done.stdout and commands_in(done.stdout) == []
    finally:
        program.kill()
        program.communicate()


def files_of_at_most(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_what_cannot_be_written_whole_is_not_written(trace, tmp_path):
    kept, link = tmp_path / "kept", tmp_path / "link"
    for path in kept, tmp_path / "new":
        before = sorted(tmp_path.iterdir())
        done = run("report", "--html", path, trace, preexec_fn=files_of_at_most(4096))
        assert done.returncode == 2 and f"{path} cannot be written: File too large" in done.stderr
        assert sorted(tmp_path.iterdir()) == before
    kept.write_text("mine")
    kept.chmod(0o600)
    link.symlink_to("kept")
    assert run("report", "--html", link, trace, preexec_fn=files_of_at_most(4096)).returncode == 2
    assert kept.read_text() == "mine"
    assert run("report", "--html", link, trace).returncode == 0
    assert link.is_symlink() and kept.read_text().startswith("<!doctype html>") and kept.stat().st_mode & 0o777 == 0o600


def test_an_output_that_is_full_is_not_taken_for_success(trace):
    with open("/dev/full", "w") as full:
        for command in "report", "check":
            done = subprocess.run([PLAT, command, trace], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
            assert done.returncode == 2 and "No space left" in done.stderr


def test_without_stacks_what_is_left_is_one_finding_for_each_call():
    done = run("check", "--stacks", "none", "--", PROGRAM, "leak_device_block")
    assert "[3 times, 12 KiB together]" in done.stderr and "1 error," in done.stderr


def test_ctrl_c_ends_the_program_and_leaves_no_files(tmp_path):
    program = subprocess.Popen([PLAT, "check", "--", PROGRAM, "waits"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert program.stdout.readline() == "ready\n"
    assert len(list(tmp_path.iterdir())) == 1
    program.send_signal(signal.SIGINT)
    _, told = program.communicate(timeout=60)
    assert program.returncode == -signal.SIGINT
    assert "ended by signal 2" in told and "0 errors" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["check", "record", "report", "top", "run", "info", "rules", "clean", "replay"])
def test_help_says_what_to_type(command):
    text = run(command, "--help").stdout
    assert f"Usage: plat {command}" in text and "Examples:" in text
    for parsers_own in "{false}", " in [", "INT:", "TEXT:", "FLOAT:", "UINT", "Excludes:":
        assert parsers_own not in text


@pytest.mark.parametrize("option", ["--frames", "--limit"])
def test_counts_are_not_negative(option, trace):
    assert run("check", option, "-1", trace).returncode == 2
