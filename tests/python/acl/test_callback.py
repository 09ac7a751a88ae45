# SPDX-License-Identifier: Apache-2.0
"""Functions of Python that streams call: from the thread that serves them, and from the library's own."""
import os
import subprocess
import sys
import threading
import weakref

import acl
import pytest
from conftest import good

rt = acl.rt
UNKNOWN = 12345


class Server:
    """A thread that serves the callbacks of a stream, as a pyACL program has one."""

    def __init__(self, stream):
        self.stream, self.served = stream, True
        self.thread = good(acl.util.start_thread(self.serve, [good(rt.get_context()), 50]))
        good(rt.subscribe_report(self.thread, stream))

    def serve(self, arguments):
        context, timeout = arguments
        good(rt.set_context(context))
        while self.served:
            rt.process_report(timeout)

    def close(self):
        self.served = False
        good(rt.unsubscribe_report(self.thread, self.stream))
        assert acl.util.stop_thread(self.thread) == 0


@pytest.fixture
def server(stream):
    made = Server(stream)
    yield made
    made.close()


def test_callbacks_run_in_order_in_the_thread_that_serves(server, stream):
    seen = []
    for number in range(20):
        good(rt.launch_callback(lambda data: seen.append((data, threading.get_ident())), [number], acl.ACL_CALLBACK_BLOCK, stream))
    good(rt.synchronize_stream(stream))
    assert seen == [([number], server.thread) for number in range(20)]


def test_a_function_of_the_host_holds_the_stream(stream, block):
    entered, go_on, seen = threading.Event(), threading.Event(), []

    def work(data):
        entered.set()
        go_on.wait()
        seen.append((data, threading.get_ident() != threading.main_thread().ident))

    good(rt.launch_host_func(stream, work, "data"))
    entered.wait()
    assert good(rt.stream_query(stream)) == acl.ACL_STREAM_STATUS_NOT_READY
    go_on.set()
    good(rt.synchronize_stream(stream))
    assert seen == [("data", True)]


def test_an_exception_is_told_and_the_stream_goes_on(stream, monkeypatch):
    told, seen = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda hook: told.append((type(hook.exc_value), str(hook.exc_value))))
    good(rt.launch_host_func(stream, lambda data: 1 / 0, None))
    good(rt.launch_host_func(stream, seen.append, 1))
    good(rt.synchronize_stream(stream))
    assert told == [(ZeroDivisionError, "division by zero")] and seen == [1]


def test_function_and_data_are_kept_until_then_and_no_longer(stream):
    class Data:
        pass

    data = Data()
    gone = weakref.ref(data)
    good(rt.launch_host_func(stream, lambda data: None, data))
    assert rt.launch_host_func(UNKNOWN, lambda data: None, data) != 0
    del data
    good(rt.synchronize_stream(stream))
    assert gone() is None


def test_wrong_calls(stream):
    for wrong in (None, 5, "name"):
        with pytest.raises(TypeError):
            rt.launch_host_func(stream, wrong, None)
        with pytest.raises(TypeError):
            rt.launch_callback(wrong, None, 0, stream)
    assert rt.launch_callback(print, None, 0, stream) != 0  # nobody serves the stream
    assert "STM-" in acl.get_recent_err_msg()
    assert rt.subscribe_report(threading.get_ident(), UNKNOWN) != 0
    assert rt.unsubscribe_report(threading.get_ident(), stream) != 0
    assert rt.process_report(0) != 0
    with pytest.raises(ValueError, match="no thread"):
        acl.util.stop_thread(UNKNOWN)
    with pytest.raises(TypeError):
        acl.util.start_thread("name", [])


ENDING = """
import acl, threading
acl.init(); acl.rt.set_device(0)
stream, _ = acl.rt.create_stream()
def slow(data):
    for _ in range(200):
        sum(range(500))
for _ in range(50):
    acl.rt.launch_host_func(stream, slow, None)
def serve(data):
    acl.rt.set_device(0)
    ready.set()
    while True:
        acl.rt.process_report(-1)
ready = threading.Event()
thread, _ = acl.util.start_thread(serve, None)
acl.rt.subscribe_report(thread, stream)
ready.wait()
print("over", flush=True)
"""


@pytest.mark.parametrize("end", ["", "import sys; sys.exit(0)", "acl.finalize()"])
def test_a_program_may_end_while_work_is_queued(end):
    done = subprocess.run([sys.executable, "-B", "-c", ENDING + end], text=True, capture_output=True, timeout=200, env=os.environ)
    assert (done.returncode, done.stdout) == (0, "over\n"), done.stderr


FORKING = """
import acl, os, sys, threading
acl.init(); acl.rt.set_device(0)
stream, _ = acl.rt.create_stream()
inside, go_on = threading.Event(), threading.Event()
def wait(data):
    inside.set()
    go_on.wait()
acl.rt.launch_host_func(stream, wait, None)
inside.wait()
child = os.fork()
if child == 0:
    sys.exit(7)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
go_on.set()
acl.rt.synchronize_stream(stream)
sys.exit(status)
"""


def test_a_child_forked_during_a_callback_ends():
    done = subprocess.run([sys.executable, "-B", "-c", FORKING], text=True, capture_output=True, timeout=200, env=os.environ)
    assert done.returncode == 7, done.stderr
