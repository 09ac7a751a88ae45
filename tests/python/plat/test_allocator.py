# SPDX-License-Identifier: Apache-2.0
"""The entry pair for torch_npu, as a framework calls it and as a class; arrays that go to the device and back."""
import ctypes
import doctest

import acl
import numpy
import plat
import pytest


@pytest.fixture
def device():
    with plat.Device(0) as made:
        yield made


def write_and_read(address, size):
    data = numpy.arange(size, dtype=numpy.uint8)
    back = numpy.zeros_like(data)
    assert acl.rt.memcpy(address, size, acl.util.numpy_to_ptr(data), size, acl.ACL_MEMCPY_HOST_TO_DEVICE) == 0
    assert acl.rt.memcpy(acl.util.numpy_to_ptr(back), size, address, size, acl.ACL_MEMCPY_DEVICE_TO_HOST) == 0
    return (data == back).all()


def test_the_pair_by_name_as_a_framework_loads_it(device):
    allocator = plat.PluggableAllocator()
    library = ctypes.CDLL(allocator.library)
    malloc, free = getattr(library, allocator.malloc_name), getattr(library, allocator.free_name)
    malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    free.restype, free.argtypes = None, [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    with device.stream() as stream:
        first = malloc(1000, 0, stream.handle)
        assert first and write_and_read(first, 200)
        free(first, 1000, 0, stream.handle)
        assert malloc(1000, 0, stream.handle) == first  # the same stream has it back at once
        free(first, 1000, 0, stream.handle)
        assert malloc(1 << 50, 0, stream.handle) is None


def test_the_same_as_a_class(device):
    allocator = plat.PluggableAllocator()
    with device.stream() as stream:
        addresses = [allocator.malloc(3000, 0, stream) for _ in range(10)]
        assert len(set(addresses)) == 10 and all(write_and_read(address, 100) for address in addresses)
        assert allocator.stats()["live_blocks"] >= 10
        for address in addresses:
            allocator.free(address, 3000, 0, stream)
    assert allocator.malloc(0) == 0
    with pytest.raises(plat.PoolError, match=str(1 << 50)):
        allocator.malloc(1 << 50)
    with pytest.raises(plat.PoolError):
        allocator.malloc(100, device=99)
    allocator.free(12345, 100)  # not the pool's
    assert doctest.testmod(__import__("plat._pluggable", fromlist=["_"])).failed == 0


@pytest.mark.parametrize("array", [numpy.arange(24, dtype=numpy.int16).reshape(2, 3, 4), numpy.float64(2.5), numpy.empty((0, 3)),
                                   numpy.eye(5)[:, ::2], numpy.array([1 + 2j]), numpy.asfortranarray(numpy.ones((3, 4), "f4"))],
                         ids=["cube", "number", "empty", "strided", "complex", "fortran"])
def test_an_array_there_and_back_in_a_line_each(device, array):
    with plat.Pool(device) as pool:
        block = pool.from_numpy(array)
        back = block.to_numpy()
        assert back.shape == numpy.asarray(array).shape and back.dtype == numpy.asarray(array).dtype and (back == array).all()
        assert block.to_numpy(dtype="uint8").size == block.size


def test_objects_do_not_travel(device):
    with plat.Pool(device) as pool:
        with pytest.raises(TypeError, match="objects"):
            pool.from_numpy([object()])
        assert pool.stats["live_blocks"] == 0
