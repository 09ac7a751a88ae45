# SPDX-License-Identifier: Apache-2.0
"""Notifies and events between processes, from Python."""
import multiprocessing

import acl
import pytest

rt = acl.rt


def good(result):
    values = result if isinstance(result, tuple) else (result,)
    assert values[-1] == 0, acl.get_recent_err_msg()
    return values[0]


def other_side(pipe):
    good(rt.set_device(0))
    ping = good(rt.create_notify(0))
    pipe.send(good(rt.notify_get_export_key(ping, 2)))
    pong = good(rt.notify_import_by_key(pipe.recv(), 0))
    event = good(rt.create_event_ex_with_flag(0x40))
    pipe.send(good(rt.ipc_get_event_handle(event)))
    good(rt.wait_and_reset_notify(ping, 0, 0))
    good(rt.record_event(event, 0))
    good(rt.record_notify(pong, 0))
    good(rt.synchronize_stream(0))
    pipe.recv()


def test_two_processes_wait_for_each_other():
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=other_side, args=(there,))
    process.start()
    pong = good(rt.create_notify(0))
    ping = good(rt.notify_import_by_key(here.recv(), 0))
    here.send(good(rt.notify_get_export_key(pong, 2)))
    event = good(rt.ipc_open_event_handle(here.recv()))
    good(rt.record_notify(ping, 0))
    good(rt.wait_and_reset_notify(pong, 0, 0))
    good(rt.synchronize_stream(0))
    good(rt.synchronize_event(event))
    here.send(0)
    process.join()
    assert process.exitcode == 0
    good(rt.destroy_event(event))
    good(rt.destroy_notify(ping))
    good(rt.destroy_notify(pong))


def test_mistakes():
    notify = good(rt.create_notify(0))
    assert good(rt.get_notify_id(notify)) >= 0
    good(rt.notify_batch_reset([notify]))
    assert rt.notify_batch_reset([]) in (100000, 107000)
    assert rt.notify_import_by_key("x", 0)[-1] == 107017
    assert rt.notify_set_import_pid(notify, [1]) == 107000
    good(rt.destroy_notify(notify))
    assert rt.destroy_notify(notify) == 107017
    assert rt.cnt_notify_create(0)[-1] == 207000
    with pytest.raises(ValueError):
        rt.ipc_open_event_handle(b"short")
