"""Where the host may touch device memory, Python sees it without a copy."""
import numpy
import plat
import pytest

PAGE = 2 * plat.MIB


@pytest.fixture
def mapping():
    with plat.Device(0) as device, device.reserve(PAGE) as addresses, device.allocate(PAGE) as memory:
        with addresses.map(memory) as made:
            yield made


@pytest.mark.parametrize("see", [lambda m: numpy.frombuffer(m.view(), numpy.uint8), numpy.asarray, numpy.from_dlpack],
                         ids=["buffer", "array_interface", "dlpack"])
def test_views_are_the_memory_itself(mapping, see):
    mapping.from_numpy(numpy.arange(10, dtype=numpy.uint8))
    seen = see(mapping)
    assert seen.nbytes == PAGE and seen[:10].tolist() == list(range(10))
    mapping.fill(7)
    assert seen[0] == 7


def test_writes_arrive(mapping):
    mapping.view()[3] = 9
    assert mapping.to_numpy(4).tolist() == [0, 0, 0, 9]
