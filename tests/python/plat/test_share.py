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
