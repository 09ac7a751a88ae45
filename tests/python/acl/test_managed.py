# SPDX-License-Identifier: Apache-2.0
"""Managed memory, reductions, peer maps, the cache and data buffers, right and wrong."""
import ctypes
import json
import os
import struct
import subprocess

import acl
import numpy
import pytest
from conftest import PAGE, good

rt = acl.rt
HOST = {"type": acl.ACL_MEM_LOCATIONTYPE_HOST}
DEVICE_1 = {"type": acl.ACL_MEM_LOCATIONTYPE_DEVICE, "id": 1}
NOWHERE = {}
READ_MOSTLY, ACCESSED_BY = acl.ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, acl.ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY
PREFERRED, PREFETCHED = acl.ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, acl.ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION


@pytest.fixture
def managed():
    """8 MiB that host and device see."""
    address = good(rt.mem_alloc_managed(4 * PAGE, acl.ACL_RT_MEM_ATTACH_GLOBAL))
    yield address
    good(rt.free(address))


def attribute(which, address, size=4 * PAGE, data_size=4):
    return good(rt.mem_managed_get_attr(which, address, size, data_size))


def test_host_and_device_see_the_same_bytes(managed, stream):
    view = acl.util.ptr_to_numpy(managed, (16,), numpy.uint8)
    view[:] = numpy.arange(16)
    good(rt.memset_async(managed, 4, 7, 4, stream))
    good(rt.synchronize_stream(stream))
    assert view.tolist() == [7] * 4 + list(range(4, 16))
    assert good(rt.pointer_get_attributes(managed))["location"]["type"] == acl.ACL_MEM_LOCATION_TYPE_MANAGED


def test_advice_is_told(managed):
    good(rt.mem_managed_advise(managed, PAGE, acl.ACL_MEM_ADVISE_SET_READ_MOSTLY, NOWHERE))
    assert (attribute(READ_MOSTLY, managed, PAGE), attribute(READ_MOSTLY, managed)) == (1, 0)  # of all pages, or not
    good(rt.mem_managed_advise(managed, 4 * PAGE, acl.ACL_MEM_ADVISE_SET_ACCESSED_BY, DEVICE_1))
    assert attribute(ACCESSED_BY, managed, data_size=8) == [1, -2]
    assert good(rt.mem_managed_get_attrs([READ_MOSTLY, ACCESSED_BY], managed, PAGE, [4, 4])) == [1, [1]]
    assert attribute(PREFERRED, managed) == -2


def test_prefetches_are_told(managed, stream):
    good(rt.mem_managed_prefetch_async(managed, 4 * PAGE, DEVICE_1, 0, stream))
    good(rt.synchronize_stream(stream))
    assert attribute(PREFETCHED, managed) == 1
    good(rt.mem_managed_prefetch_batch_async([managed, managed + PAGE], [PAGE, PAGE], [HOST, DEVICE_1], [0, 1], 0, stream))
    good(rt.synchronize_stream(stream))
    assert [attribute(PREFETCHED, managed + page * PAGE, PAGE) for page in range(3)] == [-1, 1, 1]


def seen_from_outside():
    done = subprocess.run([os.environ["PLAT_COMMAND"], "info", "--json"], capture_output=True, text=True, check=True)
    holders = json.loads(done.stdout).get("host", {}).get("holders", [])
    return [block for holder in holders if holder["pid"] == os.getpid() for block in holder.get("managed", [])]


