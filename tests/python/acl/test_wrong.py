# SPDX-License-Identifier: Apache-2.0
"""Every documented function called wrongly: TypeError for types, a code that explains itself for values."""
import inspect
import re

import acl
import pytest
from conftest import PAGE, PROP, good
from test_names import DOCUMENTED

ALL = [(group, name) for group in ("rt", "media", "himpi", "util") for name in DOCUMENTED[group].split()]


def parameters(function):
    inside = re.match(r"\w+\((.*)\) ->", inspect.getdoc(function)).group(1)
    return [part for part in inside.split(", ") if ": " in part]


@pytest.mark.parametrize("group, name", ALL)
def test_arguments_of_the_wrong_type_are_refused(group, name):
    function = getattr(getattr(acl, group), name)
    count = len(parameters(function))
    with pytest.raises(TypeError):
        function(*[None] * (count + 1))
    for wrong in (None, 1.5, object()):
        if count:
            with pytest.raises((TypeError, ValueError)):
                function(*[wrong] * count)


WRONG = {
    "unknown addresses": [lambda: acl.rt.free(12345), lambda: acl.rt.free_host(12345), lambda: acl.rt.release_mem_address(12345),
                          lambda: acl.rt.unmap_mem(12345), lambda: acl.media.dvpp_free(12345), lambda: acl.himpi.dvpp_free(12345),
                          lambda: acl.rt.host_unregister(4096), lambda: acl.rt.host_get_device_pointer(4096, 0)],
    "unknown handles": [lambda: acl.rt.free_physical(12345), lambda: acl.rt.map_mem(1 << 44, PAGE, 0, 12345, 0),
                        lambda: acl.rt.destroy_stream(12345), lambda: acl.rt.record_event(12345, 0),
                        lambda: acl.rt.synchronize_stream(12345), lambda: acl.rt.stream_query(12345),
                        lambda: acl.rt.stream_wait_event(0, 12345), lambda: acl.rt.synchronize_event(12345),
                        lambda: acl.rt.mem_pool_destroy(12345)],
    "sizes": [lambda: acl.rt.malloc(0, 0), lambda: acl.rt.malloc_align32(0, 0), lambda: acl.rt.malloc_cached(0, 0),
              lambda: acl.rt.malloc_with_cfg(0, 0, {}), lambda: acl.rt.malloc_for_task_scheduler(0, 0, {}),
              lambda: acl.rt.malloc_host(0), lambda: acl.rt.malloc_host_with_cfg(0, {}), lambda: acl.media.dvpp_malloc(0),
              lambda: acl.media.dvpp_malloc_with_cfg(0, {}), lambda: acl.himpi.dvpp_malloc(0, 0),
              lambda: acl.rt.reserve_mem_address(0, 0, 0, 1), lambda: acl.rt.malloc_physical(0, PROP, 0),
              lambda: acl.rt.malloc(1 << 40, 0)],
    "reserved arguments": [lambda: acl.rt.reserve_mem_address(PAGE, 1, 0, 1), lambda: acl.rt.malloc_physical(PAGE, PROP, 1),
                           lambda: acl.rt.device_enable_peer_access(1, 5)],
    "null": [lambda: acl.rt.memcpy(0, 8, 0, 8, 1), lambda: acl.rt.memcpy_async(0, 8, 0, 8, 1, 0), lambda: acl.rt.memset(0, 8, 0, 8),
             lambda: acl.rt.memcpy_async_with_condition(0, 8, 0, 8, 1, 0), lambda: acl.rt.memset_async(0, 8, 0, 8, 0),
             lambda: acl.rt.memcpy2d(0, 8, 0, 8, 8, 1, 1), lambda: acl.rt.memcpy2d_async(0, 8, 0, 8, 8, 1, 1, 0),
             lambda: acl.rt.mem_flush(0, 8), lambda: acl.rt.mem_invalidate(0, 8), lambda: acl.rt.value_write(0, 1, 0, 0),
             lambda: acl.rt.value_wait(0, 1, 0, 0), lambda: acl.rt.cmo_async(0, 8, 0, 0), lambda: acl.rt.host_register(0, 4096, 0),
             lambda: acl.rt.host_register_v2(0, 4096, 2), lambda: acl.rt.pointer_get_attributes(0),
             lambda: acl.rt.set_memcpy_desc(0, 6, 0, 0, 8, 0), lambda: acl.rt.memcpy_async_with_desc(0, 6, 0)],
    "devices": [lambda: acl.rt.set_device(99), lambda: acl.rt.reset_device(99), lambda: acl.rt.create_context(99),
                lambda: acl.rt.device_can_access_peer(0, 0), lambda: acl.rt.device_disable_peer_access(99),
                lambda: acl.rt.mem_import_from_shareable_handle(1, 0)],
    "kinds": [lambda: acl.rt.get_memcpy_desc_size(0), lambda: acl.rt.get_mem_info(999),
              lambda: acl.rt.mem_get_allocation_granularity(PROP, 77)],
    "shares": [lambda: acl.rt.mem_export_to_shareable_handle(12345, 0, 0), lambda: acl.rt.mem_set_pid_to_shareable_handle(1, [1]),
               lambda: acl.rt.ipc_mem_get_export_key(12345, 8, 65, 0), lambda: acl.rt.ipc_mem_set_import_pid("none", [1]),
               lambda: acl.rt.ipc_mem_close("none"), lambda: acl.rt.ipc_mem_import_by_key("none", 0)],
}


