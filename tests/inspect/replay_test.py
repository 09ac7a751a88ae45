"""plat replay of recordings: what a recorded program would need of the pool."""
import gzip
import json
import os
import subprocess

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
