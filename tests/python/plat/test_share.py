# SPDX-License-Identifier: Apache-2.0
"""Memory goes through a queue to another process, started in either way."""
import multiprocessing

import numpy
import plat
import pytest

PAGE = 2 * plat.MIB


def add_one(inbox, outbox):
    with plat.Device(0) as device:
        shared = inbox.get()
        with shared.open(device) as memory, device.reserve(memory.size) as addresses, addresses.map(memory) as mapping:
            mapping.from_numpy(mapping.to_numpy(100) + 1)
        outbox.put("done")


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_queue_carries_memory(start):
    context = multiprocessing.get_context(start)
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=add_one, args=(inbox, outbox))
    process.start()
    with plat.Device(0) as device, device.reserve(PAGE) as addresses, device.allocate(PAGE) as memory:
        with addresses.map(memory) as mapping:
            mapping.from_numpy(numpy.arange(100, dtype=numpy.uint8))
            inbox.put(memory.share())
            assert outbox.get() == "done"
            assert mapping.to_numpy(100).tolist() == list(range(1, 101))
            assert memory.share().token == memory.share().token
    process.join()
    assert process.exitcode == 0


def test_a_token_of_memory_that_is_gone_is_refused():
    with plat.Device(0) as device:
        with device.allocate(PAGE) as memory:
            token = memory.share()
        with pytest.raises(plat.PlatError):
            token.open(device)


def inherit(owners, outbox):
    """In a child that has a device of its own, the numbers of what the parent holds are numbers of its own things."""
    refused = 0
    for owner in owners:
        try:
            owner._check_open()
        except ValueError as error:
            refused += "belongs to process" in str(error)
    with plat.Device(0) as device, device.reserve(PAGE) as addresses, device.allocate(PAGE) as memory, addresses.map(memory) as mapping:
        same = mapping.address == owners[2].address
        for owner in owners:
            owner.close()
        owners.clear()
        mapping.fill(7)
        outbox.put((refused, same, mapping.to_numpy(1)[0] == 7))


def test_a_forked_child_does_not_give_back_what_its_parent_holds():
    context = multiprocessing.get_context("fork")
    outbox = context.Queue()
    with plat.Device(0) as device, device.reserve(PAGE) as addresses, device.allocate(PAGE) as memory, addresses.map(memory) as mapping:
        mapping.fill(3)
        process = context.Process(target=inherit, args=([memory, addresses, mapping], outbox))
        process.start()
        assert outbox.get() == (3, True, True)
        process.join()
        assert process.exitcode == 0 and mapping.to_numpy(1)[0] == 3
