# SPDX-License-Identifier: Apache-2.0
"""Every row of the documented table, called as it should be."""
import mmap
import os

import acl
import numpy
from conftest import PAGE, PROP, good

rt = acl.rt


def test_process():
    assert acl.init() == acl.ACL_ERROR_REPEAT_INITIALIZE
    assert good(acl.finalize_reference()) == 1
    assert acl.get_soc_name() == "Ascend910B3"
    assert good(rt.get_version())[0] == 1
    acl.app_log(acl.ACL_INFO, "f", "file.py", 1, "100 %s")


def test_devices():
    assert good(rt.get_device()) == 0
    assert good(rt.get_device_count()) == 2
    assert good(rt.get_run_mode()) == acl.ACL_HOST
    assert good(rt.device_get_bare_tgid()) == os.getpid()
    assert good(rt.device_can_access_peer(0, 1)) == 1
    good(rt.device_enable_peer_access(1, 0))
    assert good(rt.device_peer_access_status(0, 1)) == 1
    good(rt.device_disable_peer_access(1))
    good(rt.synchronize_device())
    good(rt.synchronize_device_with_timeout(-1))


def test_contexts():
    default = good(rt.get_context())
    made = good(rt.create_context(0))
    assert good(rt.get_context()) == made
    good(rt.set_context(default))
    good(rt.destroy_context(made))


def test_allocation_families():
    for allocate in rt.malloc, rt.malloc_align32, rt.malloc_cached:
        good(rt.free(good(allocate(100, acl.ACL_MEM_MALLOC_HUGE_FIRST))))
    module = {"numAttrs": 1, "attrs": [{"attr": acl.ACL_RT_MEM_ATTR_MODULE_ID, "value": {"moduleId": 33}}]}
    for allocate in rt.malloc_with_cfg, rt.malloc_for_task_scheduler:
        for config in {}, module:
            good(rt.free(good(allocate(100, acl.ACL_MEM_MALLOC_HUGE_FIRST, config))))
    good(rt.free_with_dev_sync(good(rt.malloc(100, 0))))
    for config in {}, module:
        good(rt.free_host(good(rt.malloc_host_with_cfg(100, config))))
        good(acl.media.dvpp_free(good(acl.media.dvpp_malloc_with_cfg(100, config))))
    good(acl.media.dvpp_free(good(acl.media.dvpp_malloc(100))))
    good(acl.himpi.dvpp_free(good(acl.himpi.dvpp_malloc(0, 100))))


def test_queries(block):
    free, total = good(rt.get_mem_info(acl.ACL_HBM_MEM))
    assert free < total == 256 << 20
    attributes = good(rt.pointer_get_attributes(block))
    assert attributes["location"] == {"id": 0, "type": acl.ACL_MEM_LOCATION_TYPE_DEVICE}
    assert set(attributes) == {"location", "page_size", "rsv"}
    base, size = good(rt.mem_get_address_range(block + 5))
    assert base == block and size >= 4096
    assert good(rt.check_mem_type([block], acl.ACL_RT_MEM_TYPE_DEV, 0)) == 1
    assert all(set(entry) == {"name", "cur_mem_size", "mem_peak_size"} for entry in good(rt.get_mem_usage_info(0, 8)))


def test_cached_memory():
    address = good(rt.malloc_cached(4096, 0))
    good(rt.mem_flush(address, 4096))
    good(rt.mem_invalidate(address, 4096))
    good(rt.free(address))


def test_copies_and_fills(block, host, stream):
    view = acl.util.ptr_to_numpy(host, (4096,), numpy.uint8)
    view[:] = numpy.arange(4096) % 251
    expected = view.tobytes()
    to_device, to_host = acl.ACL_MEMCPY_HOST_TO_DEVICE, acl.ACL_MEMCPY_DEVICE_TO_HOST

    good(rt.memcpy(block, 4096, host, 4096, to_device))
    view[:] = 0
    good(rt.memcpy_async(host, 4096, block, 4096, to_host, stream))
    good(rt.synchronize_stream(stream))
    assert view.tobytes() == expected

    good(rt.memset(block, 4096, 7, 2048))
    good(rt.memset_async(block + 2048, 2048, 9, 2048, stream))
    good(rt.memcpy_async_with_condition(host, 4096, block, 4096, to_host, stream))
    good(rt.synchronize_stream(stream))
    assert view.tobytes() == b"\7" * 2048 + b"\t" * 2048

    good(rt.memcpy2d(block, 64, host + 2048, 64, 32, 4, to_device))
    good(rt.memcpy2d_async(host, 64, block, 64, 32, 4, to_host, stream))
    good(rt.synchronize_stream(stream))
    assert view[0] == 9 and view[32] == 7


