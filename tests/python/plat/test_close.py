# SPDX-License-Identifier: Apache-2.0
"""Closing: it waits for streams, in the right order, from any thread, once. Nothing here depends on which thread is faster: a
function that blocks a stream is let go by the very call that is expected."""
import gc
import os
import threading

import acl
import numpy
import plat
import pytest
from plat import _pool_library

PAGE = 2 * plat.MIB


class Gate:
    """A stream that stands still until somebody waits for it."""

    def __init__(self, monkeypatch, stream):
        self.open, self.order = threading.Event(), []
        for name in "synchronize_stream", "destroy_stream":
            monkeypatch.setattr(acl.rt, name, self.opening(getattr(acl.rt, name)))
        assert acl.rt.launch_host_func(stream.handle, self.work, None) == 0

    def opening(self, wait):
        def call(*args):
            self.open.set()
            return wait(*args)
        return call

    def work(self, _):
        self.open.wait()
        self.order.append("work")

    def noting(self, monkeypatch, module, name):
        real = getattr(module, name)

        def call(*args):
            self.order.append(name)
            return real(*args)
        monkeypatch.setattr(module, name, call)


@pytest.fixture
def gate(monkeypatch, device):
    stream = device.stream()
    made = Gate(monkeypatch, stream)
    made.stream = stream
    yield made
    made.open.set()


def test_a_pool_waits_for_the_stream_of_its_block(gate, monkeypatch, device):
    pool = plat.Pool(device)
    block = pool.allocate(5000, gate.stream)
    gate.stream.fill(block, 1)
    gate.noting(monkeypatch, _pool_library, "destroy")
    pool.close()
    assert gate.order == ["work", "destroy"] and block.closed
    gate.stream.synchronize()  # the fill met its block


def test_a_pool_waits_for_streams_that_use_blocks_of_none(gate, monkeypatch, device):
    pool = plat.Pool(device)
    gate.stream.fill(pool.allocate(5000), 1)  # forgotten at once; the stream has it still
    gc.collect()
    gate.noting(monkeypatch, _pool_library, "destroy")
    pool.close()
    assert gate.order == ["work", "destroy"]
    gate.stream.synchronize()


def test_a_device_that_closes_waits_as_well(gate, monkeypatch):
    other = plat.Device(0)
    pool = plat.Pool(other)
    gate.stream.fill(pool.allocate(100), 1)
    gate.noting(monkeypatch, _pool_library, "destroy")
    other.close()
    assert gate.order == ["work", "destroy"]


def test_a_mapping_waits_for_streams_that_use_it(gate, monkeypatch, device):
    addresses, memory = device.reserve(PAGE), device.allocate(PAGE)
    mapping = addresses.map(memory)
    gate.stream.fill(mapping, 1)
    gate.noting(monkeypatch, acl.rt, "unmap_mem")
    mapping.close()
    assert gate.order == ["work", "unmap_mem"]
    gate.stream.synchronize()


def test_an_arena_and_a_cache_wait_before_memory_goes(gate, monkeypatch, device):
    with plat.Pool(device) as pool, pool.arena() as arena, pool.kv_cache(1000, 100) as cache:
        inner = arena.arena()
        gate.stream.fill(inner.allocate(100), 1)
        gate.noting(monkeypatch, _pool_library, "arena_reset")
        arena.reset()
        assert gate.order == ["work", "arena_reset"] and inner.closed
        cache.set_tokens(50)
        gate.stream.fill(cache, 1)
        cache.set_tokens(0)
        gate.stream.synchronize()


def test_a_sleeping_pool_waited_for_its_streams(gate, monkeypatch, device):
    with plat.Pool(device) as pool:
        block = pool.allocate(100)
        gate.stream.fill(block, 7)
        gate.noting(monkeypatch, _pool_library, "sleep")
        pool.sleep(save=True)
        assert gate.order == ["work", "sleep"]
        pool.wake()
        assert block.to_numpy(1)[0] == 7


def test_work_that_failed_is_told_by_its_stream_and_not_by_the_pool(device):
    with device.stream() as stream:
        with plat.Pool(device) as pool:
            block = pool.allocate(100, stream)
            with device.reserve(PAGE) as addresses, device.allocate(PAGE) as memory:
                with addresses.map(memory) as mapping:
                    gone = mapping.address
            acl.rt.memset_async(gone, 8, 0, 8, stream.handle)  # refused now, or when it runs
            stream.fill(block, 1)
        assert pool.closed
        stream.synchronize() if stream._failure is None else pytest.raises(plat.PlatError, stream.synchronize)
        stream.synchronize()


def test_a_pool_cannot_be_closed_by_the_work_it_waits_for(device):
    pool, stream = plat.Pool(device), device.stream()
    block = pool.allocate(100, stream)
    seen = []

    def work():
        try:
            pool.close()
        except plat.PlatError as error:
            seen.append(error)

    stream.call(work)
    stream.synchronize()
    assert len(seen) == 1 and not pool.closed and not block.closed
    pool.close()


