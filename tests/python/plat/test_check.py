# SPDX-License-Identifier: Apache-2.0
"""plat.check: findings as objects, with the lines of Python, in exactly the part of the program that was checked."""
import os
import pickle
import subprocess
import sys
import threading

import plat
import pytest

plat.check()  # before acl, which the recorder must precede

import acl  # noqa: E402
import numpy  # noqa: E402

PAGE = 2 * plat.MIB
PAST_THE_END = 507899


@pytest.fixture(autouse=True)
def device():
    with plat.Device(0) as made:
        yield made


def malloc(size=1000):
    address, ret = acl.rt.malloc(size, acl.ACL_MEM_MALLOC_HUGE_FIRST)
    assert ret == 0
    return address


def rules(check):
    return [finding.rule for finding in check.findings]


def test_nothing_is_found_where_nothing_is_wrong(device):
    with plat.check() as check:
        with device.reserve(PAGE) as addresses, device.allocate(PAGE) as memory, addresses.map(memory) as mapping:
            mapping.from_numpy(numpy.arange(10))
            assert mapping.to_numpy(10, int)[9] == 9
        acl.rt.free(malloc())
    assert check.ok and not check.findings and check.events >= 9 and check.lost == 0
    check.raise_errors()


def test_a_leak_says_what_and_from_where():
    with plat.check() as check:
        address = malloc()
    acl.rt.free(address)
    assert rules(check) == ["INSP-Leak-device-block"] and not check.ok
    finding = check.errors[0]
    assert (finding.severity, finding.count, finding.address, finding.size) == ("error", 1, address, 1000)
    assert finding.block.kind == "device block" and finding.block.address == address and finding.block.freed is None
    assert finding.hint and finding.sentence and hex(address) in finding.message
    inner, outer = finding.block.allocated.stack[:2]
    assert (inner.function, outer.function) == ("malloc", "test_a_leak_says_what_and_from_where")
    assert inner.file == outer.file == __file__ and inner.line < outer.line
    assert f"malloc at {__file__}:{inner.line}" in str(finding)
    assert finding.block.allocated.stack in finding.stacks and finding.site.native
    with pytest.raises(plat.FindingsError, match="INSP-Leak-device-block") as caught:
        check.raise_errors()
    assert pickle.loads(pickle.dumps(caught.value)).findings == caught.value.findings == check.errors


def test_a_broken_rule_says_where_it_shows_and_what_it_is_about():
    data = numpy.zeros(5000, numpy.uint8)
    with plat.check() as check:
        address = malloc()
        assert acl.rt.memcpy(address, 5000, acl.util.numpy_to_ptr(data), 5000, acl.ACL_MEMCPY_HOST_TO_DEVICE) == PAST_THE_END
        acl.rt.free(address)
        assert acl.rt.free(address) != 0
    assert rules(check) == ["INSP-Access-past-end", "INSP-Free-twice"]
    past, twice = check.findings
    assert past.result == PAST_THE_END and past.site.call == "aclrtMemcpy" and past.site.thread == threading.get_native_id()
    assert past.block.role == "accessed" and past.block.size == 1000
    freed = twice.block.freed.stack[0]
    assert (freed.function, freed.line) == (twice.site.stack[0].function, twice.site.stack[0].line - 1)


def test_a_check_sees_its_own_part_only():
    before = malloc()
    with plat.check() as outer:
        first = [malloc() for _ in range(2)]
        with plat.check() as inner:
            second = [malloc() for _ in range(3)]
        acl.rt.free(first.pop())
        acl.rt.free(before)
    with plat.check() as after:
        for address in first + second:
            acl.rt.free(address)
    assert [(finding.rule, finding.count) for finding in inner.findings] == [("INSP-Leak-device-block", 3)]
    assert sum(finding.count for finding in outer.findings) == 4 and set(rules(outer)) == {"INSP-Leak-device-block"}
    assert not after.findings and after.events == 4


def test_the_same_mistake_is_found_again():
    def mistake():
        acl.rt.free(malloc() + 64)

    for _ in range(3):
        with plat.check(leaks=False) as check:
            mistake()
        assert rules(check) == ["INSP-Free-unknown"] and check.findings[0].count == 1


def test_what_is_held_back_does_not_count():
    with plat.check() as check:
        with check.held():
            kept = malloc()
        acl.rt.free(malloc())
    acl.rt.free(kept)
    assert not check.findings


