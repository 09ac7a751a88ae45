# SPDX-License-Identifier: Apache-2.0
"""Where the host may touch device memory, Python sees it without a copy."""
import numpy
import plat
import pytest

PAGE = 2 * plat.MIB


@pytest.fixture
def mapping():
    with plat.Device(0) as device, device.reserve(PAGE) as addresses, device.allocate(PAGE) as memory:
        with addresses.map(memory) as made:
            yield made


@pytest.mark.parametrize("see", [lambda m: numpy.frombuffer(m.view(), numpy.uint8), numpy.asarray, numpy.from_dlpack],
                         ids=["buffer", "array_interface", "dlpack"])
def test_views_are_the_memory_itself(mapping, see):
    mapping.from_numpy(numpy.arange(10, dtype=numpy.uint8))
    seen = see(mapping)
    assert seen.nbytes == PAGE and seen[:10].tolist() == list(range(10))
    mapping.fill(7)
    assert seen[0] == 7


def test_writes_arrive(mapping):
    mapping.view()[3] = 9
    assert mapping.to_numpy(4).tolist() == [0, 0, 0, 9]


RECORD = numpy.dtype([("id", "i4"), ("at", "f8", 2)])


@pytest.mark.parametrize("array", [numpy.eye(3), numpy.arange(6, dtype=">i2").reshape(2, 3), numpy.array([(1, (2, 3))], RECORD),
                                   numpy.array(5.5), numpy.array([1 + 2j]), numpy.empty((0, 3))],
                         ids=["matrix", "big-endian", "record", "number", "complex", "empty"])
def test_an_array_that_is_looked_at_is_as_it_was(array):
    with plat.Device(0) as device, plat.Pool(device) as pool:
        block = pool.from_numpy(array)
        for see in numpy.asarray, numpy.from_dlpack:
            if see is numpy.from_dlpack and array.dtype not in ("f8", "c16"):
                continue  # DLPack has no word for these
            seen = see(block)
            assert seen.shape == array.shape and seen.dtype == array.dtype and (seen == array).all()
            assert array.size == 0 or seen.__array_interface__["data"][0] == block.address
            del seen


def test_memory_that_is_looked_at_stays():
    with plat.Device(0) as device, plat.Pool(device) as pool:
        block = pool.from_numpy(numpy.eye(3))
        for see in numpy.asarray, numpy.from_dlpack, lambda block: block.view(), lambda block: memoryview(block.view())[3:5]:
            seen = see(block)
            for close in block.close, pool.close, device.close, pool.reset, pool.sleep, lambda: block.resize(8):
                with pytest.raises(BufferError, match="view"):
                    close()
            assert not (block.closed or pool.closed or device.closed)
            del seen
        block.close()
        array = numpy.asarray(pool.from_numpy(numpy.eye(3)))  # which keeps its block
        assert array[1, 1] == 1
        del array


def test_a_cache_with_a_view_does_not_shrink():
    with plat.Device(0) as device, plat.Pool(device) as pool, pool.kv_cache(100, 10) as cache:
        cache.set_tokens(5)
        view = cache.view()
        with pytest.raises(BufferError):
            cache.set_tokens(1)
        cache.set_tokens(7)
        del view
        cache.set_tokens(0)
        assert len(cache.view()) == 0
