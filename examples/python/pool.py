# SPDX-License-Identifier: Apache-2.0
"""Arrays to the device and back through the pool, with objects that clean up after themselves."""
import numpy as np
import plat

with plat.Device(0) as device, plat.Pool(device, limit_bytes=64 * plat.MIB) as pool:
    weights = np.random.default_rng(0).random((256, 256), dtype=np.float32)
    with pool.allocate(weights.nbytes) as block, device.stream() as stream:
        block.from_numpy(weights)
        print("data came back:", bool((block.to_numpy(weights.shape, np.float32) == weights).all()))
        stream.fill(block, 0)
        stream.synchronize()
        print("cleared:", not block.to_numpy().any())
    print("live blocks:", pool.stats["live_blocks"])
    try:
        device.reserve(0)
    except plat.PlatError as error:
        print("refused:", error.rule, error.code)
