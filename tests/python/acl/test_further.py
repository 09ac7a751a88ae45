# SPDX-License-Identifier: Apache-2.0
"""Stream configurations, allocators, profiling, dump, versions and the second batch, right and wrong."""
import ctypes

import acl
import pytest
from conftest import good

rt = acl.rt
UNKNOWN = 12345


def test_a_stream_as_configured():
    handle = rt.create_stream_config_handle()
    assert handle != 0
    good(rt.set_stream_config_opt(handle, acl.ACL_RT_STREAM_PRIORITY, 3))
    good(rt.set_stream_config_opt(handle, acl.ACL_RT_STREAM_FLAG, acl.ACL_STREAM_FAST_LAUNCH))
    good(rt.destroy_stream(good(rt.create_stream_v2(handle))))
    assert rt.set_stream_config_opt(handle, 99, 0) != 0
    with pytest.raises(ValueError, match="priority"):
        rt.set_stream_config_opt(handle, acl.ACL_RT_STREAM_PRIORITY, 1 << 40)
    good(rt.destroy_stream_config_handle(handle))
    for use in (lambda: rt.destroy_stream_config_handle(UNKNOWN), lambda: rt.create_stream_v2(UNKNOWN)[-1],
                lambda: rt.set_stream_config_opt(UNKNOWN, acl.ACL_RT_STREAM_FLAG, 0)):
        assert use() != 0


def test_an_allocator_of_a_stream(stream):
    # Plat runs no operators, so nothing calls these; what is registered is told.
    kept = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(lambda allocator, size: None)
    address = ctypes.cast(kept, ctypes.c_void_p).value
    desc = rt.allocator_create_desc()
    assert rt.allocator_register(stream, desc) != 0  # still empty
    good(rt.allocator_set_obj_to_desc(desc, UNKNOWN))
    for set_function in (rt.allocator_set_alloc_func_to_desc, rt.allocator_set_free_func_to_desc,
                         rt.allocator_set_alloc_advise_func_to_desc, rt.allocator_set_get_addr_from_block_func_to_desc):
        good(set_function(desc, address))
    good(rt.allocator_register(stream, desc))
    assert good(rt.allocator_get_by_stream(stream)) == (desc, UNKNOWN, address, address, address, address)
    good(rt.allocator_unregister(stream))
    assert rt.allocator_get_by_stream(stream)[-1] != 0
    good(rt.allocator_destroy_desc(desc))
    assert rt.allocator_destroy_desc(desc) != 0
    assert rt.allocator_set_obj_to_desc(UNKNOWN, 1) != 0


def test_profiling(tmp_path, stream):
    good(acl.prof.init(str(tmp_path)))
    config = acl.prof.create_config([0], acl.ACL_AICORE_NONE, 0, acl.ACL_PROF_ACL_API)
    assert config != 0
    good(acl.prof.start(config))
    step = acl.prof.create_step_info()
    for tag in acl.ACL_STEP_START, acl.ACL_STEP_END:
        good(acl.prof.get_step_timestamp(step, tag, stream))
    acl.prof.destroy_step_info(step)
    good(acl.prof.stop(config))
    good(acl.prof.destroy_config(config))
    good(acl.prof.finalize())
    assert acl.prof.finalize() != 0 and acl.prof.start(config) != 0 and acl.prof.destroy_config(UNKNOWN) != 0
    assert acl.prof.create_config([99], 0, 0, 0) == 0 and acl.get_recent_err_msg()
    for wrong in ("devices", [-1], 5):
        with pytest.raises(TypeError):
            acl.prof.create_config(wrong, 0, 0, 0)


def test_dump(tmp_path):
    file = tmp_path / "dump.json"
    file.write_text('{"dump": {"dump_path": "/tmp"}}')
    good(acl.mdl.init_dump())
    good(acl.mdl.set_dump(str(file)))
    good(acl.mdl.finalize_dump())
    assert acl.mdl.finalize_dump() != 0
    with pytest.raises(ValueError, match="NUL"):
        acl.mdl.set_dump("a\0b")


def test_versions():
    text, number = good(acl.sys_get_version_str("plat")), good(acl.sys_get_version_num("plat"))
    major, minor, patch = (int(part) for part in text.split()[0].split("."))
    assert number == major * 10_000_000 + minor * 100_000 + patch * 1_000
    assert acl.sys_get_version_str("nothing")[-1] != 0 and acl.sys_get_version_num("nothing")[-1] != 0
    with pytest.raises(TypeError):
        acl.sys_get_version_str(5)


def test_the_second_batch(block, host, stream):
    attr = {"dstLoc": {"id": 0, "type": acl.ACL_MEM_LOCATION_TYPE_DEVICE}, "srcLoc": {"id": 0, "type": acl.ACL_MEM_LOCATION_TYPE_HOST}}
    arguments = [block, block + 64], [64, 64], [host, host], [64, 64], [attr], [0]
    good(rt.memcpy_batch_v2(*arguments))
    good(rt.memcpy_batch_async_v2(*arguments, stream))
    good(rt.synchronize_stream(stream))
    assert rt.memcpy_batch_v2([block], [8], [host], [64], [attr], [0]) != 0
    assert rt.memcpy_batch_async_v2([block], [8], [host], [64], [attr], [0], stream) != 0
    with pytest.raises(ValueError, match="differ in length"):
        rt.memcpy_batch_v2([block], [], [], [], [], [])