@pytest.mark.parametrize("kind, index", [(kind, index) for kind in WRONG for index in range(len(WRONG[kind]))])
def test_values_that_are_wrong_get_a_code_and_a_text(kind, index):
    result = WRONG[kind][index]()
    ret = result[-1] if isinstance(result, tuple) else result
    assert ret != 0
    assert re.match(r"[A-Z]+-[\w-]+ \w+\(", acl.get_recent_err_msg())
    if isinstance(result, tuple) and kind not in ("null", "kinds"):
        assert result[0] in (0, "")


def test_dictionaries():
    with pytest.raises(TypeError, match="memAttr must be an int"):
        acl.rt.malloc_physical(PAGE, PROP | {"memAttr": "huge"}, 0)
    with pytest.raises(ValueError, match="out of its range"):
        acl.rt.malloc_physical(PAGE, PROP | {"memAttr": -1}, 0)
    with pytest.raises(TypeError, match="location must be a dict"):
        acl.rt.malloc_physical(PAGE, PROP | {"location": 0}, 0)
    with pytest.raises(ValueError, match="numAttrs is 2"):
        acl.rt.malloc_with_cfg(8, 0, {"numAttrs": 2, "attrs": [{"attr": 1, "value": {"moduleId": 3}}]})
    with pytest.raises(TypeError, match="attrs must be a list"):
        acl.rt.malloc_with_cfg(8, 0, {"numAttrs": 0, "attrs": 5})
    with pytest.raises(ValueError, match="moduleId"):
        acl.rt.malloc_with_cfg(8, 0, {"numAttrs": 1, "attrs": [{"attr": 1, "value": {"moduleId": 70000}}]})


def test_a_missing_key_counts_as_zero():
    handle = good(acl.rt.malloc_physical(PAGE, {"memAttr": acl.ACL_HBM_MEM_HUGE, "location": {"type": 1}}, 0))
    assert good(acl.rt.mem_get_allocation_properties_from_handle(handle))["location"]["id"] == 0
    good(acl.rt.free_physical(handle))


def test_lists_and_lengths():
    with pytest.raises(ValueError, match="below 1024"):
        acl.rt.ipc_mem_get_export_key(0, 8, 1024, 0)
    with pytest.raises(TypeError, match="a pid must be an int"):
        acl.rt.mem_set_pid_to_shareable_handle(1, ["1"])
    with pytest.raises(ValueError, match="differ in length"):
        acl.rt.memcpy_batch([1, 2], [1], [1], [1], [], [])
    with pytest.raises(ValueError, match="NUL"):
        acl.rt.ipc_mem_close("a\0b")
