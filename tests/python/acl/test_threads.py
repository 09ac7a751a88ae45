# SPDX-License-Identifier: Apache-2.0
"""A call that blocks lets other threads run: shown by a handshake, which would never end otherwise."""
import threading

import acl
import pytest
from conftest import good

rt = acl.rt


@pytest.mark.parametrize("wait", ["synchronize_stream", "synchronize_event", "synchronize_device", "destroy_stream"])
def test_a_blocked_thread_is_freed_by_another(block, wait):
    held = good(rt.create_stream())
    event = good(rt.create_event())
    good(rt.value_wait(block, 1, acl.ACL_STREAM_WAIT_VALUE_EQ, held))
    good(rt.record_event(event, held))
    argument = {"synchronize_event": (event,), "synchronize_device": ()}.get(wait, (held,))
    entering, results = threading.Event(), []

    def blocked():
        good(rt.set_device(0))
        entering.set()
        results.append(getattr(rt, wait)(*argument))
        good(rt.reset_device(0))

    thread = threading.Thread(target=blocked)
    thread.start()
    entering.wait()
    # With the lock held inside the call, no line of Python could run any more once the thread is in it.
    free = good(rt.create_stream())
    good(rt.value_write(block, 1, 0, free))
    thread.join()
    assert results == [0]
    for stream in {held, free} - ({held} if wait == "destroy_stream" else set()):
        good(rt.destroy_stream(stream))
    good(rt.destroy_event(event))


def test_errors_belong_to_their_thread(block):
    rt.free(12345)
    mine = acl.get_recent_err_msg()
    seen = []
    thread = threading.Thread(target=lambda: seen.append(acl.get_recent_err_msg()))
    thread.start()
    thread.join()
    assert seen == [""] and acl.get_recent_err_msg() == mine
