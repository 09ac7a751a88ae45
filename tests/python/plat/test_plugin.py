# SPDX-License-Identifier: Apache-2.0
"""pytest --plat-check, run by pytest in processes of their own."""
import xml.etree.ElementTree

import pytest

pytest_plugins = ["pytester"]

HEAD = """
import acl, pytest

@pytest.fixture(autouse=True)
def device():
    acl.init()
    assert acl.rt.set_device(0) == 0
    yield
    assert acl.rt.reset_device(0) == 0

def malloc():
    return acl.rt.malloc(1000, 0)[0]
"""


@pytest.fixture
def run(pytester):
    def run(tests, *options, check="--plat-check", conftest=""):
        pytester.makepyfile(HEAD + tests)
        pytester.makeconftest(conftest)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *([check] if check else []), *options)
    return run


CLEAN = "def test_clean(): acl.rt.free(malloc())\n"
LEAK = "def test_leak(): malloc()\n"
TWICE = """
def test_twice():
    address = malloc()
    acl.rt.free(address)
    acl.rt.free(address)
"""


def test_a_leak_and_a_broken_rule_fail_and_clean_tests_pass(run):
    result = run(LEAK + CLEAN + TWICE)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*test_leak*", "*INSP-Leak-device-block*", "*#0 malloc at *.py:11", "*#1 test_leak at *.py:12",
                                 "  Device blocks are freed.*", "*test_twice*", "*INSP-Free-twice*", "*given back by aclrtFree*"])


def test_the_summary_and_junit_name_the_reason(run, pytester, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # the reason is cut to what fits
    result = run(LEAK + TWICE, "--junitxml=j.xml")
    result.stdout.fnmatch_lines(["FAILED *::test_leak - INSP-Leak-device-block: a device block of *", "FAILED *::test_twice - INSP-Free-twice: *"])
    failures = list(xml.etree.ElementTree.parse(pytester.path / "j.xml").iter("failure"))
    assert [failure.get("message").split(":")[0] for failure in failures] == ["INSP-Leak-device-block", "INSP-Free-twice"]
    assert "#0 malloc at" in failures[0].text


def test_without_the_option_nothing_is_looked_at(run):
    run(LEAK + TWICE, check=None).assert_outcomes(passed=2)


def test_the_same_leak_in_every_test_fails_every_test(run):
    result = run("@pytest.mark.parametrize('n', range(4))\ndef test_leak(n):\n    if n % 2: malloc()\n")
    result.assert_outcomes(passed=2, failed=2)


def test_a_marked_test_is_left_out(run):
    result = run("@pytest.mark.no_plat_check\n" + LEAK + CLEAN, "--strict-markers")
    result.assert_outcomes(passed=2)
    assert result.ret == 0


def test_what_a_fixture_takes_and_gives_back_is_no_leak(run):
    fixture = "@pytest.fixture\ndef block():\n    address = malloc()\n    yield address\n    acl.rt.free(address)\n"
    run(fixture + "def test_it(block): acl.rt.memset(block, 1000, 1, 1000)\n").assert_outcomes(passed=1)


WIDER = """
@pytest.fixture(scope='module')
def block():
    acl.init()
    acl.rt.set_device(0)
    address = malloc()
    yield address
    %s
    acl.rt.reset_device(0)
def test_one(block): pass
def test_two(block): acl.rt.memset(block, 1000, 1, 1000)
"""


def test_a_wider_fixture_keeps_its_memory(run):
    result = run(WIDER % "acl.rt.free(address)")
    result.assert_outcomes(passed=2)
    assert result.ret == 0


def test_a_wider_fixture_that_leaks_fails_the_session(run):
    result = run(WIDER % "pass")
    result.assert_outcomes(passed=2)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*by fixtures of a wider scope*", "*INSP-Leak-device-block*", "*#1 block at *"])


def test_a_leak_that_a_test_was_told_of_is_not_told_again(run):
    result = run(LEAK)
    assert "by fixtures" not in result.stdout.str()


def test_a_test_that_failed_or_was_skipped_stays_so(run):
    result = run("def test_fails():\n    malloc()\n    assert 0\ndef test_skips():\n    pytest.skip()\n"
                 "@pytest.mark.xfail\ndef test_expected():\n    assert 0\n")
    result.assert_outcomes(failed=1, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(["*plat check*", "*INSP-Leak-device-block*"])


def test_warnings_count_when_strict(run):
    # A physical handle freed before its mapping is removed is allowed, and against the documented order.
    test = """
def test_order():
    prop = {'memAttr': acl.ACL_HBM_MEM_HUGE, 'location': {'id': 0, 'type': 1}}
    address, handle = acl.rt.reserve_mem_address(1 << 21, 0, 0, 1)[0], acl.rt.malloc_physical(1 << 21, prop, 0)[0]
    assert acl.rt.map_mem(address, 1 << 21, 0, handle, 0) == 0
    acl.rt.free_physical(handle)
    acl.rt.unmap_mem(address)
    acl.rt.release_mem_address(address)
"""
    run(test).assert_outcomes(passed=1)
    result = run(test, check="--plat-check-strict")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*INSP-Rule-teardown-order*"])


def test_suppressions(run, pytester):
    pytester.makefile(".txt", known="INSP-Leak-device-block malloc*\n")
    run(LEAK + TWICE, "--plat-check-suppressions", "known.txt").assert_outcomes(passed=1, failed=1)
    assert run(LEAK, "--plat-check-suppressions", "missing.txt").ret == pytest.ExitCode.USAGE_ERROR


def test_a_conftest_may_import_acl(run):
    run(LEAK, conftest="import acl").assert_outcomes(failed=1)


def test_too_late_is_said(run):
    result = run(CLEAN, "-p", "acl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--plat-check: acl was imported before the inspector*"])
