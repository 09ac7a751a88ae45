# SPDX-License-Identifier: Apache-2.0
"""Functions of Python that are told of starts, ends, states and failures: rightly, wrongly, and at the end of the interpreter."""
import gc
import subprocess
import sys
import textwrap
import threading
import weakref

import acl
import pytest
from conftest import PAGE, good

rt = acl.rt
NONE = 0xFFFFFFFF
ASK = (rt.get_task_id_from_exception_info, rt.get_stream_id_from_exception_info, rt.get_thread_id_from_exception_info,
       rt.get_device_id_from_exception_info, rt.get_error_code_from_exception_info)


def fail_a_task(stream):
    """What is wrong with a prefetch shows when it runs."""
    memory = good(rt.mem_alloc_managed(PAGE, acl.ACL_RT_MEM_ATTACH_GLOBAL))
    good(rt.mem_managed_prefetch_async(memory, 2 * PAGE, {"type": acl.ACL_MEM_LOCATIONTYPE_HOST}, 0, stream))
    assert rt.synchronize_stream(stream) != 0
    good(rt.free(memory))


def run(script, expected=0):
    done = subprocess.run([sys.executable, "-c", "import acl\nrt = acl.rt\n" + textwrap.dedent(script)], capture_output=True, text=True)
    assert done.returncode == expected, done.stderr
    return done.stdout, done.stderr


def test_devices_and_streams_tell_of_themselves():
    seen = []
    good(rt.reg_device_state_callback("mine", lambda *told: seen.append(told), "data"))
    good(rt.reg_stream_state_callback("mine", lambda *told: seen.append(told), "data"))
    assert rt.reg_device_state_callback("mine", print, None) != 0  # taken
    good(rt.set_device(1))
    good(rt.set_device(0))
    made = good(rt.create_stream())
    good(rt.destroy_stream(made))
    for reg in rt.reg_device_state_callback, rt.reg_stream_state_callback:
        good(reg("mine", None, None))
        good(reg("mine", None, None))  # not there any more
    good(rt.reset_device(0))
    good(rt.set_device(1))
    good(rt.reset_device(1))
    good(rt.reset_device(1))
    good(rt.set_device(0))
    good(rt.reset_device(0))
    devices = [told for told in seen if told[0] in (0, 1)]
    assert devices == [(1, acl.ACL_RT_DEVICE_STATE_SET_PRE, "data"), (1, acl.ACL_RT_DEVICE_STATE_SET_POST, "data"),
                       (0, acl.ACL_RT_DEVICE_STATE_SET_PRE, "data"), (0, acl.ACL_RT_DEVICE_STATE_SET_POST, "data")]
    assert (made, acl.ACL_RT_STREAM_STATE_CREATE_POST, "data") in seen and (made, acl.ACL_RT_STREAM_STATE_DESTROY_PRE, "data") in seen


def test_a_function_is_kept_as_long_as_it_is_registered():
    class Function:
        def __call__(self, *told):
            pass

    for reg in rt.reg_device_state_callback, rt.reg_stream_state_callback, rt.set_device_task_abort_callback:
        function = Function()
        gone = weakref.ref(function)
        good(reg("kept", function.__call__, None))
        assert reg("kept", function.__call__, None) != 0
        del function
        gc.collect()
        assert gone() is not None
        good(reg("kept", None, None))
        gc.collect()
        assert gone() is None


def test_an_abort_is_told_and_can_be_refused(stream):
    seen = []
    good(rt.set_device_task_abort_callback("watch", lambda *told: seen.append(told), 7))
    good(rt.device_task_abort(0, 1000))
    assert seen == [(0, acl.ACL_RT_DEVICE_TASK_ABORT_PRE, 1000, 7), (0, acl.ACL_RT_DEVICE_TASK_ABORT_POST, 1000, 7)]
    good(rt.set_device_task_abort_callback("watch", None, None))
    good(rt.set_device_task_abort_callback("refuse", lambda *told: 5, None))
    assert rt.device_task_abort(0, 1000) != 0
    good(rt.set_device_task_abort_callback("refuse", None, None))
    good(rt.device_task_abort(0, 1000))
    rt.synchronize_stream(stream)