def test_a_copy_by_descriptor(block, stream):
    kind = acl.ACL_MEMCPY_INNER_DEVICE_TO_DEVICE
    desc = good(rt.malloc(good(rt.get_memcpy_desc_size(kind)), 0))
    good(rt.memset(block, 4096, 5, 64))
    assert rt.set_memcpy_desc(desc, kind, block, block + 1024, 64, 0) == (desc, 0)
    good(rt.memcpy_async_with_desc(desc, kind, stream))
    good(rt.synchronize_stream(stream))
    arrived = numpy.zeros(64, numpy.uint8)
    good(rt.memcpy(acl.util.numpy_to_ptr(arrived), 64, block + 1024, 64, acl.ACL_MEMCPY_DEVICE_TO_HOST))
    assert set(arrived) == {5}
    good(rt.free(desc))


def test_a_batch(block, host):
    device = {"id": 0, "type": acl.ACL_MEM_LOCATION_TYPE_DEVICE}
    attr = {"dstLoc": device, "srcLoc": {"id": 0, "type": acl.ACL_MEM_LOCATION_TYPE_HOST}}
    assert good(rt.memcpy_batch([block, block + 64], [64, 64], [host, host], [64, 64], [attr], [0])) == 2**64 - 1


def test_the_seven_steps():
    granularity = good(rt.mem_get_allocation_granularity(PROP, acl.ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED))
    assert granularity == PAGE
    address = good(rt.reserve_mem_address(2 * PAGE, 0, 0, 1))
    handle = good(rt.malloc_physical(PAGE, PROP, 0))
    good(rt.map_mem(address, PAGE, 0, handle, 0))
    good(rt.memset(address, PAGE, 1, PAGE))
    assert good(rt.mem_get_allocation_properties_from_handle(handle))["location"] == PROP["location"]
    assert good(rt.mem_get_access(address, PROP["location"])) == acl.ACL_RT_MEM_ACCESS_FLAGS_READWRITE
    retained = good(rt.mem_retain_allocation_handle(address))
    good(rt.free_physical(retained))
    good(rt.unmap_mem(address))
    good(rt.mem_map_no_access(address, PAGE, 0, handle, 0))
    assert good(rt.mem_get_access(address, PROP["location"])) == 0
    good(rt.mem_set_access(address, PAGE, [{"flags": 3, "location": PROP["location"]}]))
    good(rt.unmap_mem(address))
    good(rt.free_physical(handle))
    good(rt.release_mem_address(address))


def test_registered_host_memory():
    memory = mmap.mmap(-1, 8192)
    array = numpy.frombuffer(memory, numpy.uint8)
    start = acl.util.numpy_to_ptr(array)
    assert good(rt.host_register(start, 4096, acl.ACL_HOST_REGISTER_MAPPED)) != 0
    good(rt.host_unregister(start))
    good(rt.host_register_v2(start, 4096, acl.ACL_HOST_REG_MAPPED))
    assert good(rt.host_get_device_pointer(start, 0)) != 0
    good(rt.host_unregister(start))


def test_streams_and_events(block, stream):
    event = good(rt.create_event())
    other = good(rt.create_stream_with_config(0, acl.ACL_STREAM_FAST_LAUNCH))
    good(rt.value_wait(block, 1, acl.ACL_STREAM_WAIT_VALUE_EQ, stream))
    good(rt.record_event(event, stream))
    good(rt.stream_wait_event(other, event))
    assert good(rt.stream_query(stream)) == acl.ACL_STREAM_STATUS_NOT_READY
    assert good(rt.query_event(event)) == acl.ACL_EVENT_STATUS_NOT_READY
    third = good(rt.create_stream())
    good(rt.value_write(block, 1, 0, third))
    good(rt.synchronize_event(event))
    good(rt.synchronize_stream(other))
    assert good(rt.stream_query(stream)) == acl.ACL_STREAM_STATUS_COMPLETE
    assert good(rt.query_event_status(event)) == acl.ACL_EVENT_RECORDED_STATUS_COMPLETE
    good(rt.cmo_async(block, 64, acl.ACL_RT_CMO_TYPE_PREFETCH, third))
    end = good(rt.create_event())
    good(rt.record_event(end, third))
    good(rt.synchronize_event_with_timeout(end, -1))
    assert good(rt.event_elapsed_time(event, end)) >= 0
    for made in event, end:
        good(rt.destroy_event(made))
    for made in other, third:
        good(rt.destroy_stream(made))


def test_a_stream_ordered_pool(stream):
    pool = good(rt.mem_pool_create({"location": {"id": 0, "type": 1}, "maxSize": 2 * PAGE}))
    address = good(rt.mem_pool_malloc_async(1024, pool, stream))
    assert good(rt.mem_pool_get_attr(pool, acl.ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT)) >= 1024
    good(rt.mem_pool_free_async(address, stream))
    good(rt.synchronize_stream(stream))
    good(rt.mem_pool_set_attr(pool, acl.ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, 0))
    good(rt.mem_pool_trim_to(pool, 0))
    good(rt.mem_pool_destroy(pool))
