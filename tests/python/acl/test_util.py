# SPDX-License-Identifier: Apache-2.0
"""Bytes, arrays and addresses of host memory."""
import acl
import numpy
import pytest
from hypothesis import HealthCheck, given, settings, strategies

TYPES = [numpy.uint8, numpy.int32, numpy.float32, numpy.float64, numpy.complex64]


@given(strategies.binary(max_size=5000))
def test_bytes_there_and_back(data):
    assert acl.util.ptr_to_bytes(acl.util.bytes_to_ptr(data), len(data)) == data


@given(strategies.sampled_from(TYPES), strategies.lists(strategies.integers(0, 5), min_size=1, max_size=4))
def test_arrays_there_and_back(dtype, shape):
    array = numpy.arange(numpy.prod(shape)).astype(dtype).reshape(shape)
    for named in dtype, numpy.dtype(dtype).num:
        view = acl.util.ptr_to_numpy(acl.util.numpy_to_ptr(array), tuple(shape), named)
        assert view.dtype == array.dtype and view.shape == array.shape and (view == array).all()


def test_an_array_is_a_view():
    array = numpy.zeros(4)
    acl.util.ptr_to_numpy(acl.util.numpy_to_ptr(array), (4,), numpy.float64)[2] = 5
    assert array[2] == 5


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=strategies.binary(min_size=1, max_size=4096))
def test_through_device_memory_and_back(block, data):
    back = numpy.empty(len(data), numpy.uint8)
    acl.rt.memcpy(block, 4096, acl.util.bytes_to_ptr(data), len(data), acl.ACL_MEMCPY_HOST_TO_DEVICE)
    acl.rt.memcpy(acl.util.numpy_to_ptr(back), len(data), block, len(data), acl.ACL_MEMCPY_DEVICE_TO_HOST)
    assert back.tobytes() == data


def test_memory_that_the_host_cannot_read_is_refused(block):
    for address in block, 0, 2**64 - 1:
        with pytest.raises(ValueError, match="cannot read"):
            acl.util.ptr_to_bytes(address, 8)
        with pytest.raises(ValueError, match="cannot read"):
            acl.util.ptr_to_numpy(address, (2,), numpy.float32)


def test_arrays_that_are_not_contiguous_are_refused():
    with pytest.raises(ValueError, match="contiguous"):
        acl.util.numpy_to_ptr(numpy.zeros((4, 4))[:, 1])
    with pytest.raises(ValueError, match="too large"):
        acl.util.ptr_to_numpy(acl.util.bytes_to_ptr(b"x"), (2**40, 2**40), numpy.float64)
    with pytest.raises(ValueError, match="no type"):
        acl.util.ptr_to_numpy(acl.util.bytes_to_ptr(b"x"), (1,), 9999)
