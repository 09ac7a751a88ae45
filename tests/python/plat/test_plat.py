# SPDX-License-Identifier: Apache-2.0
"""The package plat: ownership, errors, data, and everything given back."""
import ast
import copy
import doctest
import pathlib
import pickle
import re

import acl
import numpy
import plat
import pytest

PAGE = 2 * plat.MIB
NO_MEMORY = 2  # PLAT_POOL_NO_MEMORY


@pytest.mark.parametrize("module", ["plat", "plat._device", "plat._pool", "plat._arena", "plat._kv_cache"])
def test_the_examples_of_the_documentation(module):
    result = doctest.testmod(__import__(module, fromlist=["_"]))
    assert result.attempted > 0 and result.failed == 0


def test_closing_a_device_closes_everything_made_from_it_in_order():
    with plat.Device(0) as outer:
        before = outer.free_bytes
        device = plat.Device(0)
        memory, addresses = device.allocate(PAGE), device.reserve(PAGE)
        mapping, stream, event = addresses.map(memory), device.stream(), device.event()
        pool = plat.Pool(device)
        block = pool.allocate(1000)
        device.close()
        assert all(owner.closed for owner in (memory, addresses, mapping, stream, event, pool, block))
        device.close()
        assert outer.free_bytes == before


def test_what_is_forgotten_is_given_back(device):
    before = device.free_bytes
    device.reserve(PAGE).map(device.allocate(PAGE))
    assert device.free_bytes == before


def test_an_error_in_the_block_comes_out_and_everything_goes_back(device):
    before = device.free_bytes
    with pytest.raises(KeyError):
        with device.reserve(PAGE) as addresses, device.allocate(PAGE) as memory, addresses.map(memory):
            assert device.free_bytes == before - PAGE
            raise KeyError
    assert device.free_bytes == before


def test_memory_closed_before_its_mapping_lives_until_that_goes(device):
    addresses, memory = device.reserve(PAGE), device.allocate(PAGE)
    mapping = addresses.map(memory)
    memory.close()
    mapping.fill(3)
    assert mapping.to_numpy(2).tolist() == [3, 3]
    addresses.close()
    assert mapping.closed


def test_errors_carry_what_the_message_says(device):
    with pytest.raises(plat.PlatError) as caught:
        device.reserve(0)
    error = caught.value
    assert error.code == acl.ACL_ERROR_RT_PARAM_INVALID or error.code == acl.ACL_ERROR_INVALID_PARAM
    assert re.fullmatch(r"[A-Z]+-[\w-]+", error.rule) and error.function == "aclrtReserveMemAddress"
    assert error.parameter == "size" and "0" in error.values and error.hint
    again = pickle.loads(pickle.dumps(error))
    assert (again.rule, again.code, str(again)) == (error.rule, error.code, str(error))


def test_a_text_that_is_not_ours_is_kept_whole():
    error = plat.PlatError(507899, "EL0001: something of the driver's")
    assert (error.code, error.rule, error.message) == (507899, "", "EL0001: something of the driver's")
    assert "507899" in str(plat.PlatError(507899, ""))


def test_closed_things_refuse(device):
    memory = device.allocate(PAGE)
    addresses = device.reserve(PAGE)
    mapping = addresses.map(memory)
    mapping.close()
    for use in (lambda: mapping.fill(0), lambda: mapping.to_numpy(), lambda: mapping.from_numpy([1])):
        with pytest.raises(ValueError, match="closed"):
            use()
    memory.close()
    with pytest.raises(ValueError, match="closed"):
        addresses.map(memory)
    addresses.close()
    with pytest.raises(ValueError, match="closed"):
        addresses.map(device.allocate(PAGE))
    with pytest.raises(ValueError, match="closed"):
        with addresses:
            pass


def test_data_there_and_back(device):
    with device.reserve(PAGE) as addresses, device.allocate(PAGE) as memory, addresses.map(memory) as mapping:
        matrix = numpy.random.default_rng(1).random((50, 70))
        mapping.from_numpy(matrix[:, ::2], offset=64)
        assert (mapping.to_numpy((50, 35), float, offset=64) == matrix[:, ::2]).all()
        assert mapping.to_numpy().nbytes == PAGE
        mapping.from_numpy(numpy.empty(0))
        for offset, count in (PAGE, 1), (-1, 1), (0, PAGE + 1):
            with pytest.raises(ValueError, match="not inside"):
                mapping.to_numpy(count, offset=offset)


