# SPDX-License-Identifier: Apache-2.0
"""Whose line a row names: the program's, not that of a library which passed the wish on."""
import json
import os

from command import rules_of, run

PROGRAM = os.environ["PLAT_PROGRAM"]
STACKS = os.environ["PLAT_STACKS_PROGRAM"]
HOOK = os.environ["PLAT_HOOK"]


def stacks(*options):
    """The frames of every allocation that is told, as text."""
    done = run("check", "--json", *options, "--", STACKS)
    findings = [json.loads(line) for line in done.stdout.splitlines()]
    assert findings, done.stderr
    return [[frame["text"] for frame in thing["allocated"]["stack"]] for finding in findings for thing in finding["objects"]]


def test_the_first_line_is_the_program_s():
    found = stacks("--hide", "libother_allocator.so")
    assert all("stack_program.cpp" in frame for stack in found for frame in stack), found
    for function in "ask_the_pool", "ask_the_other":
        assert any(function in stack[0] for stack in found), found


def test_a_stack_goes_on_below_functions_named_as_the_library_s():
    stack = next(stack for stack in stacks() if "ask_the_pool" in stack[0])
    assert [name in frame for name, frame in zip(["ask_the_pool", "clone_weights", "start_thread", "main"], stack)] == [True] * 4, stack


def test_all_frames_can_be_seen():
    found = stacks("--all-frames")
    assert any("libplat_pool.so" in frame or "/pool/" in frame for stack in found for frame in stack), found
    assert any("other_allocate" in stack[0] for stack in found)


def test_another_allocator_is_the_program_s_unless_it_is_named():
    assert any("other_allocate" in stack[0] for stack in stacks())


def test_a_thread_s_stack_ends_with_its_function():
    done = run("check", "--json", "--", PROGRAM, "race_of_threads")
    (race,) = [json.loads(line) for line in done.stdout.splitlines()]
    shown = [frame["text"] for frame in race["site"]["stack"]]
    assert "race_programs.cpp" in shown[-1] and len(shown) > 1, shown
    done = run("check", "--json", "--all-frames", "--", PROGRAM, "race_of_threads")
    assert "libstdc++" in done.stdout


def test_calls_of_one_line_are_one_place(tmp_path):
    trace = tmp_path / "t"
    assert run("record", "--stacks", "unwind", "-o", trace, "--", PROGRAM, "growth_in_turns").returncode == 0
    (report,) = json.loads(run("report", "--json", trace).stdout)
    assert [(owner["live_count"], owner["live_bytes"]) for owner in report["at_peak"]] == [(8, 32 << 10)], report["at_peak"]
    (growth,) = report["growth"]
    assert growth["never_stops"] and growth["last_count"] == 8


def test_report_names_the_program_s_lines_too(tmp_path):
    trace, page = tmp_path / "t", tmp_path / "page.html"
    assert run("record", "--stacks", "unwind", "-o", trace, "--", STACKS).returncode == 0
    told = run("report", "--hide", "libother*", trace).stdout
    assert "stack_program.cpp" in told and "other_allocate" not in told and "/pool/" not in told
    assert run("report", "--html", page, "--hide", "libother*", trace).returncode == 0
    assert "other_allocator.cpp" not in page.read_text()
    assert "other_allocate" in run("report", "--all-frames", trace).stdout


def test_the_recorder_stands_behind_what_the_user_preloads(tmp_path):
    trace = tmp_path / "t"
    env = {**os.environ, "LD_PRELOAD": HOOK}
    done = run("check", "--json", "--", PROGRAM, "growth", env=env)
    assert rules_of(done) == [] and done.returncode == 0, done.stdout + done.stderr
    assert "not seen" not in done.stderr
    assert run("record", "-o", trace, "--", PROGRAM, "growth", env=env).returncode == 0
    (report,) = json.loads(run("report", "--json", trace).stdout)
    assert report["kinds"]["device block"]["made"] == 1 and report["peak_bytes"] == 8 << 20  # the block of the hook
