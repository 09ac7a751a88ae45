# SPDX-License-Identifier: Apache-2.0
"""The table of make bench takes its rows from what the benchmark programs print."""
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts"))

import bench  # noqa: E402


@pytest.mark.parametrize("line, rows", [
    ("map 2 MiB, guarded / mmap       0.02584  [0.02128..0.03947]      x     0.05  ok     82 ns", [("map 2 MiB, guarded / mmap", 0.02584, "x", 0.05)]),
    ("a row without a target            3.5  [2.1..4]      us", [("a row without a target", 3.5, "us", None)]),
    ("1,000,000 live / 1,000            1.3  [1.1..1.4]      x        -         20 ns", [("1,000,000 live / 1,000", 1.3, "x", None)]),
    ("no_tool/library/mark          2.20 ns         2.10 ns    333333333 (target 2.5)", [("no_tool/library/mark", 2.1, "ns", 2.5)]),
    ("get_device                      80 ns       60 ns    1.33  [1.2..1.4]  1.5  ok", [("get_device", 1.33, "x", 1.5)]),
    ("empty_call                                 139 ns         2.54 ns    100000000", [("empty_call", 2.54, "ns", None)]),
    ("64 B H2D                     12.0 ns          10.0 ns  ratio  1.200", [("64 B H2D", 1.2, "x", None)]),
    ("64 MiB H2D, first write, to first touch      ratio  0.913", [("64 MiB H2D, first write, to first touch", 0.913, "x", None)]),
    ("acl.rt.malloc                 88 ns       20 ns    4.40  [4.1..5.0]", [("acl.rt.malloc", 4.4, "x", None)]),
    ("recording, stacks fp    10.1 bytes an event (target 32)     47.9 ns an event",
     [("recording, stacks fp, bytes", 10.1, "bytes", 32), ("recording, stacks fp, ns", 47.9, "ns", None)]),
    ("load".ljust(46) + "      23.1     1.40      20.2", [("load", 1.4, "x", None)]),
    ("two threads, throughput over one: 1.20 (to 32 KiB)", []),
])
def test_each_form_of_row_is_understood(line, rows):
    found = [(name, row["value"], row["unit"], row["target"]) for name, row in bench.rows("p", line)]
    assert found == [(f"p: {name}", *rest) for name, *rest in rows]


def test_a_missed_target_and_a_slower_run_are_said():
    row = {"value": 2.0, "unit": "x", "target": 1.0}
    assert bench.verdict(row, None) == "MISSED"
    assert bench.verdict(row, {"value": 1.0}) == "MISSED, 2.00 x before, SLOWER"
    assert bench.verdict({"value": 1.0, "target": 1.0}, {"value": 1.0}) == "ok, 1.00 x before"


def test_a_run_ends_with_a_table_and_a_file(tmp_path, capsys):
    program = tmp_path / "bench_one"
    program.write_text("#!/bin/sh\necho 'a thing to another   ratio  0.500'\n")
    program.chmod(0o755)
    bench.main(tmp_path, tmp_path / "first.json")
    bench.main(tmp_path, tmp_path / "second.json", tmp_path / "first.json")
    shown = capsys.readouterr().out
    assert "1.00 x before" in shown and re.search(r"one: a thing to another +0.5 x +-", shown)
