# SPDX-License-Identifier: Apache-2.0
"""Addresses that are not what they are said to be are refused, and never followed."""
import mmap

import acl
import numpy
import pytest


def test_objects_are_not_made_of_bytes():
    kept = numpy.zeros(4, "u8")
    address = acl.util.numpy_to_ptr(kept)
    for dtype in object, numpy.dtype([("a", "i4"), ("b", object)]), numpy.dtype("O").num:
        with pytest.raises(TypeError, match="objects"):
            acl.util.ptr_to_numpy(address, (4,), dtype)
    with pytest.raises(TypeError, match="objects"):
        acl.util.numpy_to_ptr(numpy.array([object()]))


def test_a_hole_between_two_ends_is_seen():
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    page = mmap.PAGESIZE
    room = mmap.mmap(-1, 4 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(room))
    assert len(acl.util.ptr_to_bytes(address + 1, 3 * page)) == 3 * page
    assert libc.mprotect(address + 2 * page, page, 0) == 0
    try:
        for at, size in (address, 4 * page), (address + page, page + 1), (address + 2 * page, 1), (address + 3 * page - 1, 2):
            with pytest.raises(ValueError, match="cannot read"):
                acl.util.ptr_to_bytes(at, size)
            with pytest.raises(ValueError, match="cannot read"):
                acl.util.ptr_to_numpy(at, (size,), "u1")
        assert acl.util.ptr_to_bytes(address + page, page) == bytes(page)
        assert acl.util.ptr_to_bytes(address + 3 * page, page) == bytes(page)
    finally:
        assert libc.mprotect(address + 2 * page, page, 3) == 0
