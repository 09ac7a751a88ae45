# SPDX-License-Identifier: Apache-2.0
"""The module mstx, with real tools that write down what they hear."""
import os
import pathlib
import threading

import mstx
import pytest

LIBRARIES = pathlib.Path(os.environ["MSTX_TEST_LIBRARIES"])


def tool(name):
    return str(LIBRARIES / f"libmstx_tool_{name}.so")


@pytest.fixture
def heard(tmp_path, monkeypatch):
    """A function that returns what the tools wrote so far."""
    log = tmp_path / "heard"
    monkeypatch.setenv("MSTX_TEST_LOG", str(log))
    return lambda: log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def attached(heard):
    tool_id = mstx.attach(tool("ext"))
    yield heard
    mstx.detach(tool_id)
    mstx.remember(False)


def test_nothing_happens_with_nobody_there():
    mstx.mark("x")
    assert mstx.range_start("x") == 0
    mstx.range_end(0)
    assert mstx.get_tool_id() == mstx.TOOL_INVALID_ID
    assert mstx.Domain("d").handle == 0
    assert mstx.heap_register(0x1000, 64) == 0
    assert mstx.regions_register(0, [(0x1000, 64)]) == [0]
    assert mstx.tools() == []
    mstx.heap_reset(0)


def test_marks_carry_text_and_stream(attached):
    mstx.mark("hello", 7)
    mstx.mark("plain")
    mstx.mark("zero", stream=0)
    assert attached()[-3:] == ["ext mark hello 7", "ext mark plain 0", "ext mark zero 0"]


def test_range_ids_keep_all_their_bits(attached):
    range_id = mstx.range_start("work", 5)
    assert range_id > 0xFFFFFFFF
    mstx.range_end(range_id)
    assert attached()[-2:] == ["ext range_start work", "ext range_end 11223344556677"]


def test_a_range_around_a_block(attached):
    with mstx.range("block") as range_id:
        assert range_id > 0
    with pytest.raises(KeyError):
        with mstx.range("fails", domain=mstx.Domain("d")):
            raise KeyError
    assert attached()[-4:] == ["ext range_end 11223344556677", "ext domain_create d",
                               "ext domain_range_start fails", "ext domain_range_end"]


def test_domains(attached):
    domain = mstx.Domain("pool")
    assert domain.handle != 0 and domain.name == "pool"
    assert mstx.Domain("pool").handle == domain.handle
    mstx.mark("inside", domain=domain)
    assert attached()[-1] == "ext domain_mark set inside"
    domain.destroy()
    assert domain.handle == 0
    domain.destroy()


def test_memory(attached):
    heap = mstx.heap_register(0x10000, 1024, device=1)
    assert heap > 0xFFFFFFFF
    handles = mstx.regions_register(heap, [(0x10000, 64), (0x10040, 64)])
    assert len(set(handles)) == 2 and 0 not in handles
    mstx.permissions_assign(mstx.PERMISSION_READ | mstx.PERMISSION_WRITE, handles=handles)
    mstx.heap_name(heap, "arena")
    mstx.region_name(handles[0], "block")
    mstx.region_resize(handles[0], 32)
    mstx.mark_initialized([(0x10000, 32)])
    mstx.regions_unregister(handles[:1], pointers=[0x10040])
    mstx.heap_unregister(heap)
    assert attached()[-9:] == [
        "ext heap_register 1024",
        "ext regions_register heap type 0 count 2 handles yes size 64",
        "ext permissions_assign 3",
        "ext heap_name arena",
        # Resizing, to a tool that does not know it.
        "ext regions_unregister 1 by handle",
        "ext regions_register heap type 0 count 1 handles yes size 32",
        "ext permissions_assign 3",
        "ext regions_unregister 2 by handle",
        "ext heap_unregister",
    ]
    with pytest.raises(ValueError):
        mstx.heap_reset(heap)


@pytest.mark.parametrize("call", [
    lambda: mstx.mark(),
    lambda: mstx.mark(None),
    lambda: mstx.mark(5),
    lambda: mstx.mark("x", "stream"),
    lambda: mstx.mark("x", 1.5),
    lambda: mstx.mark("x", -1),
    lambda: mstx.mark("x", 1 << 64),
    lambda: mstx.mark("x", domain="pool"),
    lambda: mstx.range_start(b"\xff"),
    lambda: mstx.range("x", domain=3),
    lambda: mstx.range_end("1"),
    lambda: mstx.range_end(),
    lambda: mstx.Domain(None),
    lambda: mstx.heap_register("0x1000", 5),
    lambda: mstx.regions_register(0, [0x1000]),
    lambda: mstx.regions_unregister(handles=5),
    lambda: mstx.attach(None),
])
def test_wrong_types_are_type_errors(call):
    with pytest.raises(TypeError):
        call()


def test_text_with_a_nul_is_refused():
    with pytest.raises(ValueError):
        mstx.mark("a\0b")
    with pytest.raises(ValueError):
        mstx.Domain("a\0b")


def test_tools_come_and_go(heard):
    a = mstx.attach(tool("a"))
    b = mstx.attach(tool("ext"))
    assert mstx.tools() == [(a, tool("a"), mstx.TOOL_MSSANITIZER_ID), (b, tool("ext"), 0)]
    assert mstx.get_tool_id() == mstx.TOOL_MSSANITIZER_ID
    with pytest.raises(RuntimeError):
        mstx.attach(tool("a"))
    mstx.detach(a)
    mstx.detach(b)
    with pytest.raises(ValueError):
        mstx.detach(b)
    with pytest.raises(RuntimeError):
        mstx.attach("/nowhere.so")
    with pytest.raises(RuntimeError):
        mstx.attach(tool("none"))
    mstx.remember(False)


def test_the_interpreter_is_free_during_a_call(attached):
    """Four threads mark at once; with the lock held during a call they still would, but attaching would stall them."""
    threads = [threading.Thread(target=lambda: [mstx.mark("t") for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        mstx.detach(mstx.attach(tool("b")))
    for thread in threads:
        thread.join()
    assert sum(line == "ext mark t 0" for line in attached()) == 200
