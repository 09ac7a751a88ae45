# SPDX-License-Identifier: Apache-2.0
"""Memory from the pair of functions that torch_npu loads by name. With torch_npu itself it would be

    allocator = torch_npu.npu.memory.NPUPluggableAllocator(pair.library, pair.malloc_name, pair.free_name)
    torch_npu.npu.memory.change_current_allocator(allocator)
"""
import acl
import numpy as np
import plat

pair = plat.PluggableAllocator()
with plat.Device(0) as device, device.stream() as stream:
    sent = np.arange(1000, dtype=np.float32)
    back = np.zeros_like(sent)
    address = pair.malloc(sent.nbytes, device.index, stream)
    acl.rt.memcpy(address, sent.nbytes, acl.util.numpy_to_ptr(sent), sent.nbytes, acl.ACL_MEMCPY_HOST_TO_DEVICE)
    acl.rt.memcpy(acl.util.numpy_to_ptr(back), back.nbytes, address, back.nbytes, acl.ACL_MEMCPY_DEVICE_TO_HOST)
    print("data came back:", bool((sent == back).all()))
    pair.free(address, sent.nbytes, device.index, stream)
    print("used again at once by the same stream:", pair.malloc(sent.nbytes, device.index, stream) == address)
    pair.free(address, sent.nbytes, device.index, stream)
