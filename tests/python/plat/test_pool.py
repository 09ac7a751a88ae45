# SPDX-License-Identifier: Apache-2.0
"""Everything that plat/pool.h has, from Python."""
import gc
import re
import pathlib

import acl
import numpy
import plat
import pytest
from plat import _pool_library

PAGE = 2 * plat.MIB
INVALID, NO_MEMORY, NOT_OWNED, QUOTA, ASLEEP, CORRUPT, UNSUPPORTED = 1, 2, 3, 4, 6, 7, 9


@pytest.fixture
def pool(device):
    with plat.Pool(device) as made:
        yield made


def refused(code, call, *args, **kwargs):
    with pytest.raises(plat.PoolError) as caught:
        call(*args, **kwargs)
    assert caught.value.code == code, caught.value
    assert caught.value.message


def test_every_function_of_the_header_is_bound():
    headers = [parent / "include" / "plat" / "pool.h" for parent in pathlib.Path(__file__).resolve().parents]
    header = next(path for path in headers if path.exists()).read_text()
    declared = set(re.findall(r"PLAT_POOL_API [\w\s*]*?(plat_\w+)\(", header))
    bound = set(_pool_library._SIGNATURES)
    # What these do is done by plat_pool_alloc_request.
    shorter = {"plat_pool_alloc_aligned", "plat_pool_alloc_for", "plat_pool_alloc_tagged"}
    assert declared - bound == shorter and bound <= declared
    fields = re.search(r"typedef struct plat_pool_options \{(.*?)\}", header, re.S)[1]
    fields = re.findall(r"(\w+);", re.sub(r"/\*.*?\*/", "", fields, flags=re.S))
    assert fields == [name for name, _ in _pool_library.Options._fields_]
    stats = re.search(r"typedef struct plat_pool_stats \{(.*?)\}", header, re.S)[1]
    stats = re.findall(r"uint64_t (\w+);", re.sub(r"/\*.*?\*/", "", stats, flags=re.S))
    assert stats == [name for name, _ in _pool_library.Stats._fields_[1:]]


def test_a_walk_finds_what_lives_and_who_owns_an_address(pool):
    small, large = pool.allocate(1000, tag=5), pool.allocate(3 * PAGE)
    blocks = {block.address: block for block in pool.walk()}
    assert set(blocks) == {small.address, large.address} and sorted(blocks) == list(blocks)
    assert blocks[small.address].tag == 5 and blocks[small.address].size >= 1000
    assert pool.owner(large.address + PAGE) == blocks[large.address] and not blocks[large.address].asleep
    assert pool.owner(0x1000) is None
    small.close()
    assert pool.owner(large.address - 1 if large.address > small.address else small.address) is None
    assert [block.address for block in pool.walk()] == [large.address]
    with pytest.raises(ValueError):
        pool.owner(-1)


def test_peaks_start_anew_and_limits_change(pool):
    pool.allocate(8 * PAGE).close()
    assert pool.stats["used_peak"] >= 8 * PAGE
    pool.reset_peaks()
    assert pool.stats["used_peak"] < 8 * PAGE
    pool.set_limits(4 * PAGE)
    refused(2, pool.allocate, 8 * PAGE)
    pool.set_limits()
    assert pool.allocate(8 * PAGE).size == 8 * PAGE
    with pytest.raises(ValueError):
        pool.set_limits(-1)


def test_blocks_of_whole_pages(device):
    with plat.Pool(device, whole_pages=True) as pool:
        first, second = pool.allocate(100), pool.allocate(PAGE + 1)
        assert first.address % PAGE == second.address % PAGE == 0
        assert [block.with_tail % PAGE for block in pool.walk()] == [0, 0]
        first.close(), second.close()


def test_alignment_tags_and_purposes(pool):
    assert pool.allocate(100, alignment=4096).address % 4096 == 0
    tagged = pool.allocate(1000, tag=5)
    assert pool.tag_bytes(5)[0] >= 1000 and pool.tag_bytes(5)[1] >= PAGE and pool.tag_bytes(6) == (0, 0)
    assert pool.allocate(100, purpose="media").address % 128 == 0
    host, cached = pool.allocate(1000, purpose="host"), pool.allocate(1000, purpose="cached")
    data = numpy.arange(250, dtype=numpy.int32)
    for block in tagged, host, cached:
        block.from_numpy(data)
        assert (block.to_numpy(250, "i4") == data).all()
    host.fill(3)
    assert bytes(host.view()[:3]) == b"\3\3\3" and numpy.asarray(host)[5] == 3  # the host may touch it
    assert pool.stats["host_bytes"] > 0
    with pytest.raises(BufferError):
        cached.view()
    refused(INVALID, pool.allocate, 100, alignment=3)
    with pytest.raises(ValueError, match="compute"):
        pool.allocate(100, purpose="paint")
    gc.collect()


