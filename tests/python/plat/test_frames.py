# SPDX-License-Identifier: Apache-2.0
"""The lines of Python in what the plat command says of a program that it started."""
import json
import os
import subprocess
import sys
import textwrap

import pytest

PLAT = os.environ["PLAT_COMMAND"]
BEGIN = """\
import ctypes
import threading
acl = ctypes.CDLL("libascendcl.so")
def malloc(size):
    out = ctypes.c_void_p()
    assert acl.aclrtMalloc(ctypes.byref(out), ctypes.c_size_t(size), 0) == 0
acl.aclInit(None)
acl.aclrtSetDevice(0)
"""


def run(*arguments):
    done = subprocess.run([PLAT, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    return done


def program(folder, body, name="x.py"):
    path = folder / name
    path.write_text(BEGIN + textwrap.dedent(body), encoding="utf-8")
    return path


def stacks(path, *options):
    """Of every leak: (function, file, line), innermost first."""
    done = run("check", "--json", *options, "--", sys.executable, path)
    findings = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1, done.stderr
    return [[(frame["function"], os.path.basename(frame["file"]), frame["line"]) for frame in finding["objects"][0]["allocated"]["stack"]]
            for finding in findings if finding.get("rule") == "INSP-Leak-device-block"]


@pytest.mark.parametrize("way", ["fp", "unwind"])
def test_a_leak_is_named_by_the_line_of_python(tmp_path, way):
    path = tmp_path / "x.py"
    path.write_text("import acl\n"
                    "def take():\n"
                    "    return acl.rt.malloc(1000, 0)\n"
                    "acl.init(), acl.rt.set_device(0)\n"
                    "kept = take()\n")
    assert stacks(path, "--stacks", way) == [[("take", "x.py", 3), ("<module>", "x.py", 5)]]
    text = run("check", "--", sys.executable, path).stderr
    assert f"#0 take at {path}:3" in text and "_PyEval_EvalFrameDefault" not in text


def test_functions_of_classes_and_threads_are_named_and_other_letters_kept(tmp_path):
    path = program(tmp_path, """\
        class Größe:
            def take(self):
                acl.aclrtSetDevice(0)
                malloc(10)
        threading.Thread(target=lambda: Größe().take()).start()
        """, "ü名.py")
    assert stacks(path) == [[("malloc", "ü名.py", 6), ("Größe.take", "ü名.py", 12), ("<lambda>", "ü名.py", 13)]]


def test_code_that_comes_and_goes_is_told_apart(tmp_path):
    path = program(tmp_path, """\
        for i in range(40):
            exec(compile("malloc(10)", f"made_{i:02}.py", "exec"), {"malloc": malloc})
        """)
    assert sorted(stack[1] for stack in stacks(path)) == [("<module>", f"made_{i:02}.py", 1) for i in range(40)]


def test_the_innermost_lines_of_a_deep_stack_are_kept(tmp_path):
    path = program(tmp_path, """\
        def down(n):
            malloc(10) if n == 0 else down(n - 1)
        down(100)
        """)
    (stack,) = stacks(path)
    assert stack == [("malloc", "x.py", 6)] + [("down", "x.py", 10)] * 31


def test_a_forked_child_names_its_lines_too(tmp_path):
    path = program(tmp_path, """\
        import os
        malloc(10)
        if os.fork() == 0:
            acl.aclInit(None)
            acl.aclrtSetDevice(0)
            malloc(20)
            os._exit(0)
        os.wait()
        """)
    assert sorted(stack[1] for stack in stacks(path)) == [("<module>", "x.py", 10), ("<module>", "x.py", 14)]


def folded(folder, trace, *options):
    done = run("export", "folded", *options, trace, "-o", folder / "folded")
    assert done.returncode == 0, done.stderr
    return (folder / "folded").read_text()


def test_exports_and_reports_have_them_and_all_frames_those_of_the_interpreter(tmp_path):
    path = program(tmp_path, "malloc(4096)\n")
    trace = tmp_path / "trace"
    assert run("record", "-o", trace, "--", sys.executable, path).returncode == 0
    assert "x.py:6" in run("report", trace).stdout
    assert folded(tmp_path, trace) == "<module> (x.py:9);malloc (x.py:6) 4096\n"
    every = folded(tmp_path, trace, "--all-frames")
    assert every.startswith("<module> (x.py:9);malloc (x.py:6);") and "in libffi.so" in every


def test_a_program_without_stacks_has_none(tmp_path):
    path = program(tmp_path, "malloc(10)\n")
    assert stacks(path, "--stacks", "none") == [[]]
