# SPDX-License-Identifier: Apache-2.0
"""plat view: the page, where it is written, and what is refused."""
import os
import re

import pytest

from command import run
from page import data_of

PROGRAM = os.environ["PLAT_PROGRAM"]


def record(folder, name):
    trace = folder / f"{name}.trace"
    assert run("record", "-o", trace, "--", PROGRAM, name).returncode == 0
    return trace


def test_the_page_is_written_beside_the_trace(tmp_path):
    trace = record(tmp_path, "peak")
    done = run("view", trace)
    page = tmp_path / "peak.trace.html"
    assert (done.returncode, done.stdout) == (0, f"{page}\n")
    assert data_of(page.read_text())[0]["process"]["peak"] == 6 << 20


def test_the_page_can_be_put_elsewhere_and_hold_several(tmp_path):
    page = tmp_path / "both.html"
    assert run("view", "-o", page, record(tmp_path, "peak"), record(tmp_path, "growth")).returncode == 0
    traces = data_of(page.read_text())
    assert len(traces) == 2 and traces[0]["process"]["title"] != traces[1]["process"]["title"]


@pytest.mark.parametrize("what", ["cut", "foreign", "empty", "nothing", "missing"])
def test_what_is_no_whole_trace_is_refused_and_nothing_written(tmp_path, what):
    trace = record(tmp_path, "peak")
    if what == "cut":
        trace.write_bytes(trace.read_bytes()[:-100])
    elif what == "foreign":
        trace.write_bytes(b"\x7fELF" + bytes(70000))
    elif what == "empty":
        trace.write_bytes(b"")
    elif what == "nothing":
        trace = record(tmp_path, "odd_names")
    else:
        trace.unlink()
    page = tmp_path / "page.html"
    done = run("view", "-o", page, trace)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"plat: {trace}: ") and len(done.stderr.splitlines()) == 1
    assert not page.exists() and sorted(os.listdir(tmp_path)) == sorted(p.name for p in tmp_path.iterdir() if p.suffix == ".trace")


def test_a_page_never_replaces_its_trace(tmp_path):
    trace = record(tmp_path, "peak")
    before = trace.read_bytes()
    assert run("view", "-o", trace, trace).returncode == 2
    assert trace.read_bytes() == before
    assert run("view", "-o", "/no/such/folder/p.html", trace).returncode == 2


def test_an_old_page_survives_a_refusal(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("old")
    broken = tmp_path / "broken.trace"
    broken.write_bytes(b"no trace")
    assert run("view", "-o", page, broken).returncode == 2
    assert page.read_text() == "old"


def test_handles_of_streams_are_exact(tmp_path):
    page = tmp_path / "page.html"
    assert run("view", "-o", page, record(tmp_path, "order_by_event")).returncode == 0
    streams = data_of(page.read_text())[0]["streams"]
    assert len(streams) == len(set(streams)) >= 2
    assert all(re.fullmatch("0x[0-9a-f]+", stream) for stream in streams)


def test_calls_that_failed_are_on_the_page(tmp_path):
    page = tmp_path / "page.html"
    assert run("view", "-o", page, record(tmp_path, "s14_free_twice")).returncode == 0
    [call] = data_of(page.read_text())[0]["failedCalls"]
    assert call.startswith("failed: aclrtFree returned ") and "MEM-Free-once" in call and "main" in call
