# SPDX-License-Identifier: Apache-2.0
"""What a part of a program did with device memory: recorded, judged and drawn. A notebook shows `recording` as a picture."""
import pathlib
import tempfile

import numpy as np
import plat

with plat.record() as recording:  # before the first use of the device
    import acl

    with plat.Device(0) as device, plat.Pool(device) as pool:
        weights = np.random.default_rng(0).random((256, 256), dtype=np.float32)
        block = pool.from_numpy(weights)
        print("data came back:", bool((block.to_numpy() == weights).all()))
        with device.reserve(8 * plat.MIB) as addresses, device.allocate(2 * plat.MIB) as memory:
            with addresses.map(memory, 4 * plat.MIB) as mapping:
                mapping.fill(1)
        forgotten, ret = acl.rt.malloc(5 * plat.MIB, 0)

for finding in recording.findings:
    print(finding.rule, "-", finding.message, "-", finding.site.stack[0])
print(f"at most {recording.peak_bytes >> 20} MiB in {recording.events} calls")
with tempfile.TemporaryDirectory() as folder:
    picture = pathlib.Path(folder) / "memory.svg"
    plat.draw(recording).save(picture)
    print(f"a picture of {picture.stat().st_size >> 10} KiB")