@pytest.mark.parametrize("source", ["vmm", "malloc", "host", "media", "cached", "device"])
def test_sources(device, source):
    with plat.Pool(device, source=source) as pool, pool.allocate(1000) as block:
        block.from_numpy(numpy.arange(100, dtype=numpy.uint8))
        assert block.to_numpy(100)[99] == 99
        with device.stream() as stream:
            stream.fill(block, 4)
            stream.synchronize()
        assert block.to_numpy(1000).tolist() == [4] * 1000


def test_a_range_of_the_callers(device):
    with device.reserve(PAGE) as addresses, device.allocate(PAGE) as memory:
        mapping = addresses.map(memory)
        pool = plat.Pool(device, source="caller", memory=mapping)
        block = pool.allocate(1000)
        assert mapping.address <= block.address < mapping.address + PAGE
        refused(UNSUPPORTED, pool.allocate, 100, tag=1)
        mapping.close()  # the pool before it
        assert pool.closed and block.closed
    with pytest.raises(ValueError, match="together"):
        plat.Pool(device, source="caller")


def test_options_reach_the_pool(device):
    with plat.Pool(device, initial_bytes=2 * PAGE, limit_bytes=4 * PAGE, release="never", slack=0.5, thread_cache=0, reuse_waits=True,
                   max_remaps=3, tail_bytes=64, name="weights") as pool:
        assert 2 * PAGE <= pool.stats["reserved_bytes"] <= 4 * PAGE
        refused(NO_MEMORY, pool.allocate, 5 * PAGE)
        own, with_tail = pool.allocate(128).usable
        assert own >= 128 and with_tail >= own
    with plat.Pool(device, host_limit_bytes=PAGE) as pool:
        refused(NO_MEMORY, pool.allocate, 64 * plat.MIB, purpose="host")
    for wrong in ({"release": "later"}, {"source": 3}, {"limit_bytes": -1}, {"tail_bytes": 1 << 40}, {"thread_cache": -1}):
        with pytest.raises(ValueError):
            plat.Pool(device, **wrong)
    with pytest.raises(TypeError, match="no option"):
        plat.Pool(device, colour="red")


def test_batches_are_all_or_nothing(device, pool):
    with device.stream() as stream:
        blocks = pool.allocate_batch([100, 2000, PAGE], stream)
        assert [block.size for block in blocks] == [100, 2000, PAGE] and len({block.address for block in blocks}) == 3
        for block in blocks:
            stream.fill(block, 1)
        pool.free_batch(blocks + blocks[:1], stream)
        assert all(block.closed for block in blocks)
        before = pool.stats["live_blocks"]
        refused(NO_MEMORY, pool.allocate_batch, [100, 1 << 38])
        assert pool.stats["live_blocks"] == before
        assert pool.allocate_batch([]) == []
        with plat.Pool(device) as other:
            with pytest.raises(ValueError, match="not of"):
                pool.free_batch([other.allocate(1)])


def test_a_block_used_on_two_streams_comes_back_after_both(device, pool):
    with device.stream() as first, device.stream() as second:
        block = pool.allocate(1 * plat.MIB, first)
        first.fill(block, 1)
        event = device.event()
        event.record(first)
        second.wait(event)
        second.fill(block, 2)
        assert block.to_numpy(1) is not None
        block.close()
        first.synchronize(), second.synchronize()
        pool.trim()
        assert pool.stats["used_bytes"] == 0


def test_resize_where_it_stands(pool):
    block = pool.allocate(3 * plat.MIB)
    block.from_numpy(numpy.arange(100, dtype=numpy.uint8))
    assert block.resize(plat.MIB) and block.size == plat.MIB
    neighbour = pool.allocate(1 * plat.MIB)
    grown = block.resize(64 * plat.MIB)
    assert not grown and block.size == plat.MIB and block.to_numpy(100)[99] == 99
    refused(INVALID, block.resize, 0)
    with pytest.raises(ValueError):
        block.to_numpy(2 * plat.MIB)
    neighbour.close()


