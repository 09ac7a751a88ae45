# SPDX-License-Identifier: Apache-2.0
"""plat replay of recordings: what a recorded program would need of the pool."""
import gzip
import json
import os
import pickle
import resource
import subprocess

import pytest

PLAT = os.environ["PLAT_COMMAND"]
PROGRAM = os.environ["PLAT_PROGRAM"]
POOL_PROGRAM = os.environ["PLAT_POOL_PROGRAM"]
MIB = 1 << 20


def run(*arguments):
    return subprocess.run([PLAT, *map(str, arguments)], capture_output=True, text=True, timeout=300)


def record(folder, *program):
    trace = folder / "program.trace"
    done = run("record", "-o", trace, "--stacks", "none", "--", *program)
    assert done.returncode == 0, done.stderr
    return trace


def replay(*arguments):
    done = run("replay", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_blocks_of_the_device_are_replayed(tmp_path):
    (row,) = replay(record(tmp_path, PROGRAM, "growth"))
    assert row["completed"] and row["events"] == 12 and row["peak_live_bytes"] == 6 * 4096


def test_streams_of_a_recording_are_used(tmp_path):
    trace = record(tmp_path, PROGRAM, "order_by_event")
    (row,) = replay(trace)
    assert row["completed"] and row["streams"] == 2 and row["peak_live_bytes"] == 2 * MIB
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(trace.read_bytes()))
    assert [r["policy"] for r in replay("--compare", packed)] == ["pool", "best-fit", "buddy", "page-run"]


def test_regions_stand_for_the_memory_that_they_divide(tmp_path):
    (row,) = replay(record(tmp_path, PROGRAM, "s3_neighbour"))
    assert row["events"] >= 2 and row["peak_live_bytes"] == 512


def test_a_program_over_the_pool_can_be_replayed(tmp_path):
    (row,) = replay(record(tmp_path, POOL_PROGRAM))
    assert row["completed"] and 0 < row["peak_live_bytes"] <= row["smallest_device_bytes"]


def test_what_cannot_be_replayed_is_named(tmp_path):
    whole = record(tmp_path, PROGRAM, "growth")
    (tmp_path / "empty").touch()
    (tmp_path / "cut").write_bytes(whole.read_bytes()[:-100])
    for name, reason in [("empty", "it is empty"), (".", "it is a directory"), ("missing", "No such file"), ("cut", "is cut off")]:
        done = run("replay", tmp_path / name)
        assert done.returncode == 2 and done.stdout == "" and reason in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_one_that_does_not_fit_has_no_pace(tmp_path):
    done = run("replay", "--device", "2MiB", record(tmp_path, PROGRAM, "order_by_event"))
    assert done.returncode == 1 and "out of memory at event" in done.stdout
    title, row = done.stdout.splitlines()
    assert row[:title.index("ns/op") + 5].split()[-1] == "-"


def test_a_small_file_is_not_unpacked_without_end(tmp_path):
    packed = tmp_path / "bomb.csv.gz"
    packed.write_bytes(gzip.compress(b"#" + b" " * (3 * MIB)))
    done = run("replay", "--max-unpacked", "2MiB", packed)
    assert done.returncode == 2 and "unpacks to more than 2 MiB; --max-unpacked allows more" in done.stderr
    assert "holds no allocation" in run("replay", "--max-unpacked", "4MiB", packed).stderr
    assert run("replay", "--max-unpacked", "much", packed).returncode == 2
    plain = tmp_path / "plain.csv"
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    assert "holds no allocation" in run("replay", "--max-unpacked", "2MiB", plain).stderr


def test_a_pickle_that_cannot_be_read_has_a_reason(tmp_path):
    deep = 1_000_000
    for content, reason in [(b"\x80\x04.", "holds nothing"), (b"\x80\x04]", "has no end"),
                            (b"\x80\x04" + b"]" * deep + b"a" * (deep - 1) + b".", "neither device_traces nor segments")]:
        path = tmp_path / "snapshot.pickle"
        path.write_bytes(content)
        done = run("replay", path)
        assert done.returncode == 2 and reason in done.stderr, done.stderr


def test_a_pickle_takes_no_more_than_its_bytes_can_hold(tmp_path):
    """Lists that are named again and again: 400 million entries in 100 KB."""
    many = 20_000
    histories = {"device_traces": [[{"action": "alloc", "addr": 4096, "size": 512}] * many] * many}
    segments = {"segments": [{"address": 4096, "total_size": 512, "blocks": [{"size": 1, "state": "active_allocated"}] * many}] * many}
    path = tmp_path / "snapshot.pickle"
    for snapshot in histories, segments:
        path.write_bytes(pickle.dumps(snapshot))
        assert path.stat().st_size < 200_000
        done = run("replay", path)
        assert done.returncode == 2 and "the same list at two places" in done.stderr, done.stderr


def test_a_long_name_that_all_blocks_have_is_not_kept_for_each(tmp_path):
    if os.environ.get("PLAT_SANITIZE"):
        pytest.skip("a sanitizer needs the addresses")
    name, room = "n" * 100_000, 512 * MIB
    entries = [{"action": "alloc", "addr": 4096 * i, "size": 512, "user_metadata": name} for i in range(1, 20_000)]
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps({"device_traces": [entries]}))
    done = subprocess.run([PLAT, "replay", path], capture_output=True, text=True, timeout=300,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (room, room)))
    assert done.returncode == 0, done.stderr


def test_a_pickle_that_is_too_large_says_so(tmp_path):
    if os.environ.get("PLAT_SANITIZE"):
        pytest.skip("a sanitizer needs the addresses")
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps({"device_traces": [[{"n": i} for i in range(1_000_000)]]}))
    room = 256 * MIB
    done = subprocess.run([PLAT, "replay", path], capture_output=True, text=True, timeout=300,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (room, room)))
    assert done.returncode == 2 and "too large for the memory" in done.stderr, done.stderr
