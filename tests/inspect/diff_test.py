# SPDX-License-Identifier: Apache-2.0
"""plat report --diff: what grew from one run to another."""
import json
import os

from command import run
from page import data_of

PROGRAM = os.environ["PLAT_PROGRAM"]


def record(folder, name, file=None):
    trace = folder / f"{file or name}.trace"
    assert run("record", "-o", trace, "--", PROGRAM, name).returncode == 0
    return trace


def test_what_grew_is_told_by_stack(tmp_path):
    before, after = record(tmp_path, "peak"), record(tmp_path, "growth")
    told = json.loads(run("report", "--diff", "--json", before, after).stdout)
    assert (told["before"]["peak_bytes"], told["after"]["peak_bytes"]) == (6 << 20, 6 * 4096)
    assert sum(row["grown_bytes"] for row in told["at_peak"]) == 6 * 4096 - (6 << 20)
    for row in told["at_peak"]:
        assert row["grown_bytes"] == row["after_bytes"] - row["before_bytes"]
        assert any("main" in frame for frame in row["stack"])
    sizes = [abs(row["grown_bytes"]) for row in told["at_peak"]]
    assert sizes == sorted(sizes, reverse=True)
    text = run("report", "--diff", before, after).stdout
    assert max(map(len, text.splitlines())) < 200, "names are shortened as elsewhere"
    assert "-5.98 MiB" in text and "+24 KiB" in text and "-6 MiB" in text


def test_the_same_run_twice_has_no_difference(tmp_path):
    traces = [record(tmp_path, "growth", name) for name in ("a", "b")]
    told = json.loads(run("report", "--diff", "--json", *traces).stdout)
    assert told["at_peak"] == [] and told["at_end"] == []
    assert "nothing" in run("report", "--diff", *traces).stdout


def test_a_page_has_both(tmp_path):
    page = tmp_path / "both.html"
    assert run("report", "--diff", "--html", page, record(tmp_path, "peak"), record(tmp_path, "growth")).returncode == 0
    assert len(data_of(page.read_text())) == 2


def test_two_traces_are_needed_and_both_must_be_whole(tmp_path):
    trace, broken = record(tmp_path, "peak"), tmp_path / "broken.trace"
    broken.write_bytes(trace.read_bytes()[:-1])
    assert run("report", "--diff", trace).returncode == 2
    assert run("report", "--diff", trace, trace, trace).returncode == 2
    for pair in [(trace, broken), (broken, trace)]:
        done = run("report", "--diff", *pair)
        assert done.returncode == 2 and done.stdout == "" and "is cut off" in done.stderr
