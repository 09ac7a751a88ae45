# SPDX-License-Identifier: Apache-2.0
"""The snapshot of a pool that lives, as PyTorch's readers and Plat's own commands see it."""
import json
import os
import pickle
import random
import subprocess

import plat
import pytest

PLAT = os.environ["PLAT_COMMAND"]
PAGE = 2 * plat.MIB


def read(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def look_at(snapshot):
    """The active blocks by address, once every condition of the readers holds."""
    active = {}
    ends = 0
    for segment in snapshot["segments"]:
        assert segment["address"] >= ends and segment["stream"] == 0 and segment["frames"] == []
        assert segment["segment_type"] == ("large" if segment["total_size"] > plat.MIB else "small")
        at = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == at and block["size"] > 0 and block["requested_size"] <= block["size"]
            assert block["state"] in ("active_allocated", "active_pending_free", "inactive") and block["frames"] == []
            if block["state"] != "inactive":
                active[at] = block
            at += block["size"]
        ends = segment["address"] + segment["total_size"]
        assert at == ends
        live = [block for block in segment["blocks"] if block["state"] == "active_allocated"]
        used = [block for block in segment["blocks"] if block["state"] != "inactive"]
        assert segment["allocated_size"] == sum(block["size"] for block in live)
        assert segment["active_size"] == sum(block["size"] for block in used)
        assert segment["requested_size"] == sum(block["requested_size"] for block in used)
    return active


@pytest.mark.parametrize("source", ["vmm", "malloc"])
def test_the_blocks_are_those_of_a_walk(tmp_path, source):
    chance = random.Random(5)
    path = tmp_path / "pool.pickle"
    with plat.Device(0) as device, plat.Pool(device, name="mixed", source=source) as pool, device.stream() as stream:
        blocks = [pool.allocate(chance.choice((70, 3000, 200_000, 3 * plat.MIB)), chance.choice((None, stream)), tag=chance.choice((0, 0, 7)))
                  for _ in range(60)]
        host = pool.allocate(1000, purpose="host")
        for block in chance.sample(blocks, 30):
            block.close()
        pool.snapshot(path)
        snapshot = read(path)
        active = look_at(snapshot)
        walked = {block.address: block for block in pool.walk() if not block.on_host}
        assert host.address not in active and len(active) == 30
        assert {address: block["size"] for address, block in active.items()} == {a: block.with_tail for a, block in walked.items()}
        for block in blocks:
            if not block.closed:
                assert active[block.address]["requested_size"] >= block.size
        assert {block["user_metadata"] for block in active.values()} == {"mixed", "mixed, tag 7"}
        assert sum(block["size"] for block in active.values()) == pool.stats["used_bytes"] - pool.owner(host.address).with_tail
        held = sum(segment["total_size"] for segment in snapshot["segments"])
        assert 0 < held <= pool.stats["reserved_bytes"] - pool.stats["host_bytes"]
        assert {segment["is_expandable"] for segment in snapshot["segments"]} == {source == "vmm"}
        assert snapshot["device_traces"] == [[]] and {segment["device"] for segment in snapshot["segments"]} == {0}


def test_large_blocks_keep_what_was_asked_for_and_segments_are_what_is_mapped(tmp_path):
    with plat.Device(1) as device, plat.Pool(device, name="large", source="vmm") as pool:
        first, gone, last = pool.allocate(5_000_000), pool.allocate(3 * PAGE), pool.allocate(7_000_001)
        gone.close()
        pool.snapshot(tmp_path / "pool.pickle")
        snapshot = read(tmp_path / "pool.pickle")
        active = look_at(snapshot)
        assert {a: block["requested_size"] for a, block in active.items()} == {first.address: 5_000_000, last.address: 7_000_001}
        assert sum(segment["total_size"] for segment in snapshot["segments"]) == pool.stats["reserved_bytes"]
        assert snapshot["device_traces"] == [[], []] and {segment["device"] for segment in snapshot["segments"]} == {1}
        pool.trim()  # a page in the middle goes, and with it the segment falls apart
        pool.snapshot(tmp_path / "pool.pickle")
        snapshot = read(tmp_path / "pool.pickle")
        assert set(look_at(snapshot)) == {first.address, last.address} and len(snapshot["segments"]) == 2
        assert sum(segment["total_size"] for segment in snapshot["segments"]) == pool.stats["reserved_bytes"]


def test_what_another_stream_still_uses_is_pending_and_what_sleeps_is_not_there(tmp_path):
    import threading
    with plat.Device(0) as device, plat.Pool(device) as pool, device.stream() as one, device.stream() as other:
        go = threading.Event()
        block, asleep = pool.allocate(plat.MIB, one), pool.allocate(plat.MIB, tag=3)
        other.call(go.wait)
        block.use_on(other)
        address, place = block.address, asleep.address
        try:
            block.close()
            pool.snapshot(tmp_path / "pool.pickle")
        finally:
            go.set()
        active = look_at(read(tmp_path / "pool.pickle"))
        assert active[address]["state"] == "active_pending_free" and active[place]["state"] == "active_allocated"
        other.synchronize()
        pool.sleep(3)
        pool.snapshot(tmp_path / "pool.pickle")
        assert place not in look_at(read(tmp_path / "pool.pickle"))
        pool.wake(3)


def test_report_and_replay_open_it(tmp_path):
    path = tmp_path / "pool.pickle"
    with plat.Device(0) as device, plat.Pool(device, name="live") as pool:
        kept = pool.allocate_batch([100, 20_000, 4 * plat.MIB, 9_000_000])
        pool.allocate(6 * plat.MIB).close()
        pool.snapshot(path)
        live = pool.stats["used_bytes"]
        pool.free_batch(kept)
    replayed = subprocess.run([PLAT, "replay", "--json", path], capture_output=True, text=True, timeout=300)
    assert replayed.returncode == 0, replayed.stderr
    (row,) = json.loads(replayed.stdout)
    assert row["completed"] and row["peak_live_bytes"] == live
    report = subprocess.run([PLAT, "report", path], capture_output=True, text=True, timeout=300)
    assert report.returncode == 0, report.stderr
    again = tmp_path / "again.pickle"
    export = subprocess.run([PLAT, "export", "snapshot", path, "-o", again], capture_output=True, text=True, timeout=300)
    assert export.returncode == 0, export.stderr
    blocks = [block for segment in read(again)["segments"] for block in segment["blocks"]]
    assert sum(block["size"] for block in blocks if block["state"] == "active_allocated") == live


def test_a_callback_for_out_of_memory_can_write_one(tmp_path):
    path = tmp_path / "oom.pickle"
    with plat.Device(0) as device, plat.Pool(device, 8 * plat.MIB) as pool:
        kept = pool.allocate(3 * plat.MIB)
        pool.on_out_of_memory(lambda size, account: pool.snapshot(path))
        with pytest.raises(plat.PoolError):
            pool.allocate(7 * plat.MIB)
        assert set(look_at(read(path))) == {kept.address}


def test_a_file_that_cannot_be_written_is_an_error_and_the_old_one_stays(tmp_path):
    with plat.Device(0) as device, plat.Pool(device) as pool:
        with pytest.raises(plat.PoolError, match="cannot be written: No such file or directory"):
            pool.snapshot(tmp_path / "nowhere" / "pool.pickle")
        with pytest.raises(plat.PoolError, match="cannot be written"):
            pool.snapshot(tmp_path)
        path = tmp_path / "pool.pickle"
        pool.snapshot(path)
        assert read(path) == {"segments": [], "device_traces": [[]]}
        kept = pool.allocate(100)
        pool.with_limit(plat.MIB).snapshot(path)
        assert set(look_at(read(path))) == {kept.address}
        assert [each.name for each in tmp_path.iterdir()] == ["pool.pickle"]
        if os.path.exists("/dev/full"):
            with pytest.raises(plat.PoolError, match="No space left"):
                pool.snapshot("/dev/full")
    with pytest.raises(ValueError):
        pool.snapshot(path)
