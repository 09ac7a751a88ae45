# SPDX-License-Identifier: Apache-2.0
"""The inspector over a device library that shares nothing with Plat, installed as the package plat-inspector has it: without ours."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from command import rules_of
from trace_file import events

BUILD = pathlib.Path(os.environ["PLAT_COMMAND"]).parents[1]
PROGRAM = os.environ["PLAT_FOREIGN_PROGRAM"]
FOREIGN = os.environ["PLAT_FOREIGN"]
ABOUT_TRACE = {"Thread", "Module", "Stack", "Clock", "ForeignDevice"}


@pytest.fixture(scope="module")
def plat(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("inspector")
    for name in "bin/plat", "lib64/libplat_inspect.so", "lib64/plat/libascend_kernel_hook.so":
        (prefix / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(BUILD / name, prefix / name)

    def run(*words, libraries=FOREIGN, **variables):
        environment = os.environ | {"LD_LIBRARY_PATH": str(libraries)} | variables
        return subprocess.run([prefix / "bin/plat", *map(str, words)], capture_output=True, text=True, timeout=300, env=environment)
    return run


def calls(trace):
    return [event for event in events(trace) if event[0] not in ABOUT_TRACE]


def test_nothing_of_plat_but_the_recorder_is_in_the_process(plat, tmp_path):
    done = plat("record", "-o", tmp_path / "trace", "--", PROGRAM, "files")
    assert done.returncode == 0, done.stderr
    files = {line.split()[1].rsplit("/", 1)[1] for line in done.stdout.splitlines() if line.startswith("file ")}
    assert files == {"libplat_inspect.so", "libascendcl.so"}
    assert f"file {FOREIGN}/libascendcl.so" in done.stdout


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1] for line in lines}


def test_what_is_brought_into_the_process_stands_before_the_device_and_nothing_else():
    """A name that a foreign library or the program has too would be found here instead."""
    lib64 = BUILD / "lib64"
    before_others = {"dlsym", "InitInjectionMstx"}  # of the C library, and what programs ask a tool of mstx for
    asked_by_plat = {"plat_inspect_hear", "plat_inspect_prepare"}
    recorder = exported(lib64 / "libplat_inspect.so")
    calls = recorder - before_others - asked_by_plat
    assert recorder == calls | before_others | asked_by_plat
    assert all(name.startswith(("acl", "hi_mpi_dvpp_")) for name in calls), calls
    assert "aclrtMalloc" in calls and calls <= exported(lib64 / "libascendcl.so")
    assert exported(lib64 / "plat/libascend_kernel_hook.so") == set()


def test_the_same_program_gives_the_same_trace(plat, tmp_path):
    assert plat("record", "-o", tmp_path / "theirs", "--", PROGRAM).returncode == 0
    assert plat("record", "-o", tmp_path / "ours", "--", PROGRAM, libraries=BUILD / "lib64").returncode == 0
    assert calls(tmp_path / "theirs") == calls(tmp_path / "ours")
    named = [event[3] for event in events(tmp_path / "theirs") if event[0] == "ForeignDevice"]
    assert named == [f"{FOREIGN}/libacl_rt.so"]
    assert "ForeignDevice" not in {event[0] for event in events(tmp_path / "ours")}


def test_mistakes_are_found_and_what_is_off_is_named(plat):
    done = plat("check", "--", PROGRAM)
    assert done.returncode == 1 and "INSP-Leak-device-block" in done.stdout + done.stderr
    assert f"the device is {FOREIGN}/libacl_rt.so, which is not Plat's: the rules" in done.stdout + done.stderr
    done = plat("check", "--", PROGRAM, libraries=BUILD / "lib64")
    assert done.returncode == 1 and "is not Plat's" not in done.stdout + done.stderr


def test_numbers_and_calls_that_plat_does_not_know_pass_through(plat, tmp_path):
    done = plat("check", "--json", "--", PROGRAM, "odd")
    assert done.returncode == 1, done.stderr
    assert set(rules_of(done)) == {"INSP-Leak-device-block"}
    assert plat("record", "-o", tmp_path / "trace", "--", PROGRAM, "odd").returncode == 0
    recorded = calls(tmp_path / "trace")
    assert ("aclrtMalloc", 0, (4096, 4242), None) in recorded and ("aclrtSetDevice", 990001, (9,), None) in recorded


def test_a_real_hook_is_respected(plat, tmp_path):
    real = pathlib.Path(os.environ["PLAT_FOREIGN_HOOK"])
    done = plat("record", "-o", tmp_path / "trace", "--", sys.executable, "-c", "import os; print(os.environ['LD_PRELOAD'])", LD_PRELOAD=str(real))
    names = done.stdout.strip().split(":")
    assert names[0] == str(real) and [pathlib.Path(name).name for name in names].count("libascend_kernel_hook.so") == 1


def test_children_that_never_initialise_acl_leave_no_trace(plat, tmp_path):
    said = subprocess.run(["sh", "-c", "echo to both; echo oops >&2; exit 0"], capture_output=True, text=True)
    done = plat("record", "-o", tmp_path / "trace", "--", PROGRAM, "child", "echo to both; echo oops >&2; true")
    assert done.returncode == 0
    assert done.stdout == said.stdout and said.stderr in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["trace"]
