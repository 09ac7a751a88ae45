# SPDX-License-Identifier: Apache-2.0
"""A process with ACL and device 0; every test must give back what it took."""
import acl
import pytest

MIB = 1 << 20
PAGE = 2 * MIB
PROP = {"handleType": 0, "allocationType": 0, "memAttr": acl.ACL_HBM_MEM_HUGE, "location": {"id": 0, "type": 1}, "reserve": 0}


@pytest.fixture(scope="session", autouse=True)
def initialised():
    assert acl.init() == 0
    yield
    assert acl.finalize() == 0


@pytest.fixture(autouse=True)
def device(initialised):
    assert acl.rt.set_device(0) == 0
    before = acl.rt.get_mem_info(acl.ACL_HBM_MEM)
    yield 0
    assert acl.rt.get_mem_info(acl.ACL_HBM_MEM) == before
    assert acl.rt.reset_device(0) == 0


def good(result):
    """The values of a call that succeeded."""
    ret = result[-1] if isinstance(result, tuple) else result
    assert ret == 0, acl.get_recent_err_msg()
    if not isinstance(result, tuple):
        return None
    return result[0] if len(result) == 2 else result[:-1]


@pytest.fixture
def stream(device):
    made = good(acl.rt.create_stream())
    yield made
    good(acl.rt.destroy_stream(made))


@pytest.fixture
def block(device):
    """4 KiB of device memory."""
    address = good(acl.rt.malloc(4096, acl.ACL_MEM_MALLOC_HUGE_FIRST))
    yield address
    good(acl.rt.free(address))


@pytest.fixture
def host(device):
    """4 KiB of page-locked host memory."""
    address = good(acl.rt.malloc_host(4096))
    yield address
    good(acl.rt.free_host(address))