def test_memory_goes_after_its_mapping_whatever_is_closed_first(monkeypatch, device):
    order = []
    for name in "unmap_mem", "free_physical", "release_mem_address":
        monkeypatch.setattr(acl.rt, name, lambda *args, name=name, real=getattr(acl.rt, name): (order.append(name), real(*args))[1])
    right = ["unmap_mem", "free_physical", "release_mem_address"]
    for first in "reservation", "memory":
        other = plat.Device(0)
        made = [other.reserve(PAGE), other.allocate(PAGE)] if first == "reservation" else [other.allocate(PAGE), other.reserve(PAGE)]
        addresses, memory = made if first == "reservation" else made[::-1]
        mapping = addresses.map(memory)
        other.close()
        assert mapping.closed and order.index("unmap_mem") < order.index("free_physical") and sorted(order) == sorted(right)
        order.clear()
    with device.reserve(2 * PAGE) as addresses:
        memory = device.allocate(PAGE)
        first, second = addresses.map(memory), addresses.map(memory, PAGE)
        memory.close()
        first.close()
        assert memory.closed and order == ["unmap_mem"]
        second.close()
        assert order == ["unmap_mem", "unmap_mem", "free_physical"]


def in_a_thread(work):
    """Runs it in a thread that has no device; its error is ours."""
    errors = []

    def run():
        try:
            work()
        except BaseException as error:
            errors.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def test_a_thread_without_a_device_closes(device):
    before = device.free_bytes
    made = [device.reserve(PAGE), device.allocate(PAGE)]
    made += [made[0].map(made[1]), device.stream(), device.event()]
    pool = plat.Pool(device)
    made += [pool, pool.allocate(100, made[3])]

    def close():
        while made:
            made.pop().close()
    in_a_thread(close)
    assert device.free_bytes == before


def test_of_two_that_close_one_does(monkeypatch, device):
    pool = plat.Pool(device)
    block = pool.allocate(100)
    free, count = _pool_library.free, []

    def freeing(*args):
        count.append(1)
        in_a_thread(block.close)  # comes too late
        free(*args)
    monkeypatch.setattr(_pool_library, "free", freeing)
    block.close()
    assert count == [1]


def test_a_pool_is_closed_when_the_last_call_has_left_it(monkeypatch, device):
    pool = plat.Pool(device)
    inside, closer = threading.Event(), []
    allocate = _pool_library.allocate

    def allocating(*args):
        closer.append(threading.Thread(target=pool.close))
        closer[0].start()
        inside.wait()
        return allocate(*args)  # the pool is there still

    destroyed = []
    monkeypatch.setattr(_pool_library, "allocate", allocating)
    monkeypatch.setattr(_pool_library, "destroy", lambda given, real=_pool_library.destroy: (destroyed.append(given), real(given)))
    end = pool._handle.end
    monkeypatch.setattr(pool._handle, "end", lambda: (inside.set(), end())[1])
    block = pool.allocate(100)
    closer[0].join()
    assert destroyed and pool.closed
    with pytest.raises(ValueError, match="closed"):
        block.fill(0)
    block.close()


def test_a_collection_may_close_in_any_order(device):
    """Weak references are cleared before: a pool that goes first does not see its arenas, caches, layers and streams."""
    before = device.free_bytes
    for turn in range(10):
        pool, stream = plat.Pool(device), device.stream()
        things = [pool, pool.arena(), pool.arena().arena(), pool.kv_cache(1000, 100), pool.with_statistics(), stream, pool.allocate(9, stream)]
        stream.fill(things[-1], 1)
        things[3].set_tokens(50)
        things.append(things)  # a ring
        things[:] = things[turn % 7:] + things[:turn % 7]
        del pool, stream, things
        gc.collect()
    assert device.free_bytes == before


def test_a_forked_child_is_told_and_gives_nothing_back(device):
    pool, stream = plat.Pool(device), device.stream()
    arena, cache = pool.arena(), pool.kv_cache(100, 10)
    mapping = device.reserve(PAGE).map(device.allocate(PAGE))
    block = pool.allocate(100, stream)
    uses = [lambda: pool.allocate(1), lambda: block.to_numpy(), lambda: block.resize(5), lambda: arena.allocate(1), arena.reset,
            lambda: cache.set_tokens(1), lambda: stream.fill(block, 1), stream.synchronize, lambda: mapping.fill(1), pool.sleep,
            lambda: pool.stats, lambda: device.reserve(PAGE), lambda: device.free_bytes, pool.reset, device.use]
    child = os.fork()
    if child == 0:
        wrong = 1
        try:
            for use in uses:
                try:
                    use()
                    os._exit(2)
                except ValueError as error:
                    if "child" not in str(error):
                        os._exit(3)
            for owner in (block, arena, cache, pool, mapping, stream, device):
                owner.close()
            wrong = 0
        finally:
            os._exit(wrong)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    block.from_numpy(numpy.arange(5, dtype=numpy.uint8))
    assert block.to_numpy(5).tolist() == list(range(5))
    assert acl.rt.get_device()[1] == 0