def test_plat_info_shows_what_was_said_of_it(managed, stream):
    block = {"address": hex(managed), "bytes": 4 * PAGE, "read_mostly_bytes": 0}
    assert seen_from_outside() == [block]
    good(rt.mem_managed_advise(managed, PAGE, acl.ACL_MEM_ADVISE_SET_READ_MOSTLY, NOWHERE))
    good(rt.mem_managed_advise(managed, 4 * PAGE, acl.ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, DEVICE_1))
    good(rt.mem_managed_advise(managed, PAGE, acl.ACL_MEM_ADVISE_SET_ACCESSED_BY, DEVICE_1))
    good(rt.mem_managed_advise(managed, PAGE, acl.ACL_MEM_ADVISE_SET_ACCESSED_BY, HOST))
    good(rt.mem_managed_prefetch_async(managed, 4 * PAGE, HOST, 0, stream))
    good(rt.synchronize_stream(stream))
    block.update(read_mostly_bytes=PAGE, preferred="device 1", accessed_by=["device 1", "the host"], prefetched="the host")
    assert seen_from_outside() == [block]
    text = subprocess.run([os.environ["PLAT_COMMAND"], "info"], capture_output=True, text=True, check=True).stdout
    assert (f"managed: 8 MiB at {managed:#x}, 2 MiB read mostly, preferred on device 1, used by device 1 and the host, "
            "last prefetched to the host") in text
    good(rt.mem_managed_prefetch_async(managed, PAGE, DEVICE_1, 0, stream))
    good(rt.mem_managed_advise(managed, 4 * PAGE, acl.ACL_MEM_ADVISE_UNSET_PREFERRED_LOCATION, DEVICE_1))
    good(rt.synchronize_stream(stream))
    seen, = seen_from_outside()
    assert seen["prefetched"] == "several places" and "preferred" not in seen
    other = good(rt.mem_alloc_managed(PAGE, acl.ACL_RT_MEM_ATTACH_GLOBAL))
    assert len(seen_from_outside()) == 2
    good(rt.free(other))
    assert len(seen_from_outside()) == 1


def test_what_is_wrong_with_managed_memory(managed, stream):
    assert rt.mem_alloc_managed(PAGE, 0)[-1] == 100000 and rt.mem_alloc_managed(0, 1)[-1] == 107000
    assert rt.mem_managed_advise(managed, PAGE, 6, HOST) == 107000
    assert rt.mem_managed_advise(0, PAGE, 0, HOST) == 100000
    assert rt.mem_managed_advise(managed, PAGE, acl.ACL_MEM_ADVISE_SET_ACCESSED_BY, {"type": 1, "id": -1}) == 107000
    assert rt.mem_managed_get_attr(9, managed, PAGE, 4) == (0, 107000)
    for bytes_of_data in 0, 2, 8:
        assert rt.mem_managed_get_attr(READ_MOSTLY, managed, PAGE, bytes_of_data)[-1] != 0
    assert rt.mem_managed_prefetch_async(managed, PAGE, HOST, 1, stream) == 100000
    assert rt.mem_managed_prefetch_batch_async([managed], [PAGE], [HOST], [1], 0, stream) == 107000
    assert rt.mem_managed_prefetch_batch_async([], [], [], [], 0, stream) == 100000
    with pytest.raises(ValueError, match="differ in length"):
        rt.mem_managed_prefetch_batch_async([managed], [], [HOST], [0], 0, stream)
    with pytest.raises(ValueError, match="differ in length"):
        rt.mem_managed_get_attrs([1], managed, PAGE, [])
    with pytest.raises(ValueError, match="65536"):
        rt.mem_managed_get_attr(ACCESSED_BY, managed, PAGE, 1 << 40)
    with pytest.raises(ValueError, match="id is"):
        rt.mem_managed_advise(managed, PAGE, 0, {"id": 1 << 40})
    for wrong in (None, [], 5):
        with pytest.raises(TypeError):
            rt.mem_managed_advise(managed, PAGE, 0, wrong)


