# SPDX-License-Identifier: Apache-2.0
"""Broken memory: told, repaired, and what is wrong. The fault plan of a process of its own breaks it."""
import os
import subprocess
import sys
import textwrap

import acl
import pytest
from conftest import PAGE, good

rt = acl.rt


def run(script):
    begin = "import acl\nrt = acl.rt\nPAGE = 1 << 21\nassert acl.init() == 0 and rt.set_device(0) == 0\n"
    done = subprocess.run([sys.executable, "-c", begin + textwrap.dedent(script)], capture_output=True, text=True,
                          env={**os.environ, "PLAT_FAULT": "malloc, nth=1, uce"})
    assert done.returncode == 0, done.stderr


def test_healthy_memory_has_nothing_to_tell():
    assert good(rt.get_mem_uce_info(0, 20)) == [] and good(rt.get_mem_uce_info(0, 0)) == []
    assert good(rt.get_error_verbose(0)) == {"tryRepair": 0, "hasDetail": 0, "errorType": acl.ACL_RT_NO_ERROR}


def test_a_broken_page_is_told_and_repaired():
    run("""
        block, ret = rt.malloc(PAGE, acl.ACL_MEM_MALLOC_HUGE_ONLY)
        assert rt.memset(block, PAGE, 1, PAGE) == 507053
        assert rt.get_mem_uce_info(0, 0) == ([], 100000)        # no room
        pages, ret = rt.get_mem_uce_info(0, 20)
        assert ret == 0 and pages == [{"addr": block, "len": PAGE, "reserved": [0] * 14}], pages
        assert rt.mem_uce_repair(0, pages) == 0 and rt.get_mem_uce_info(0, 20) == ([], 0)
        assert rt.memset(block, PAGE, 1, PAGE) == 0
    """)


def test_the_other_way():
    run("""
        block, ret = rt.malloc(PAGE, acl.ACL_MEM_MALLOC_HUGE_ONLY)
        assert rt.memset(block, PAGE, 1, PAGE) == 507053
        told, ret = rt.get_error_verbose(0)
        assert ret == 0 and told["errorType"] == acl.ACL_RT_ERROR_MEMORY and told["tryRepair"] == told["hasDetail"] == 1
        assert [page["addr"] for page in told["uceInfo"]] == [block]
        assert rt.repair_error(0, {**told, "tryRepair": 0}) == 107000
        assert rt.repair_error(0, told) == 0 and rt.get_error_verbose(0)[0]["errorType"] == 0
        assert rt.memset(block, PAGE, 1, PAGE) == 0
    """)


def test_what_is_wrong():
    for device in -1, 99:
        assert rt.get_mem_uce_info(device, 20) == ([], 107001) and rt.mem_uce_repair(device, []) == 107001
        assert rt.get_error_verbose(device)[-1] == 107001
    page = {"addr": PAGE, "len": PAGE}
    assert rt.mem_uce_repair(0, [page] * 21) == 100000
    assert rt.mem_uce_repair(0, [{**page, "reserved": [1]}]) == 100000
    assert rt.repair_error(0, {}) == 107000
    with pytest.raises(ValueError, match="65536"):
        rt.get_mem_uce_info(0, 1 << 40)
    with pytest.raises(ValueError, match="14"):
        rt.mem_uce_repair(0, [{"reserved": [0] * 15}])
    with pytest.raises(ValueError, match="20"):
        rt.repair_error(0, {"uceInfo": [page] * 21})
    for wrong in 5, [5], [{"addr": "x"}], [{"reserved": 5}]:
        with pytest.raises(TypeError):
            rt.mem_uce_repair(0, wrong)
    for wrong in 5, {"uceInfo": 5}, {"errorType": "x"}:
        with pytest.raises(TypeError):
            rt.repair_error(0, wrong)
