# SPDX-License-Identifier: Apache-2.0
"""plat report: what it says of memory, as JSON and as a page."""
import json
import os
import re

import pytest

from command import run
from page import data_of, lives_of
from trace_file import events

PROGRAM = os.environ["PLAT_PROGRAM"]


def record(folder, name, stacks="fp"):
    trace = folder / f"{name}.trace"
    assert run("record", "-o", trace, "--stacks", stacks, "--", PROGRAM, name).returncode == 0
    return trace


def test_managed_memory_and_reductions_are_recorded(tmp_path):
    told = [(name, numbers) for name, _, numbers, _ in events(record(tmp_path, "managed_both_sides"))]
    page = 2 << 20
    for event in [("aclrtMemAllocManaged", (2 * page, 1)), ("aclrtMemManagedAdvise", (page, 0, 0, 0)),
                  ("aclrtMemManagedPrefetchAsync", (2 * page, 1, 0)), ("ManagedPrefetchEntry", (page, 2, 0)),
                  ("ManagedPrefetchEntry", (page, 1, 0)), ("aclrtMemManagedPrefetchBatchAsync", (2,))]:
        assert told.count(event) == 1, event
    told = [(name, numbers) for name, _, numbers, _ in events(record(tmp_path, "ordered_reduce"))]
    assert told.count(("aclrtReduceAsync", (4096, 10, 3))) == 1
    told = [(name, numbers) for name, _, numbers, _ in events(record(tmp_path, "peer_map"))]
    assert told.count(("aclrtMemP2PMap", (4096, 0))) == 1


def test_mbufs_and_snapshots_are_recorded(tmp_path):
    told = [name for name, _, _, _ in events(record(tmp_path, "mbufs_given_back"))]
    for name, count in [("aclrtAllocBuf", 2), ("aclrtCopyBufRef", 1), ("aclrtAppendBufChain", 1), ("aclrtFreeBuf", 2)]:
        assert told.count(name) == count, name
    told = [name for name, _, _, _ in events(record(tmp_path, "snapshot_restored"))]
    assert [name for name in told if name.startswith("aclrtSnapShot")] == [
        "aclrtSnapShotProcess" + step for step in ["Lock", "Backup", "Restore", "Unlock"]]
    left = json.loads(run("report", "--json", record(tmp_path, "leak_mbuf")).stdout)[0]
    assert "mbuf" in json.dumps(left)


def test_growth_from_mark_to_mark_is_reported(tmp_path):
    trace = record(tmp_path, "growth")
    report = json.loads(run("report", "--json", trace).stdout)[0]
    line = report["growth"][0]
    assert (line["kind"], line["mark"], line["marks"], line["rises"]) == ("device block", "step", 6, 5)
    assert (line["first_count"], line["last_count"], line["last_bytes"]) == (1, 6, 6 * 4096)
    assert line["never_stops"] and line["site"]["call"] == "aclrtMalloc"
    assert "What grew from mark to mark" in run("report", trace).stdout
    assert json.loads(run("report", "--json", record(tmp_path, "no_growth")).stdout)[0]["growth"] == []


def test_the_page_needs_nothing_but_itself(tmp_path):
    page_file = tmp_path / "r.html"
    trace = record(tmp_path, "s10_left")
    done = run("report", "--html", page_file, trace)
    assert done.returncode == 0 and done.stdout == ""
    page = page_file.read_text()
    assert not re.search(r"https?://|<link|<img|@import|url\(|\bsrc=|fetch\(|XMLHttpRequest", page)
    assert "prefers-color-scheme: dark" in page
    process = data_of(page)[0]["process"]
    in_terminal = json.loads(run("report", "--json", trace).stdout)[0]
    assert process["peak"] == in_terminal["peak_bytes"] == 4096
    assert process["events"] == in_terminal["events"]
    assert process["left"] == in_terminal["live_bytes"]


def test_the_page_has_every_life(tmp_path):
    page = tmp_path / "r.html"
    run("report", "--html", page, record(tmp_path, "s13_many_mappings"))
    trace = data_of(page.read_text())[0]
    [reservation] = lives_of(trace, "reservation")
    assert trace["life.size"][reservation] == 3 << 21  # two mappings and a hole
    mappings = lives_of(trace, "mapping")
    assert [trace["life.start"][one] - trace["life.start"][reservation] for one in mappings] == [0, 2 << 20]
    for mapping in mappings:
        handle = trace["life.parent"][mapping] - 1
        assert trace["kinds"][trace["life.kind"][handle]] == "physical handle"
        assert trace["life.start"][handle] == trace["life.start"][mapping], "a handle is where it was mapped first"
        assert trace["ops"][trace["life.bornOp"][mapping]] == "aclrtMapMem"


