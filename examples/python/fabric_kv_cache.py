# SPDX-License-Identifier: Apache-2.0
"""A KV cache that three servers share: one has the memory, a second fills it (prefill), a third reads it (decode).

Without arguments this script brings up all three on one computer. Each role is a process of another server (PLAT_NODE,
PLAT_SERVER), and the first export or import starts the fabric daemon of its server. Only the 128 bytes of the handle go from
process to process. It needs numpy.
"""
import contextlib
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile

ACL_HBM_MEM_HUGE = 4
ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST = 1, 2
ACL_MEM_SHARE_HANDLE_TYPE_FABRIC = 2
DISABLE_PID_VALIDATION = 1  # processes of other servers are on no whitelist
BLOCK = 2 << 20  # of one layer and sequence
BLOCKS = 8
ROLES = ["cache", "prefill", "decode"]  # on servers 0, 1 and 2


def check(result):
    """What a call of pyACL returned, without its code."""
    *values, ret = result if isinstance(result, tuple) else (result,)
    if ret != 0:
        raise RuntimeError(f"ret={ret}: {acl.get_recent_err_msg()}")
    return values[0] if values else None


def attention_of(block):
    """What prefill computes for a block; decode knows what to expect."""
    return (np.arange(BLOCK // 4, dtype=np.uint32) + block * 2654435761).astype(np.uint32)


@contextlib.contextmanager
def mapped(handle):
    address = check(acl.rt.reserve_mem_address(BLOCKS * BLOCK, 0, 0, 1))
    check(acl.rt.map_mem(address, BLOCKS * BLOCK, 0, handle, 0))
    yield address
    check(acl.rt.unmap_mem(address))
    check(acl.rt.free_physical(handle))
    check(acl.rt.release_mem_address(address))


def cache():
    prop = {"handleType": 0, "allocationType": 0, "memAttr": ACL_HBM_MEM_HUGE, "location": {"id": 0, "type": 1}, "reserve": 0}
    handle = check(acl.rt.malloc_physical(BLOCKS * BLOCK, prop, 0))
    fabric = check(acl.rt.mem_export_to_shareable_handle_v2(handle, DISABLE_PID_VALIDATION, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC))
    print(fabric.hex(), flush=True)
    sys.stdin.read()  # until nobody needs it any more
    check(acl.rt.free_physical(handle))


def import_from(fabric):
    return check(acl.rt.mem_import_from_shareable_handle_v2(bytes.fromhex(fabric), ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0))


def prefill(fabric):
    with mapped(import_from(fabric)) as far:
        for block in range(BLOCKS):
            words = attention_of(block)
            check(acl.rt.memcpy(far + block * BLOCK, BLOCK, acl.util.numpy_to_ptr(words), BLOCK, ACL_MEMCPY_HOST_TO_DEVICE))
    print(f"prefill: wrote {BLOCKS} blocks to the other server")


def decode(fabric):
    right = True
    with mapped(import_from(fabric)) as far:
        for block in reversed(range(BLOCKS)):
            seen = np.zeros(BLOCK // 4, dtype=np.uint32)
            check(acl.rt.memcpy(acl.util.numpy_to_ptr(seen), BLOCK, far + block * BLOCK, BLOCK, ACL_MEMCPY_DEVICE_TO_HOST))
            right = right and bool((seen == attention_of(block)).all())
    print("decode: data came back:", right)


def free_ports(count):
    """Below those that the system gives away itself."""
    while True:
        first = random.randrange(10000, 30000)
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + count):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return range(first, first + count)


def bring_up():
    directory = tempfile.mkdtemp(prefix="plat-kv-", dir="/dev/shm")
    table = os.path.join(directory, "servers")
    with open(table, "w", encoding="ascii") as file:
        file.writelines(f"{server} 127.0.0.1:{port}\n" for server, port in enumerate(free_ports(len(ROLES))))
    common = {**os.environ, "PLAT_PRODUCT": "a3", "PLAT_DIR": directory, "PLAT_FABRIC": table, "PLAT_QUIET": "1"}

    def on_server(role):
        return {**common, "PLAT_NODE": role, "PLAT_SERVER": str(ROLES.index(role))}

    def command(*arguments):
        return [sys.executable, "-B", __file__, *arguments]

    try:
        keeper = subprocess.Popen(command("cache"), env=on_server("cache"), text=True, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        fabric = keeper.stdout.readline().strip()
        for role in ROLES[1:]:
            subprocess.run(command(role, fabric), env=on_server(role), check=True)
        keeper.stdin.close()
        return keeper.wait()
    finally:
        for role in ROLES:
            subprocess.run(["plat", "fabric", "stop"], env=on_server(role), check=False, stdout=subprocess.DEVNULL)
        shutil.rmtree(directory)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(bring_up())
    import acl
    import numpy as np
    check(acl.init())
    check(acl.rt.set_device(0))
    {"cache": cache, "prefill": prefill, "decode": decode}[sys.argv[1]](*sys.argv[2:])
    check(acl.rt.reset_device(0))
    check(acl.finalize())