def test_a_failed_task_is_told_with_what_is_known_of_it(stream):
    seen = []

    def told(info):
        seen.append([ask(info) for ask in ASK])

    kept = []
    good(rt.set_exception_info_callback(told))
    good(rt.exception_info_callback_register(kept.append))
    good(rt.exception_info_callback_register(kept.append))  # each once
    fail_a_task(stream)
    (task, stream_id, thread, device, code), = seen
    assert task >= 1 and stream_id == good(rt.stream_get_id(stream)) and device == 0 and thread and code >= 100000
    assert len(kept) == 1
    for ask in ASK:
        assert ask(0) == NONE
        for stale in kept[0], 12345:
            with pytest.raises(ValueError, match="is no exception info"):
                ask(stale)
    good(rt.set_exception_info_callback(None))
    good(rt.exception_info_callback_unregister(kept.append))
    good(rt.exception_info_callback_unregister(kept.append))
    fail_a_task(stream)
    assert len(seen) == 1 and len(kept) == 1


def test_as_many_as_there_is_room_for():
    functions = [lambda info, number=number: number for number in range(33)]
    for function in functions[:32]:
        good(rt.exception_info_callback_register(function))
    with pytest.raises(ValueError, match="no room"):
        rt.exception_info_callback_register(functions[32])
    for function in functions:
        good(rt.exception_info_callback_unregister(function))
    good(rt.exception_info_callback_register(functions[32]))
    good(rt.exception_info_callback_unregister(functions[32]))


def test_threads_register_and_take_away_at_once():
    def work(name):
        for _ in range(100):
            good(rt.reg_stream_state_callback(name, lambda *told: None, None))
            good(rt.exception_info_callback_register(work))
            good(rt.exception_info_callback_unregister(work))
            good(rt.reg_stream_state_callback(name, None, None))

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    good(rt.destroy_stream(good(rt.create_stream())))
    for thread in threads:
        thread.join()
    good(rt.exception_info_callback_unregister(work))


def test_start_and_end_call_functions(tmp_path):
    (tmp_path / "acl.json").write_text('{"a": 1}')
    out, _ = run(f"""
        other = acl.ACL_REG_TYPE_OTHER
        def begin(config, data): print("begin", config, data)
        def refuse(config, data): return 7
        def end(data): print("end", data)
        assert acl.init_callback_register(other, begin, 1) == 0
        assert acl.init_callback_register(0, refuse, None) == 0
        assert acl.init_callback_register(0, begin, None) == 500000    # one of a type
        assert acl.init({str(tmp_path / "acl.json")!r}) == 7
        assert acl.init_callback_un_register(0, refuse) == 0
        assert acl.init_callback_un_register(0, refuse) == 500000
        assert acl.init() == 0
        assert acl.init_callback_register(5, begin, "late") == 0       # called at once
        assert acl.finalize_callback_register(other, end, 2) == 0
        assert acl.finalize_callback_register(3, lambda data: 9, None) == 0
        assert acl.finalize() == 9
        print("still here")
        assert acl.finalize_callback_un_register(3, print) == 500000   # another function
        """)
    lines = out.splitlines()
    assert lines[0] == 'begin {"a": 1} 1' and "begin  late" in lines and lines[-1] == "still here" and lines.count("end 2") == 1


def test_a_function_that_raises_has_failed_and_says_so():
    out, error = run("""
        def broken(config, data): raise KeyError("mine")
        assert acl.init_callback_register(0, broken, None) == 0
        assert acl.init() == acl.ACL_ERROR_FAILURE
        assert acl.init_callback_un_register(0, broken) == 0
        assert acl.init_callback_register(0, lambda config, data: "text", None) == 0
        assert acl.init() == acl.ACL_ERROR_FAILURE
        """)
    assert "KeyError: 'mine'" in error and out == ""


def test_the_interpreter_ends_with_functions_registered():
    out, error = run("""
        assert acl.init() == 0 and rt.set_device(0) == 0
        assert rt.reg_stream_state_callback("s", lambda *told: print("told"), None) == 0
        assert rt.reg_device_state_callback("d", lambda *told: print("told"), None) == 0
        assert rt.exception_info_callback_register(lambda info: print("told")) == 0
        assert acl.finalize_callback_register(0, lambda data: print("told"), None) == 0
        """)
    assert "Traceback" not in error


def test_what_is_no_function():
    for register in (lambda f: rt.set_exception_info_callback(f), lambda f: rt.exception_info_callback_register(f),
                     lambda f: rt.reg_device_state_callback("x", f, None), lambda f: acl.init_callback_register(0, f, None),
                     lambda f: acl.finalize_callback_register(0, f, None)):
        with pytest.raises(TypeError):
            register("no function")
    with pytest.raises(ValueError, match="NUL"):
        rt.reg_device_state_callback("a\0b", print, None)
    with pytest.raises(TypeError):
        rt.reg_device_state_callback(None, print, None)
