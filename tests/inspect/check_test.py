"""What plat check says to programs with planted mistakes, and to programs without."""
import json
import os
import subprocess

import pytest

PLAT = os.environ["PLAT_COMMAND"]
PROGRAMS = os.environ["PLAT_PROGRAMS"].split(":")

# Program: the rules that it breaks, exactly.
EXPECTED = {
    "s0_inside": [],
    "s1_no_region": ["INSP-Access-outside-regions"],
    "s2_region_end": ["INSP-Access-past-end"],
    "s3_neighbour": ["INSP-Access-neighbour"],
    "s4_freed_region": ["INSP-Access-freed"],
    "s5_unregister_twice": ["INSP-Mstx-unregister-twice"],
    "s6_heap_gone": [],
    "s6b_heap_twice": ["INSP-Mstx-unregister-twice"],
    "s7_heap_unallocated": ["INSP-Mstx-heap-unallocated"],
    "s8_region_alone": [],
    "s9_read_only": ["INSP-Access-permission"],
    "s9_none": ["INSP-Access-permission"],
    "s9_shared": [],
    "s10_left": ["INSP-Leak-device-block", "INSP-Leak-heap", "INSP-Leak-region"],
    "s11_reused": ["INSP-Read-reused"],
    "s11_written_again": [],
    "s12_unwritten": ["INSP-Read-unwritten"],
    "s12_fresh_region": ["INSP-Read-unwritten"],
    "s13_many_mappings": [],
    "s13_outside": ["INSP-Access-outside-regions"],
    "s14_free_unknown": ["INSP-Free-unknown"],
    "s14_free_twice": ["INSP-Free-twice"],
    "past_end": ["INSP-Access-past-end"],
    "padding": ["INSP-Access-padding"],
    "freed": ["INSP-Access-freed"],
    "unmapped": ["INSP-Access-unmapped"],
    "unmapped_all": ["INSP-Access-unmapped"],
    "mappings_touch": [],
    "unknown_address": ["INSP-Access-unknown-address"],
    "written_by_parts": [],
    "unwritten_copied": ["INSP-Read-unwritten"],
    "alias_written": [],
    "unmap_twice": ["INSP-Free-twice"],
    "free_family": ["INSP-Free-family"],
    "host_past_end": ["INSP-Access-past-end"],
    "rule_teardown": ["INSP-Rule-teardown-order"],
    "rule_async_aligned": ["INSP-Rule-async-aligned"],
    "region_outside": ["INSP-Mstx-region-outside-heap"],
    "region_overlap": ["INSP-Mstx-region-overlap"],
    "wrong_reference": ["INSP-Mstx-reference"],
    "batch_unset": ["INSP-Mstx-batch-unset"],
    "heap_memory_goes": ["INSP-Mstx-heap-gone"],
    "dialect_caching": [],
    "dialect_freed": ["INSP-Access-freed"],
    "order_same_stream": [],
    "order_before_allocation": ["INSP-Order-use-before-allocation"],
    "order_by_event": [],
    "order_after_free": ["INSP-Order-use-after-free"],
    "order_free_elsewhere": ["INSP-Order-free-in-flight"],
    "order_free_in_flight": ["INSP-Order-free-in-flight"],
    "order_free_synchronised": [],
    "order_host_work": [],
    "order_reuse": ["INSP-Order-reuse"],
    "order_reuse_ordered": [],
    "leak_device_block": ["INSP-Leak-device-block"],
    "leak_host_block": ["INSP-Leak-host-block"],
    "leak_mapping": ["INSP-Leak-mapping", "INSP-Leak-physical", "INSP-Leak-reservation"],
    "leak_physical": ["INSP-Leak-physical"],
    "leak_retained": ["INSP-Leak-physical"],
    "leak_reservation": ["INSP-Leak-reservation"],
    "leak_stream": ["INSP-Leak-stream"],
    "leak_event": ["INSP-Leak-event"],
    "leak_region": ["INSP-Leak-region"],
    "leak_without_reset": ["INSP-Leak-device-block"],
    "growth": ["INSP-Growth-marks"],
    "no_growth": [],
    "killed": ["INSP-Access-past-end"],
    "forks": ["INSP-Access-past-end"],
    "peak": [],
}
WARNINGS = {"INSP-Rule-teardown-order", "INSP-Rule-async-aligned", "INSP-Growth-marks"}


def run(*arguments, **options):
    return subprocess.run([PLAT, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)


def check(program, name, *options):
    done = run("check", "--json", *options, "--", program, name)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def test_every_program_has_an_expectation():
    names = subprocess.run([PROGRAMS[0]], capture_output=True, text=True, check=True).stdout.split()
    assert sorted(names) == sorted(EXPECTED)


@pytest.mark.parametrize("program", PROGRAMS, ids=["direct", "broker"])
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_findings(program, name):
    done, findings = check(program, name)
    assert sorted(f["rule"] for f in findings) == sorted(EXPECTED[name]), done.stderr + done.stdout
    if set(EXPECTED[name]) - WARNINGS:
        assert done.returncode == 1, done.stderr
    else:
        assert done.returncode == 0, done.stderr
    for finding in findings:
        assert finding["hint"] and finding["detail"] and finding["count"] >= 1