def test_a_reduction(stream):
    address = good(rt.malloc(4096, acl.ACL_MEM_MALLOC_HUGE_FIRST))
    ours, theirs = numpy.arange(64, dtype=numpy.float32), numpy.full(64, 2, dtype=numpy.float32)
    for offset, array in (0, ours), (2048, theirs):
        good(rt.memcpy(address + offset, 2048, acl.util.numpy_to_ptr(array), array.nbytes, acl.ACL_MEMCPY_HOST_TO_DEVICE))
    reduce = acl.ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, acl.ACL_FLOAT
    good(rt.reduce_async(address, address + 2048, ours.nbytes, *reduce, stream, 0))
    good(rt.synchronize_stream(stream))
    out = numpy.empty(64, numpy.float32)
    good(rt.memcpy(acl.util.numpy_to_ptr(out), out.nbytes, address, out.nbytes, acl.ACL_MEMCPY_DEVICE_TO_HOST))
    assert (out == ours + theirs).all()
    assert rt.reduce_async(address, address + 2048, 0, *reduce, stream, 0) == 107000
    assert rt.reduce_async(address, 0, 256, *reduce, stream, 0) == 100000
    assert rt.reduce_async(address, address + 2048, 256, *reduce, stream, 1) == 100000
    good(rt.free(address))


def test_peer_maps_and_the_cache(block):
    assert rt.mem_p2p_map(block, 4096, 1, 0) != 0  # before peer access
    good(rt.device_enable_peer_access(1, 0))
    good(rt.set_device(1))
    good(rt.device_enable_peer_access(0, 0))
    good(rt.mem_p2p_map(block, 4096, 1, 0))
    assert rt.mem_p2p_map(block, 4096, 1, 5) == 100000 and rt.mem_p2p_map(block, 4096, 99, 0) == 107001
    good(rt.device_disable_peer_access(0))
    good(rt.reset_device(1))
    good(rt.set_device(0))
    good(rt.device_disable_peer_access(1))
    good(rt.reset_device(0))
    good(rt.device_l2_cache_flush(0))
    assert rt.device_l2_cache_flush(1) == 100000


def test_stream_priorities():
    assert good(rt.device_get_stream_priority_range()) == (7, 0)


def test_processes_of_servers(block):
    """Atlas A2 has no pods; what is given is understood all the same."""
    servers = [{"sdid": 3, "pid": [1, 2]}]
    assert rt.ipc_mem_import_pid_inter_server("x" * 64, servers) != 0
    notify = good(rt.create_notify(0))
    assert rt.notify_set_import_pid_inter_server(notify, servers) != 0
    good(rt.destroy_notify(notify))
    for wrong, error in (([5], TypeError), ([{"pid": 5}], TypeError), ([{"sdid": -1}], ValueError), ([{"pid": [1 << 40]}], ValueError)):
        with pytest.raises(error):
            rt.ipc_mem_import_pid_inter_server("key", wrong)


def test_data_types_and_half_floats():
    assert [acl.data_type_size(each) for each in (acl.ACL_FLOAT, acl.ACL_FLOAT16, acl.ACL_STRING, acl.ACL_INT4, 99)] == [4, 2, 0, 1, 8]
    for value in 0.0, 1.5, -2.25, 65504.0, float("inf"):
        bits, = struct.unpack("<H", struct.pack("<e", value))
        assert acl.float_to_float16(value) == bits and acl.float16_to_float(bits) == value
    assert acl.float16_to_float(acl.float_to_float16(1e9)) == float("inf")
    with pytest.raises(TypeError):
        acl.float16_to_float(1 << 16)


def test_data_buffers(block):
    buffer = acl.create_data_buffer(block, 5 << 32)
    assert buffer and acl.get_data_buffer_addr(buffer) == block
    assert (acl.get_data_buffer_size(buffer), acl.get_data_buffer_size_v2(buffer)) == (0, 5 << 32)
    good(acl.update_data_buffer(buffer, block + 64, 100))
    assert (acl.get_data_buffer_addr(buffer), acl.get_data_buffer_size(buffer)) == (block + 64, 100)
    good(acl.destroy_data_buffer(buffer))
    for stale in buffer, ctypes.addressof(ctypes.c_int()), 0:
        assert acl.destroy_data_buffer(stale) != 0 and acl.update_data_buffer(stale, 0, 0) != 0
        assert acl.get_data_buffer_addr(stale) == 0 and acl.get_data_buffer_size_v2(stale) == 0
