# SPDX-License-Identifier: Apache-2.0
"""The seven steps of virtual memory, as a pyACL program does them: every call returns its outputs and a code."""
import acl
import numpy as np

ACL_HBM_MEM = 1
ACL_HBM_MEM_HUGE = 4
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
PAGE = 2 * 1024 * 1024


def check_ret(what, ret):
    if ret != 0:
        raise RuntimeError(f"{what} failed, ret={ret}: {acl.get_recent_err_msg()}")


def main():
    check_ret("acl.init", acl.init())
    check_ret("acl.rt.set_device", acl.rt.set_device(0))
    free_before, total, ret = acl.rt.get_mem_info(ACL_HBM_MEM)
    check_ret("acl.rt.get_mem_info", ret)

    # 1. Addresses, without memory.
    vir_ptr, ret = acl.rt.reserve_mem_address(2 * PAGE, 0, 0, 1)
    check_ret("acl.rt.reserve_mem_address", ret)
    # 2. Memory, without an address.
    prop = {"handleType": 0, "allocationType": 0, "memAttr": ACL_HBM_MEM_HUGE, "location": {"id": 0, "type": 1}, "reserve": 0}
    handle, ret = acl.rt.malloc_physical(PAGE, prop, 0)
    check_ret("acl.rt.malloc_physical", ret)
    # 3. One to the other.
    check_ret("acl.rt.map_mem", acl.rt.map_mem(vir_ptr, PAGE, 0, handle, 0))

    # 4. Use it.
    sent = np.arange(1024, dtype=np.float32)
    back = np.zeros_like(sent)
    check_ret("to device", acl.rt.memcpy(vir_ptr, PAGE, acl.util.numpy_to_ptr(sent), sent.nbytes, ACL_MEMCPY_HOST_TO_DEVICE))
    check_ret("to host", acl.rt.memcpy(acl.util.numpy_to_ptr(back), back.nbytes, vir_ptr, back.nbytes, ACL_MEMCPY_DEVICE_TO_HOST))
    print("data came back:", bool((sent == back).all()))

    # 5. to 7. And all of it back.
    check_ret("acl.rt.unmap_mem", acl.rt.unmap_mem(vir_ptr))
    check_ret("acl.rt.free_physical", acl.rt.free_physical(handle))
    check_ret("acl.rt.release_mem_address", acl.rt.release_mem_address(vir_ptr))
    free_after, total, ret = acl.rt.get_mem_info(ACL_HBM_MEM)
    check_ret("acl.rt.get_mem_info", ret)
    print("memory came back:", free_after == free_before)
    check_ret("acl.rt.reset_device", acl.rt.reset_device(0))
    check_ret("acl.finalize", acl.finalize())


if __name__ == "__main__":
    main()
