# SPDX-License-Identifier: Apache-2.0
"""What a call through the module acl costs, as a ratio to an empty pybind11 call of the same signature in the same run.

Rounds of both are interleaved, and the medians of the thread's processor time compared, so that a busy machine disturbs little. The
ratio includes what the device does in the call.
"""
import statistics
import time

import acl
import python_empty as empty

ROUNDS, CALLS = 101, 2000
TARGET = 1.5
PAGE = 2 << 20
PROP = {"memAttr": acl.ACL_HBM_MEM_HUGE, "location": {"id": 0, "type": 1}}


def good(result):
    values, ret = result if isinstance(result, tuple) else (None, result)
    assert ret == 0, acl.get_recent_err_msg()
    return values


def seconds(work):
    start = time.thread_time_ns()
    work(CALLS)
    return time.thread_time_ns() - start


def ratio(name, work, baseline, calls_each=1):
    pairs = [(seconds(work), seconds(baseline)) for _ in range(ROUNDS)]
    ours, theirs = (statistics.median(side) for side in zip(*pairs))
    ratios = sorted(a / b for a, b in pairs)
    scale = 1 / CALLS / calls_each
    median = statistics.median(ratios)
    print(f"{name:34} {ours * scale:8.0f} ns {theirs * scale:8.0f} ns   {median:5.2f}  "
          f"[{ratios[ROUNDS // 10]:.2f}..{ratios[-ROUNDS // 10]:.2f}]  {TARGET}  {'ok' if median <= TARGET else 'MISSED'}")


def repeat(function, *arguments):
    def work(count):
        for _ in range(count):
            function(*arguments)
    return work


def both(first, first_arguments, second, second_arguments):
    def work(count):
        for _ in range(count):
            first(*first_arguments)
            second(*second_arguments)
    return work


def main():
    rt = acl.rt
    good(acl.init())
    good(rt.set_device(0))
    address = good(rt.reserve_mem_address(PAGE, 0, 0, 1))
    handle = good(rt.malloc_physical(PAGE, PROP, 0))
    stream = good(rt.create_stream())
    block = good(rt.malloc(4096, 0))
    host = good(rt.malloc_host(4096))
    print(f"{'call':34} {'acl':>11} {'empty':>11}   ratio  [p10..p90]  target")
    ratio("get_device", repeat(rt.get_device), repeat(empty.pair))
    ratio("stream_query", repeat(rt.stream_query, stream), repeat(empty.pair_of_one, stream))
    ratio("map_mem + unmap_mem, each", both(rt.map_mem, (address, PAGE, 0, handle, 0), rt.unmap_mem, (address,)),
          both(empty.five, (address, PAGE, 0, handle, 0), empty.one, (address,)), 2)
    ratio("memcpy of 8 bytes", repeat(rt.memcpy, block, 8, host, 8, 1), repeat(empty.five, block, 8, host, 8, 1))
    good(rt.free_host(host))
    good(rt.free(block))
    good(rt.destroy_stream(stream))
    good(rt.free_physical(handle))
    good(rt.release_mem_address(address))
    good(rt.reset_device(0))


if __name__ == "__main__":
    main()
