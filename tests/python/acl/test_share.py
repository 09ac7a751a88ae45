# SPDX-License-Identifier: Apache-2.0
"""Two processes share memory, by handle and by key, with both ways of starting the other one."""
import multiprocessing

import acl
import numpy
import pytest
from conftest import PAGE, PROP, good

rt = acl.rt


def write_there(address):
    data = numpy.arange(64, dtype=numpy.uint8)
    good(rt.memcpy(address, 64, acl.util.numpy_to_ptr(data), 64, acl.ACL_MEMCPY_HOST_TO_DEVICE))


def read_here(address):
    data = numpy.zeros(64, numpy.uint8)
    good(rt.memcpy(acl.util.numpy_to_ptr(data), 64, address, 64, acl.ACL_MEMCPY_DEVICE_TO_HOST))
    return data.tolist()


def importer(pipe, way):
    # A forked child starts anew.
    good(acl.init())
    good(rt.set_device(0))
    pipe.send(good(rt.device_get_bare_tgid()))
    token = pipe.recv()
    if way == "key":
        address = good(rt.ipc_mem_import_by_key(token, 0))
        write_there(address)
        good(rt.ipc_mem_close(token))
    else:
        if way == "v2":
            handle = good(rt.mem_import_from_shareable_handle_v2(token, acl.ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 0))
        else:
            handle = good(rt.mem_import_from_shareable_handle(token, 0))
        address = good(rt.reserve_mem_address(PAGE, 0, 0, 1))
        good(rt.map_mem(address, PAGE, 0, handle, 0))
        write_there(address)
        good(rt.unmap_mem(address))
        good(rt.free_physical(handle))
        good(rt.release_mem_address(address))
    pipe.send("written")
    good(rt.reset_device(0))
    good(acl.finalize())


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.parametrize("way", ["handle", "v2", "key"])
def test_what_one_writes_the_other_reads(start, way):
    context = multiprocessing.get_context(start)
    here, there = context.Pipe()
    process = context.Process(target=importer, args=(there, way))
    process.start()
    there.close()
    pid = here.recv()
    if way == "key":
        address = good(rt.malloc(PAGE, 0))
        token = good(rt.ipc_mem_get_export_key(address, PAGE, 65, 0))
        good(rt.ipc_mem_set_import_pid(token, [pid]))
    else:
        address = good(rt.reserve_mem_address(PAGE, 0, 0, 1))
        handle = good(rt.malloc_physical(PAGE, PROP, 0))
        good(rt.map_mem(address, PAGE, 0, handle, 0))
        if way == "v2":
            kind = acl.ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT
            token = good(rt.mem_export_to_shareable_handle_v2(handle, 0, kind))
            good(rt.mem_set_pid_to_shareable_handle_v2(token, kind, [pid]))
        else:
            token = good(rt.mem_export_to_shareable_handle(handle, 0, 0))
            good(rt.mem_set_pid_to_shareable_handle(token, [pid]))
    here.send(token)
    assert here.recv() == "written"
    process.join()
    assert process.exitcode == 0
    assert read_here(address) == list(range(64))
    if way == "key":
        good(rt.ipc_mem_close(token))
        good(rt.free(address))
    else:
        good(rt.unmap_mem(address))
        good(rt.free_physical(handle))
        good(rt.release_mem_address(address))