def test_steps_of_the_page_add_up(tmp_path):
    """Births and deaths in order: each life is born once, dies at most once, and the sum is that of the report."""
    page = tmp_path / "r.html"
    for name in ["growth", "peak", "s10_left", "s13_many_mappings"]:
        run("report", "--html", page, record(tmp_path, name))
        trace = data_of(page.read_text())[0]
        alive, total, most, last = set(), 0, 0, 0
        for step in trace["step.life"]:
            life, birth = step // 2, step % 2 == 1
            at = trace["life.born"][life] if birth else trace["life.died"][life]
            assert at >= last
            last = at
            assert (life not in alive) == birth
            (alive.add if birth else alive.remove)(life)
            if trace["life.flags"][life] & 1:
                total += trace["life.size"][life] if birth else -trace["life.size"][life]
                most = max(most, total)
        assert (most, total) == (trace["process"]["peak"], trace["process"]["left"])
        assert alive == {life for life, died in enumerate(trace["life.died"]) if died < 0}


def test_findings_of_the_page_lead_to_their_block(tmp_path):
    page = tmp_path / "r.html"
    trace_file = record(tmp_path, "s10_left")
    run("report", "--html", page, trace_file)
    trace = data_of(page.read_text())[0]
    checked = [json.loads(line) for line in run("check", "--json", trace_file).stdout.splitlines()]
    assert [finding["rule"] for finding in trace["findings"]] == [one["rule"] for one in checked if "rule" in one]
    leak = next(finding for finding in trace["findings"] if finding["rule"].startswith("INSP-Leak-"))
    [block] = leak["lives"]
    assert trace["life.size"][block] == 4096
    taken_back = trace["ops"][trace["life.diedOp"][block]].startswith(("aclFinalize", "aclrtResetDevice"))
    assert trace["life.died"][block] < 0 or taken_back, "freed by nobody"
    frames = [trace["frames"][f][0] for f in trace["stack.frames"]]
    assert any("main" in frame for frame in frames)


def test_ranges_marks_and_streams_are_on_the_page(tmp_path):
    page = tmp_path / "r.html"
    run("report", "--html", page, record(tmp_path, "growth"))
    trace = data_of(page.read_text())[0]
    assert [trace["texts"][text] for text in trace["mark.text"]] == ["step"] * 6
    [line] = [line for line in trace["growth"] if line["kind"] == "device block"]
    assert (line["firstCount"], line["lastCount"], line["neverStops"]) == (1, 6, True)
    run("report", "--html", page, record(tmp_path, "order_by_event"))
    trace = data_of(page.read_text())[0]
    calls = [trace["ops"][op] for op in trace["work.op"]]
    assert "aclrtStreamWaitEvent" in calls and "aclrtRecordEvent" in calls
    assert all(to >= from_ for from_, to in zip(trace["work.from"], trace["work.to"]))
    writes = [size for size, write in zip(trace["touch.size"], trace["touch.write"]) if write]
    assert sum(writes) == trace["process"]["copied"] > 0


def test_names_cannot_break_out_of_the_page(tmp_path):
    page = tmp_path / "r.html"
    run("report", "--html", page, record(tmp_path, "odd_names"))
    text = page.read_text()
    assert "</script><b>" not in text
    assert "</script><b>" in data_of(text)[0]["texts"]


def test_several_processes_are_on_one_page(tmp_path):
    page = tmp_path / "r.html"
    run("report", "--html", page, record(tmp_path, "peak"), record(tmp_path, "growth"))
    assert [trace["process"]["peak"] for trace in data_of(page.read_text())] == [6 << 20, 6 * 4096]


def test_wrong_requests_are_refused(tmp_path):
    trace = record(tmp_path, "peak")
    assert run("report", "--html", "/no/such/folder/r.html", trace).returncode == 2
    assert run("report", "--html", tmp_path / "r.html", "--json", trace).returncode != 0
    assert run("report", "--html", tmp_path / "r.html", "/no/such/trace").returncode == 2


@pytest.mark.parametrize("name", ["s0_inside", "all_given_back", "order_by_event"])
def test_programs_that_give_back_all_leave_nothing_in_the_report(tmp_path, name):
    report = json.loads(run("report", "--json", record(tmp_path, name)).stdout)[0]
    assert report["live_bytes"] == 0
    assert all(kind["left"] == 0 for kind in report["kinds"].values())