def test_names(pool):
    block = pool.allocate(100)
    block.set_name("weights")
    for wrong, error in ("a\0b", ValueError), (5, TypeError):
        with pytest.raises(error):
            block.set_name(wrong)


def test_trim_flush_and_reset(pool):
    blocks = [pool.allocate(100) for _ in range(10)]
    blocks[0].close()
    pool.flush_thread()
    arena = pool.arena()
    with pytest.raises(ValueError, match="Arena"):
        pool.reset()
    arena.close()
    pool.reset()
    assert all(block.closed for block in blocks) and pool.stats["live_blocks"] == 0
    pool.trim()
    assert pool.stats["reserved_bytes"] == 0


def test_sleep_and_wake_by_tag(device, pool):
    weights, rest = pool.from_numpy(numpy.arange(1000), tag=1), pool.from_numpy(numpy.arange(5))
    address, held = weights.address, device.free_bytes
    pool.sleep(1, save=True)
    assert device.free_bytes > held and rest.to_numpy()[4] == 4
    assert weights.asleep and not rest.asleep
    for call in weights.to_numpy, lambda: weights.from_numpy(numpy.arange(1000)), lambda: device.default_stream.copy(rest, weights):
        refused(ASLEEP, call)
    refused(ASLEEP, pool.allocate, 100, tag=1)
    with pool.with_limit(PAGE) as around, around.allocate(10) as block:  # made when some of the pool slept
        around.sleep(0)
        assert block.asleep and rest.asleep
        around.wake(0)
        assert not block.asleep
    rest.from_numpy(numpy.arange(5))
    pool.wake(1)
    assert not weights.asleep
    assert weights.address == address and (weights.to_numpy() == numpy.arange(1000)).all()
    pool.sleep()
    pool.wake()
    rest.from_numpy(numpy.arange(5))
    for wrong in -1, 0xFFFF, 1 << 20:
        with pytest.raises(ValueError):
            pool.sleep(wrong)


def test_out_of_memory_asks(device):
    with plat.Pool(device, limit_bytes=4 * PAGE) as pool:
        kept, asked = [pool.allocate(3 * PAGE)], []

        def more(size, account):
            asked.append((size, account))
            with pytest.raises(ValueError, match="inside a call"):
                pool.close()
            while kept:
                kept.pop().close()
            return True
        pool.on_out_of_memory(more)
        assert pool.allocate(3 * PAGE).size == 3 * PAGE
        assert asked and asked[0][0] >= 3 * PAGE and isinstance(asked[0][1], str)
        pool.on_out_of_memory(None)
        refused(NO_MEMORY, pool.allocate, 5 * PAGE)
        pool.on_out_of_memory(lambda size, account: 0)
        refused(NO_MEMORY, pool.allocate, 5 * PAGE)
        with pytest.raises(TypeError):
            pool.on_out_of_memory(3)
        gc.collect()


def test_arenas(pool):
    with pool.arena(chunk_bytes=64 * plat.KIB) as arena:
        first = arena.allocate(1000, alignment=512)
        inner = arena.arena()
        second = inner.allocate(100)
        first.from_numpy(numpy.arange(10, dtype=numpy.uint8))
        second.fill(5)
        assert first.to_numpy(10)[9] == 9 and second.to_numpy(1)[0] == 5 and first.address % 512 == 0
        arena.reset()
        assert first.closed and inner.closed and second.closed
        with pytest.raises(ValueError, match="closed"):
            inner.allocate(1)
        assert arena.allocate(1000).address
        refused(INVALID, arena.allocate, 0)
    pool.trim()
    assert pool.stats["used_bytes"] == 0


def test_a_cache_grows_and_shrinks(device, pool):
    with pool.kv_cache(token_bytes=256 * plat.KIB, max_tokens=64) as cache:
        assert cache.size == 0 and cache.backed_bytes == 0
        cache.set_tokens(8)
        address = cache.address
        cache.from_numpy(numpy.full(cache.size, 3, "u1"))
        cache.set_tokens(16)
        assert cache.address == address and 2 * PAGE <= cache.backed_bytes <= 3 * PAGE and cache.to_numpy(1, offset=0)[0] == 3
        cache.set_tokens(8)
        assert PAGE <= cache.backed_bytes <= 2 * PAGE and (cache.to_numpy() == 3).all()
        for wrong in -1, 65, 1 << 70:
            with pytest.raises(ValueError):
                cache.set_tokens(wrong)
        with pytest.raises(ValueError, match="not inside"):
            cache.to_numpy(cache.size + 1)
    refused(INVALID, pool.kv_cache, 0, 5)