def test_the_host_is_kept_out(device):
    with device.reserve(PAGE) as addresses, device.allocate(PAGE) as memory, addresses.map(memory) as mapping:
        with pytest.raises(BufferError, match="PLAT_HOST_ACCESS"):
            mapping.view()
        with pytest.raises(BufferError):
            numpy.from_dlpack(mapping)
        with pytest.raises(BufferError):
            mapping.__array_interface__


def test_streams_have_priorities(device):
    with device.stream(priority=0) as first, device.stream(7) as last, device.stream() as other:
        assert [acl.rt.stream_get_priority(each.handle) for each in (first, last, other)] == [(0, 0), (7, 0), (0, 0)]
    for wrong, error in (-1, ValueError), (8, ValueError), ("high", TypeError):
        with pytest.raises(error):
            device.stream(priority=wrong)


def test_streams_and_events_in_order(device):
    with device.reserve(PAGE) as addresses, device.allocate(PAGE) as memory, addresses.map(memory) as mapping:
        with device.stream() as first, device.stream() as second, device.event() as event:
            mapping.fill(0)
            acl.rt.value_wait(mapping.address, 1, acl.ACL_STREAM_WAIT_VALUE_EQ, first.handle)
            first.fill(mapping, 4)
            event.record(first)
            second.wait(event)
            assert not first.done and not second.done
            with device.stream() as third:
                acl.rt.value_write(mapping.address, 1, 0, third.handle)
                third.synchronize()
            second.synchronize()
            event.synchronize()
            first.synchronize()
            assert first.done and mapping.to_numpy(1)[0] == 4
        device.synchronize()


def test_a_pool(device):
    with plat.Pool(device, limit_bytes=8 * plat.MIB) as pool:
        with pool.allocate(1000) as block:
            block.from_numpy(numpy.arange(250, dtype=numpy.int32))
            assert block.to_numpy(250, numpy.int32)[-1] == 249 and block.address % 64 == 0
            assert pool.stats["used_bytes"] >= 1000
        with pytest.raises(plat.PoolError) as caught:
            pool.allocate(64 * plat.MIB)
        assert caught.value.code == NO_MEMORY and caught.value.status and caught.value.message
        assert pickle.loads(pickle.dumps(caught.value)).status == caught.value.status
        with device.stream() as stream:
            block = pool.allocate(1 * plat.MIB, stream)
            stream.fill(block, 1)
            block.close()
        pool.trim()
        assert pool.stats["used_bytes"] == 0


def test_a_pool_and_a_stream_close_in_any_order(device):
    for first in "pool", "stream":
        pool, stream = plat.Pool(device), device.stream()
        block = pool.allocate(5000, stream)
        stream.fill(block, 1)
        (pool if first == "pool" else stream).close()
        (stream if first == "pool" else pool).close()
        assert block.closed


def test_another_thread_uses_the_device(device):
    import threading
    seen = []

    def work():
        device.use()
        seen.append(device.free_bytes)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [device.free_bytes]


def test_owners_are_neither_copied_nor_pickled(device):
    with device.reserve(PAGE) as addresses, device.allocate(PAGE) as memory, device.stream() as stream, plat.Pool(device) as pool:
        for owner in (device, addresses, memory, stream, pool, pool.allocate(8), addresses.map(memory)):
            for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises(TypeError, match="share"):
                    duplicate(owner)
        assert pickle.loads(pickle.dumps(memory.share())).token == memory.share().token


def test_the_names_of_the_package_are_the_same_for_type_checkers():
    tree = ast.parse(pathlib.Path(plat.__file__).read_text())
    seen = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {node.module: sorted(alias.name for alias in node.names) for node in seen.body}
    assert imported == {home: sorted(names) for home, names in plat._HOMES.items()}
    assert all(hasattr(plat, name) for name in plat.__all__)
    with pytest.raises(AttributeError, match="Nothing"):
        plat.Nothing
