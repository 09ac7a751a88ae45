# SPDX-License-Identifier: Apache-2.0
"""plat report: what it says of memory, as JSON and as a page."""
import json
import os
import re

import pytest

from command import run

PROGRAM = os.environ["PLAT_PROGRAM"]


def record(folder, name, stacks="fp"):
    trace = folder / f"{name}.trace"
    assert run("record", "-o", trace, "--stacks", stacks, "--", PROGRAM, name).returncode == 0
    return trace


def data_of(page):
    """The reports that a page carries."""
    return json.loads(re.search(r"^const reports = (.*);$", page, re.MULTILINE).group(1))


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
    report = data_of(page)[0]
    in_terminal = json.loads(run("report", "--json", trace).stdout)[0]
    assert report["peak_bytes"] == in_terminal["peak_bytes"] == 4096


def test_the_page_has_the_map_at_the_peak(tmp_path):
    page = tmp_path / "r.html"
    run("report", "--html", page, record(tmp_path, "s13_many_mappings"))
    report = data_of(page.read_text())[0]
    reservation = next(m for m in report["maps_at_peak"] if m["kind"] == "reservation")
    assert reservation["bytes"] == 3 << 21  # two mappings and a hole; the second came after the peak was reached
    assert reservation["pieces"][0][:2] == [0, 2 << 20]
    owner = report["at_peak"][reservation["pieces"][0][2]]
    assert owner["kind"] == "mapping" and owner["site"]["call"] == "aclrtMapMem"


def test_names_cannot_break_out_of_the_page(tmp_path):
    page = tmp_path / "r.html"
    run("report", "--html", page, record(tmp_path, "odd_names"))
    text = page.read_text()
    assert text.count("</script>") == 1
    assert any(mark["text"] == "</script><b>" for mark in data_of(text)[0]["marks"])


def test_several_processes_are_on_one_page(tmp_path):
    page = tmp_path / "r.html"
    run("report", "--html", page, record(tmp_path, "peak"), record(tmp_path, "growth"))
    assert [report["peak_bytes"] for report in data_of(page.read_text())] == [6 << 20, 6 * 4096]


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