def test_options_leave_things_out():
    data = numpy.zeros(1000, numpy.uint8)

    def mistakes(**options):
        with plat.check(**options) as check:
            address = malloc()
            acl.rt.memcpy(acl.util.numpy_to_ptr(data), 1000, address, 1000, acl.ACL_MEMCPY_DEVICE_TO_HOST)
        acl.rt.free(address)
        return rules(check), check.suppressed

    read, leak = "INSP-Read-unwritten", "INSP-Leak-device-block"
    assert mistakes() == ([read, leak], 0)
    assert mistakes(unwritten=False) == ([leak], 0)
    assert mistakes(leaks=False) == ([read], 0)
    assert mistakes(suppressions="INSP-Leak-* malloc*\n") == ([read], 1)
    with pytest.raises(plat.InspectorError, match="line 1"):
        mistakes(suppressions="INSP-Nothing *")


def test_a_pool_keeps_its_memory_and_its_users_their_blocks(device):
    with plat.Pool(device) as pool:
        with plat.check() as check:
            with device.stream() as stream, pool.allocate(5000, stream) as block:
                stream.fill(block, 1)
        assert not check.findings and pool.stats["reserved_bytes"] > 0
        with plat.check() as check:
            forgotten = pool.allocate(3000)
        assert rules(check) == ["INSP-Leak-region"] and check.findings[0].size == 3000
        assert check.findings[0].block.allocated.stack[0].file == __file__
        forgotten.close()
    with plat.check() as check:
        pool = plat.Pool(device)
        pool.allocate(10).close()
    pool.close()
    assert "INSP-Leak-heap" in rules(check)


def test_threads_have_stacks_of_their_own(device):
    def work():
        device.use()
        kept.append(malloc(4000))

    kept = []
    with plat.check() as check:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for address in kept:
        acl.rt.free(address)
    assert sum(finding.count for finding in check.findings) == 4
    assert all([frame.function for frame in finding.site.stack][:2][0] == "malloc" for finding in check.findings)
    assert {finding.site.stack[1].line for finding in check.findings} == {work.__code__.co_firstlineno + 2}


def test_a_check_is_used_once():
    with plat.check() as check:
        pass
    with pytest.raises(plat.InspectorError, match="another"):
        with check:
            pass


def test_a_forked_child_is_checked_by_itself():
    with plat.check() as outer:
        kept = malloc()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                assert acl.init() == 0 and acl.rt.set_device(0) == 0
                with plat.check() as check:
                    malloc()
                if rules(check) == ["INSP-Leak-device-block"] and check.findings[0].site.stack[0].function == "malloc":
                    status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        acl.rt.free(kept)
    assert not outer.findings


def run(script, *prefix, **variables):
    return subprocess.run([*prefix, sys.executable, "-B", "-c", script], text=True, capture_output=True, env=os.environ | variables)


def test_too_late_is_said():
    done = run("import acl, plat\nplat.check()")
    assert done.returncode == 1 and "InspectorError: acl was imported before the inspector" in done.stderr
    assert "plat record -- python3" in done.stderr


def test_a_program_under_plat_record_may_import_acl_first(tmp_path):
    script = ("import acl, plat\nacl.init(); acl.rt.set_device(0)\n"
              "with plat.check() as check:\n    acl.rt.malloc(8, 0)\nprint(*check.findings)")
    done = run(script, os.environ["PLAT_COMMAND"], "record", "-o", str(tmp_path / "trace"), "--")
    assert done.returncode == 0 and "<module> at <string>:4" in done.stdout, done.stderr


def test_nothing_is_left_behind(tmp_path):
    script = "import plat\nwith plat.check(), plat.Device(0):\n    pass"
    assert run(script, TMPDIR=str(tmp_path)).returncode == 0
    assert not list(tmp_path.iterdir())


def test_a_process_that_is_started_from_a_checked_one_has_a_trace_of_its_own(tmp_path):
    script = ("import plat, os, shutil\nwith plat.check() as check, plat.Device(0):\n"
              "    shutil.rmtree(os.environ['PARENT'])\nprint(check.events > 0)")
    parent = tmp_path / "plat-python-parent"
    parent.mkdir()
    done = run(script, PARENT=str(parent), PLAT_INSPECT_TRACE=str(parent / "trace"))
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_the_package_alone_loads_no_library():
    assert run("import plat, sys\nassert 'acl' not in sys.modules and 'Device' in dir(plat)").returncode == 0
