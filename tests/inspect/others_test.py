# SPDX-License-Identifier: Apache-2.0
"""The recorder beside other tools: of mstx, AddressSanitizer and ThreadSanitizer."""
import os
import subprocess

import pytest

from command import rules_of, run

PROGRAMS = os.environ["PLAT_PROGRAMS"].split(":")


@pytest.fixture(params=PROGRAMS, ids=["direct", "broker"])
def program(request):
    return request.param


def check(program, **variables):
    env = {**os.environ, **variables}
    env.pop("PLAT_QUIET", None)
    return run("check", "--json", "--", program, "s4_freed_region", env=env)


def test_a_tool_of_the_user_s_hears_and_so_do_we(program, tmp_path):
    log = tmp_path / "log"
    done = check(program, MSTX_INJECTION_PATH=os.environ["PLAT_TOOL"], MSTX_TEST_LOG=str(log))
    assert rules_of(done) == ["INSP-Access-freed"], done.stderr
    assert log.read_text().count("a region") >= 2


@pytest.mark.parametrize("path, reason", [("/no/such/tool.so", "cannot load the tool"),
                                          (os.environ["PLAT_NO_TOOL"], "has no InitInjectionMstx")])
def test_a_tool_that_is_none_is_one_line(program, path, reason):
    done = check(program, MSTX_INJECTION_PATH=path)
    assert rules_of(done) == ["INSP-Access-freed"], done.stderr
    assert done.stderr.count(reason) == 1 and done.stderr.count("plat mstx:") == 1


@pytest.mark.skipif("PLAT_ASAN_PROGRAM" not in os.environ, reason="everything is built with a sanitizer")
def test_a_program_with_address_sanitizer_works():
    env = {name: value for name, value in os.environ.items() if name != "ASAN_OPTIONS"}
    done = run("check", "--json", "--", os.environ["PLAT_ASAN_PROGRAM"], env=env)
    assert rules_of(done) == ["INSP-Leak-device-block"] and "ASan" not in done.stderr, done.stderr
    env["ASAN_OPTIONS"] = "detect_leaks=0"
    assert rules_of(run("check", "--json", "--", os.environ["PLAT_ASAN_PROGRAM"], env=env)) == ["INSP-Leak-device-block"]


def run_with_thread_sanitizer(*words):
    """Under plat check, or by itself."""
    env = {name: value for name, value in os.environ.items() if name != "TSAN_OPTIONS"}
    if words[0] == "check":
        return run("check", "--json", "--", os.environ["PLAT_TSAN_PROGRAM"], *words[1:], env=env)
    return subprocess.run([os.environ["PLAT_TSAN_PROGRAM"], *words[1:]], env=env, capture_output=True, text=True, timeout=600)


@pytest.mark.skipif("PLAT_TSAN_PROGRAM" not in os.environ, reason="everything is built with a sanitizer")
@pytest.mark.parametrize("turn", range(4))
@pytest.mark.parametrize("way", ["check", "alone"])
def test_a_program_with_thread_sanitizer_has_the_races_that_are_its_own(way, turn):
    done = run_with_thread_sanitizer(way)
    assert done.returncode == 0 and "ThreadSanitizer" not in done.stderr, done.stderr
    assert way == "alone" or rules_of(done) == []
    done = run_with_thread_sanitizer(way, "race")
    assert done.returncode == 66 and "ThreadSanitizer: data race" in done.stderr and "tsan_program.cpp" in done.stderr
    assert done.stderr.count("WARNING: ThreadSanitizer") == 1 and "libascendcl" not in done.stderr, done.stderr
    done = run_with_thread_sanitizer(way, "race_in_work")
    assert done.returncode == 66 and "ThreadSanitizer: data race" in done.stderr and "run_on_host" in done.stderr
