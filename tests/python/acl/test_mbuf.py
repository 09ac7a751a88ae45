# SPDX-License-Identifier: Apache-2.0
"""Buffers of queues, on a product whose programs run on the device: right and wrong."""
import acl
import numpy
import pytest
from conftest import good

rt, util = acl.rt, acl.util


@pytest.fixture
def buffer():
    made = good(rt.alloc_buf(5000))
    yield made
    good(rt.free_buf(made))


def test_a_buffer_has_bytes_and_a_length(buffer):
    data, size = good(rt.get_buf_data(buffer))
    assert size == 5000 and data
    util.ptr_to_numpy(data, (size,), numpy.uint8)[-1] = 7
    assert good(rt.get_buf_data_len(buffer)) == 0
    good(rt.set_buf_data_len(buffer, 5000))
    assert good(rt.get_buf_data_len(buffer)) == 5000
    other = good(rt.copy_buf_ref(buffer))
    assert other != buffer and good(rt.get_buf_data(other)) == (data, size)
    good(rt.free_buf(other))
    assert util.ptr_to_bytes(data + 4999, 1) == b"\x07"


def test_96_bytes_travel_with_it(buffer):
    mine, back = numpy.arange(96, dtype=numpy.uint8), numpy.zeros(96, numpy.uint8)
    good(rt.set_buf_user_data(buffer, util.numpy_to_ptr(mine), 96, 0))
    good(rt.get_buf_user_data(buffer, util.numpy_to_ptr(back), 90, 6))
    assert (back[:90] == mine[6:]).all() and not back[90:].any()


def test_chains():
    head, second = good(rt.alloc_buf(10)), good(rt.alloc_buf(20))
    assert good(rt.get_buf_chain_num(head)) == 1
    good(rt.append_buf_chain(head, second))
    assert good(rt.get_buf_chain_num(head)) == 2
    assert [good(rt.get_buf_from_chain(head, index)) for index in (0, 1)] == [head, second]
    good(rt.free_buf(head))  # and the chain with it
    assert rt.free_buf(second) != 0


def test_what_is_wrong(buffer):
    assert rt.alloc_buf(0) == (0, 100000) and rt.alloc_buf((4 << 30) + 1)[-1] != 0
    data = numpy.zeros(96, numpy.uint8)
    for call in rt.get_buf_user_data, rt.set_buf_user_data:
        assert call(0, 0, 90, 7) == 100000  # the range is looked at first
        assert call(buffer, 0, 1, 0) == 100000
        assert call(buffer, util.numpy_to_ptr(data), 97, 0) == 100000
    assert rt.set_buf_data_len(buffer, 5001) != 0
    assert rt.get_buf_from_chain(buffer, 1)[-1] != 0
    stale = good(rt.alloc_buf(8))
    good(rt.free_buf(stale))
    for wrong in stale, 0, 12345:
        assert rt.free_buf(wrong) != 0 and rt.set_buf_data_len(wrong, 1) != 0 and rt.append_buf_chain(buffer, wrong) != 0
        assert rt.get_buf_data(wrong)[:2] == (0, 0) and rt.get_buf_data(wrong)[-1] != 0
        for call in rt.get_buf_data_len, rt.copy_buf_ref, rt.get_buf_chain_num:
            assert call(wrong)[0] == 0 and call(wrong)[-1] != 0
    for wrong in None, "x", -1, 1.5, 1 << 64:
        for call in rt.alloc_buf, rt.free_buf, rt.get_buf_data, rt.copy_buf_ref:
            with pytest.raises(TypeError):
                call(wrong)