def test_layers(device, pool, tmp_path):
    limited = pool.with_limit(10000)
    refused(QUOTA, limited.allocate, 20000)
    inside = limited.allocate(5000)
    counted = pool.with_statistics()
    counted.allocate(100)
    assert counted.stats["used_peak"] > 0
    faulty = pool.with_faults(2)
    faulty.allocate(1)
    refused(QUOTA, faulty.allocate, 1)
    faulty.allocate(1)
    traced = pool.with_trace(tmp_path / "lines.csv")
    with device.stream() as stream:
        traced.allocate(100, stream).close()
    traced.close()
    assert "a," in (tmp_path / "lines.csv").read_text()
    guarded = pool.with_guards()
    block = guarded.allocate(1000)
    after = block.address + block.usable[1]
    assert acl.rt.memset(after, 8, 1, 8) == 0
    refused(CORRUPT, block.close)
    with pytest.raises(plat.PoolError):
        pool.with_trace(tmp_path / "no" / "folder")
    pool.close()
    assert all(each.closed for each in (limited, inside, counted, faulty, guarded))


def test_reset_of_a_layer_ends_the_blocks_below(pool):
    layer = pool.with_statistics()
    blocks = [pool.allocate(10), layer.allocate(10)]
    layer.reset()
    assert all(block.closed for block in blocks)


def test_a_stream_that_takes_from_a_pool(device, pool):
    with device.stream() as stream:
        pool.register_on(stream)
        pool.unregister_from(stream)
        pool.register_on(stream)
    with device.stream() as stream:
        pool.register_on(stream)
        pool.close()


def test_the_default_stream(device, pool):
    stream = device.default_stream
    block = pool.allocate(1000, stream)
    stream.fill(block, 6)
    stream.synchronize()
    assert block.to_numpy(1)[0] == 6 and device.default_stream is stream
    block.close()
    stream.close()
    assert device.default_stream is not stream


def test_copies_in_stream_order(device, pool):
    data = numpy.arange(24, dtype="f4").reshape(2, 3, 4)
    with device.stream() as stream:
        first, second, pinned = pool.empty((2, 3, 4), "f4"), pool.empty(24, "f4"), pool.empty(24, "f4", purpose="host")
        stream.from_numpy(first, data[:, :, ::-1])
        stream.copy(second, first)
        stream.copy(pinned, second)
        back = stream.to_numpy(first)
        flat = stream.to_numpy(second, 4, "f4", offset=16)
        ran = []
        stream.call(ran.append, 5)
        stream.synchronize()
        assert (back == data[:, :, ::-1]).all() and back.shape == (2, 3, 4) and ran == [5]
        assert (flat == data[:, :, ::-1].ravel()[4:8]).all()
        assert (numpy.asarray(pinned) == data[:, :, ::-1].ravel()).all()
        stream.copy(second, first, 8, target_offset=4, source_offset=8)
        stream.synchronize()
        assert (second.to_numpy()[1:3] == back.ravel()[2:4]).all()
        for wrong in (lambda: stream.copy(second, first, 97), lambda: stream.copy(second, first, -1), lambda: stream.from_numpy(first, data, 1),
                      lambda: stream.to_numpy(first, 100, "f8"), lambda: stream.fill(first, 256)):
            with pytest.raises(ValueError):
                wrong()
        for wrong in (lambda: stream.copy(second, data), lambda: stream.from_numpy(data, data), lambda: stream.call(3),
                      lambda: stream.to_numpy(first, 1, object), lambda: stream.wait(stream)):
            with pytest.raises(TypeError):
                wrong()


def test_arrays_that_copies_still_need_are_kept(device, pool):
    with device.stream() as stream:
        block = pool.allocate(8 * 1000)
        stream.from_numpy(block, numpy.arange(1000))  # nobody else has this array
        gc.collect()
        stream.synchronize()
        assert block.to_numpy(1000, "i8")[999] == 999 and stream._arrays == []
