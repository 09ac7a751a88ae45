"""plat export: the files that other tools open, and what is not written."""
import json
import os

import pytest

from command import run

PROGRAM = os.environ["PLAT_PROGRAM"]
STACKS_PROGRAM = os.environ["PLAT_STACKS_PROGRAM"]
FORMATS = ["folded", "speedscope"]


def record(folder, *program, stacks="fp"):
    trace = folder / "run.trace"
    done = run("record", "-o", trace, "--stacks", stacks, "--", *program)
    assert done.returncode == 0, done.stderr
    return trace


def export(form, trace, *options):
    """The bytes of the file."""
    file = trace.parent / f"out.{form}"
    done = run("export", form, trace, "-o", file, *options)
    assert done.returncode == 0 and done.stdout == "", done.stderr
    return file.read_bytes()


def report_of(trace):
    return json.loads(run("report", "--json", trace).stdout)[0]


def weights(folded):
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in folded.decode().splitlines()}


def test_folded_stacks_weigh_what_the_report_says(tmp_path):
    trace = record(tmp_path, PROGRAM, "peak")
    report = report_of(trace)
    assert sum(weights(export("folded", trace)).values()) == report["peak_bytes"]
    allocated = weights(export("folded", trace, "--of", "allocated", "--by", "count"))
    assert sum(allocated.values()) == report["kinds"]["device block"]["made"] == 2
    assert all(stack.startswith("main (main.cpp:") for stack in allocated)


def test_speedscope_has_every_flame_graph(tmp_path):
    trace = record(tmp_path, PROGRAM, "growth")
    file = json.loads(export("speedscope", trace))
    sums = {profile["name"]: sum(profile["weights"]) for profile in file["profiles"]}
    assert sums["live at the peak, bytes"] == report_of(trace)["peak_bytes"] == 6 * 4096
    assert sums["allocated, blocks"] == 6
    for profile in file["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"]) and profile["endValue"] == sums[profile["name"]]
        assert all(frame < len(file["shared"]["frames"]) for sample in profile["samples"] for frame in sample)


def test_frames_of_plat_are_hidden(tmp_path):
    trace = record(tmp_path, STACKS_PROGRAM, stacks="unwind")
    shown = export("folded", trace, "--hide", "libother*")
    assert b"stack_program.cpp" in shown and b"/pool/" not in shown and b"plat_pool_alloc" not in shown and b"other_allocate" not in shown
    assert b"other_allocate" in export("folded", trace, "--all-frames")


@pytest.mark.parametrize("form", FORMATS)
def test_what_cannot_be_read_leaves_no_file(tmp_path, form):
    whole = record(tmp_path, PROGRAM, "peak").read_bytes()
    file = tmp_path / "out"
    for content in [b"", whole[:100], whole[:4096 + 100], b"no trace at all" * 1000]:
        (tmp_path / "bad.trace").write_bytes(content)
        done = run("export", form, tmp_path / "bad.trace", "-o", file)
        assert done.returncode == 2 and "bad.trace: " in done.stderr, done.stderr
        assert not file.exists()
        file.write_text("from before")
        assert run("export", form, tmp_path / "bad.trace", "-o", file).returncode == 2
        assert file.read_text() == "from before"
        file.unlink()


def test_wrong_requests_are_refused(tmp_path):
    trace = record(tmp_path, PROGRAM, "peak")
    before = trace.read_bytes()
    assert run("export", "folded", trace, "-o", trace).returncode == 2 and trace.read_bytes() == before
    assert run("export", "folded", trace, "-o", "/no/such/folder/f").returncode == 2
    assert run("export", "folded", trace).returncode == 2
    assert run("export", "nothing", trace, "-o", tmp_path / "f").returncode == 2
    assert run("export", "folded", "/no/such/trace", "-o", tmp_path / "f").returncode == 2
    assert not (tmp_path / "f").exists()
