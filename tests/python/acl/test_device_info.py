# SPDX-License-Identifier: Apache-2.0
"""What devices, streams and the process say of themselves, from Python."""
import acl
import pytest

rt = acl.rt


def good(result):
    values = result if isinstance(result, tuple) else (result,)
    assert values[-1] == 0, acl.get_recent_err_msg()
    return values[0] if len(values) == 2 else values[:-1]


@pytest.fixture(autouse=True)
def device():
    good(rt.set_device(0))
    yield
    good(rt.reset_device_force(0))


def test_ids_are_the_same_without_a_list_of_visible_devices():
    for name in ("get_logic_dev_id_by_user_dev_id", "get_user_dev_id_by_logic_dev_id", "get_logic_dev_id_by_phy_dev_id",
                 "get_phy_dev_id_by_logic_dev_id", "get_user_dev_id_by_phy_dev_id", "get_phy_dev_id_by_user_dev_id"):
        convert = getattr(rt, name)
        assert good(convert(1)) == 1
        assert convert(-1)[-1] == 107000
        assert convert(64)[-1] == 107001


def test_identity():
    assert len(good(rt.device_get_uuid(0))) == 16
    assert good(rt.device_get_uuid(0)) != good(rt.device_get_uuid(1))
    text = good(rt.device_get_pci_bus_id(1))
    assert good(rt.device_get_by_pci_bus_id(text)) == 1
    assert rt.get_devices_topo(0, 1)[-1] == 207000


def test_attributes():
    assert good(rt.get_device_info(0, 601)) == 2201
    assert good(rt.get_device_info(0, 301)) == good(rt.get_mem_info(1))[1]
    assert rt.get_device_info(0, 101)[-1] == 207000
    assert acl.get_device_capability(0, 0)[-1] == 207000
    assert good(rt.get_device_capability(0, 1)) == 0
    assert good(acl.get_cann_attribute_list()) == [0, 1]
    assert good(acl.get_cann_attribute(0)) == 1
    assert acl.sys_get_cann_version(99)[-1] == 100000
    assert good(rt.query_device_status(0)) == 0
    assert good(rt.get_device_utilization_rate(0))["memory_utilization"] == -1


def test_limits():
    good(rt.device_set_limit(2, 40000))
    assert good(rt.device_get_limit(2)) == 49152
    assert rt.get_device_res_limit(0, 0)[-1] == 207000
    assert rt.set_device_res_limit(0, 2, 1) == 107000


def test_streams():
    stream = good(rt.create_stream_with_config(3, 1))
    assert good(rt.stream_get_priority(stream)) == 3
    assert good(rt.stream_get_flags(stream)) == 1
    assert good(rt.stream_get_id(stream)) >= 0
    good(rt.set_stream_attribute(stream, 5, 9))
    assert good(rt.get_stream_attribute(stream, 5)) == 7
    with pytest.raises(ValueError):
        rt.set_stream_attribute(stream, 3, 1 << 32)
    good(rt.set_stream_overflow_switch(stream, 1))
    assert good(rt.get_stream_overflow_switch(stream)) == 1
    event = good(rt.create_event_with_flag(1))
    good(rt.stream_wait_event_with_flag(stream, event, 0, 0))
    good(rt.stream_abort(stream))
    good(rt.synchronize_stream(stream))
    assert rt.stream_stop(0) == 107000
    good(rt.record_event_with_flag(event, stream, 0))
    good(rt.synchronize_event(event))
    good(rt.device_task_abort(0, 0))


def test_the_process():
    assert good(rt.get_primary_ctx_state(0)) == 1
    good(rt.set_sys_param_opt(0, 2))
    assert good(rt.get_sys_param_opt(0)) == 2
    assert rt.ctx_get_sys_param_opt(0)[-1] == 107021
    assert rt.get_last_error(0) == 107021
    assert rt.peek_at_last_error(0) == 0
