# SPDX-License-Identifier: Apache-2.0
"""Events and notifies between processes, and managed memory, as objects."""
import multiprocessing
import pickle

import numpy
import plat
import pytest

PAGE = 2 * plat.MIB


@pytest.fixture
def device():
    with plat.Device(0) as made:
        yield made


def other_process(here):
    """Waits for what the first process records, tells it so, and records in turn."""
    with plat.Device(0) as device, device.stream() as stream:
        token, theirs = here.recv()
        with token.open(device) as event, theirs.open(device) as notify:
            try:
                event.record()
                here.send("recorded")
            except plat.PlatError as error:
                here.send(error.rule)
            here.recv()
            stream.wait(event)
            stream.synchronize()
            event.synchronize()
            here.send(event.done)
            notify.record(stream)
            stream.synchronize()
        here.recv()


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_two_processes_wait_for_each_other(start):
    context = multiprocessing.get_context(start)
    here, there = context.Pipe()
    process = context.Process(target=other_process, args=(there,))
    process.start()
    with plat.Device(0) as device, device.stream() as stream, device.event(shared=True) as event, device.notify() as notify:
        here.send((event.share(), notify.share()))
        assert here.recv().startswith("STM-")  # only who has it records it
        event.record(stream)
        here.send("go on")
        assert here.recv() is True
        done = []
        notify.wait(stream)
        stream.call(done.append, 1)
        stream.synchronize()
        assert done == [1]
        here.send("end")
        process.join()
    assert process.exitcode == 0


def test_only_what_was_made_to_be_shared_is(device):
    with device.event() as plain, pytest.raises(plat.PlatError):
        plain.share()
    with device.event(shared=True) as event:
        token = event.share()
        assert repr(token).startswith("<plat.SharedEvent ") and pickle.loads(pickle.dumps(token)).token == token.token
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            pickle.dumps(event)
    with pytest.raises(plat.PlatError):
        token.open(device)  # it is gone
    with pytest.raises(TypeError, match="Device"):
        token.open("device")
    with device.notify() as notify:
        shared = notify.share()
    assert repr(shared).startswith("<plat.SharedNotify ")
    with pytest.raises(plat.PlatError):
        shared.open(device)
    with pytest.raises(ValueError, match="closed"):
        notify.record()


def test_a_notify_is_taken_by_one_wait(device):
    with device.stream() as first, device.stream() as second, device.notify() as notify:
        order = []
        notify.wait(second)
        second.call(order.append, "second")
        first.call(order.append, "first")
        notify.record(first)
        second.synchronize()
        assert order == ["first", "second"]
        with pytest.raises(ValueError, match="timeout is -1"):
            notify.wait(second, timeout=-1)
        with pytest.raises(TypeError, match="stream must be"):
            notify.wait("stream")


def test_managed_memory_is_seen_from_both_sides(device):
    with device.managed((3, 4), "i4") as memory, device.stream() as stream, plat.Pool(device) as pool:
        view = numpy.asarray(memory)
        assert view.shape == (3, 4) and view.dtype == numpy.int32 and numpy.from_dlpack(memory).shape == (3, 4)
        view[:] = numpy.arange(12).reshape(3, 4)
        block = pool.empty((3, 4), "i4")
        stream.copy(block, memory)
        stream.synchronize()
        assert (block.to_numpy() == view).all()
        stream.fill(memory, 0)
        stream.synchronize()
        assert not view.any()
        with pytest.raises(BufferError, match="view"):
            memory.close()
        del view
    assert repr(memory).endswith("closed>")


def test_managed_memory_keeps_advice(device):
    with plat.Device(1) as other, device.managed(PAGE + 1) as memory, device.stream() as stream:
        device.use()  # the last one that was opened is
        assert (memory.read_mostly, memory.preferred_location, memory.accessed_by, memory.last_prefetch) == (False, None, [], None)
        memory.advise("read_mostly")
        memory.advise("preferred_location", other)
        memory.advise("accessed_by", other)
        memory.advise("accessed_by", "host")
        memory.prefetch("host", stream)
        stream.synchronize()
        assert (memory.read_mostly, memory.preferred_location, memory.last_prefetch) == (True, 1, "host")
        assert sorted(map(str, memory.accessed_by)) == ["1", "host"]
        memory.prefetch(other)
        device.default_stream.synchronize()
        assert memory.last_prefetch == 1
        memory.advise("read_mostly", undo=True)
        memory.advise("preferred_location", other, undo=True)
        assert (memory.read_mostly, memory.preferred_location) == (False, None)
        with pytest.raises(ValueError, match="one of 'read_mostly'"):
            memory.advise("fast")
        with pytest.raises(TypeError, match="'host'"):
            memory.prefetch(1)
        with pytest.raises(TypeError, match="stream must be"):
            memory.prefetch("host", 5)
    for wrong in -1, (2, -1):
        with pytest.raises(ValueError):
            device.managed(wrong)
    with pytest.raises(TypeError, match="Python objects"):
        device.managed(1, object)
