# SPDX-License-Identifier: Apache-2.0
"""Snapshots of the process: contents come back, other threads wait, functions of Python are told, and what is wrong."""
import os
import threading
import time

import acl
import numpy
import pytest
from conftest import good

rt, util = acl.rt, acl.util
PID = os.getpid()
STAGES = (acl.ACL_RT_SNAPSHOT_LOCK_PRE, acl.ACL_RT_SNAPSHOT_BACKUP_PRE, acl.ACL_RT_SNAPSHOT_BACKUP_POST,
          acl.ACL_RT_SNAPSHOT_RESTORE_PRE, acl.ACL_RT_SNAPSHOT_RESTORE_POST, acl.ACL_RT_SNAPSHOT_UNLOCK_POST)


def contents(address):
    back = numpy.empty(4, numpy.uint8)
    good(rt.memcpy(util.numpy_to_ptr(back), 4, address, 4, acl.ACL_MEMCPY_DEVICE_TO_HOST))
    return back.tolist()


def snapshot():
    good(rt.snap_shot_process_lock(PID, 0))
    good(rt.snap_shot_process_backup(PID, 0))
    good(rt.snap_shot_process_restore(PID, 0))
    good(rt.snap_shot_process_unlock(PID, 0))


def test_contents_come_back(block):
    good(rt.memset(block, 4096, 5, 4))
    good(rt.snap_shot_process_lock(PID, 0))
    good(rt.snap_shot_process_backup(PID, 0))
    good(rt.memset(block, 4096, 6, 4))  # by the thread that locked
    assert contents(block) == [6] * 4
    good(rt.snap_shot_process_restore(PID, 0))
    assert contents(block) == [5] * 4
    good(rt.snap_shot_process_unlock(PID, 0))


def held_up(block, stream):
    """Calls that a lock holds up, by what they are made with: none may keep the interpreter while it waits."""
    notify, config = good(rt.create_notify(0)), rt.create_stream_config_handle()
    buffer = acl.create_data_buffer(block, 8)
    event = good(rt.create_event_ex_with_flag(acl.ACL_EVENT_IPC))
    yield from (lambda: rt.memset(block, 4096, 9, 4), lambda: rt.notify_batch_reset([notify]), lambda: rt.notify_get_export_key(notify, 0)[-1],
                lambda: rt.notify_set_import_pid(notify, [PID]), lambda: rt.ipc_get_event_handle(event)[-1],
                lambda: rt.set_stream_attribute(stream, acl.ACL_STREAM_ATTR_USER_CUSTOM_TAG, 1),
                lambda: rt.set_stream_config_opt(config, acl.ACL_RT_STREAM_PRIORITY, 1), lambda: acl.update_data_buffer(buffer, block, 4),
                lambda: rt.launch_host_func(stream, lambda data: None, None))
    good(rt.synchronize_stream(stream))
    good(rt.destroy_event(event))
    good(acl.destroy_data_buffer(buffer))
    good(rt.destroy_stream_config_handle(config))
    good(rt.destroy_notify(notify))


def state_of(thread):
    """R: it runs; S: it sleeps."""
    with open(f"/proc/self/task/{thread.native_id}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_other_threads_wait_and_the_interpreter_does_not(block, stream):
    context = good(rt.get_context())
    for call in held_up(block, stream):
        ready, locked, asked, results = threading.Event(), threading.Event(), threading.Event(), []

        def other():
            good(rt.set_context(context))
            ready.set()
            locked.wait()
            results.append(rt.get_device()[-1])  # a question: it goes on
            asked.set()
            results.append(call())

        thread = threading.Thread(target=other)
        thread.start()
        ready.wait()
        good(rt.snap_shot_process_lock(PID, 0))
        locked.set()
        assert asked.wait(60)
        # While this thread reads the file, the other may have the interpreter: it sleeps then only inside the call. Were it to keep
        # the interpreter there, this would not end.
        until = time.monotonic() + 60
        while state_of(thread) != "S" and len(results) == 1:
            assert time.monotonic() < until
        good(rt.snap_shot_process_backup(PID, 0))
        assert results == [0]
        good(rt.snap_shot_process_unlock(PID, 0))
        thread.join()
        assert results == [0, 0], acl.get_recent_err_msg()


def test_functions_are_told_of_every_stage():
    seen = []

    def told(device, data):
        seen.append((device, data))

    for stage in STAGES:
        good(rt.snap_shot_callback_register(stage, told, stage))
        assert rt.snap_shot_callback_register(stage, told, "again") == 507913
    snapshot()
    assert seen == [(0, stage) for stage in STAGES]
    for stage in STAGES:
        good(rt.snap_shot_callback_unregister(stage, told))
        assert rt.snap_shot_callback_unregister(stage, told) == 107000
    snapshot()
    assert len(seen) == len(STAGES)


def test_a_function_ends_the_call():
    for refuse in lambda device, data: 7, lambda device, data: 1 / 0:
        good(rt.snap_shot_callback_register(acl.ACL_RT_SNAPSHOT_LOCK_PRE, refuse, None))
        assert rt.snap_shot_process_lock(PID, 0) == 507912
        good(rt.snap_shot_callback_unregister(acl.ACL_RT_SNAPSHOT_LOCK_PRE, refuse))
    snapshot()


def test_what_is_wrong():
    calls = rt.snap_shot_process_lock, rt.snap_shot_process_backup, rt.snap_shot_process_restore, rt.snap_shot_process_unlock
    for call in calls:
        assert call(PID + 1, 0) == 100000 and call(PID, 1) == 100000
        for wrong in (None, 0), (PID, "x"), (1 << 40, 0):
            with pytest.raises(TypeError):
                call(*wrong)
    assert [call(PID, 0) for call in calls[1:]] == [507908, 507909, 507907]
    good(rt.snap_shot_process_lock(PID, 0))
    assert rt.snap_shot_process_lock(PID, 0) == 507906 and rt.snap_shot_process_restore(PID, 0) == 507909
    good(rt.snap_shot_process_unlock(PID, 0))
    assert rt.snap_shot_callback_register(6, print, None) == 107000 and rt.snap_shot_callback_register(-1, print, None) == 107000
    for wrong in None, 5, "print":
        with pytest.raises(TypeError):
            rt.snap_shot_callback_register(0, wrong, None)
