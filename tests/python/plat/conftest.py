# SPDX-License-Identifier: Apache-2.0
"""What tests of plat share."""
import pytest


@pytest.fixture
def device():
    """Device 0, whose memory must be as free afterwards as it was."""
    import plat  # here, because some tests decide what it finds when it is imported

    with plat.Device(0) as made:
        before = made.free_bytes
        yield made
        for child in made._living():
            child.close()
        assert made.free_bytes == before
