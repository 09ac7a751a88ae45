# SPDX-License-Identifier: Apache-2.0
"""The trial of allocators: a good one gets through, and each kind of bad one is caught. This process never initialises ACL itself."""
import plat
import pytest


class Good:
    """plat.Pool, as the trial wants it."""

    def __init__(self, device):
        self.pool = plat.Pool(device)

    def allocate(self, size):
        return self.pool.allocate(size, tag=1)

    def free(self, block):
        block.close()

    def sleep(self):
        self.pool.sleep(1, save=True)

    def wake(self):
        self.pool.wake(1)

    def close(self):
        self.pool.close()


def test_a_pool_gets_through_when_memory_fails(plat_sleep_trial):
    for calls in "map", "malloc":
        assert plat_sleep_trial(Good, calls) > 2
    assert plat_sleep_trial(Good, most=20) == 20


def test_of_many_steps_some_are_tried():
    assert plat.sleep_trial(Good, "memcpy", 507899, most=5) == 5


class Forgetful(Good):
    def sleep(self):
        self.pool.sleep(1, save=False)


class Wakeful(Good):
    def sleep(self):
        pass

    wake = sleep


class Losing(Good):
    """Sleeps in two steps, and does not undo the first when the second fails."""

    def __init__(self, device):
        super().__init__(device)
        self.device = device

    def sleep(self):
        super().sleep()
        self.device.allocate(2 * plat.MIB).close()


class Leaking(Good):
    def close(self):
        pass

    def free(self, block):
        kept.append(block)


kept = []


@pytest.mark.parametrize("allocator, words, fails", [(Forgetful, "contents", False), (Wakeful, "as much memory", False),
                                                     (Leaking, "did not come back", False), (Losing, "sleep that failed", True)])
def test_bad_ones_are_caught(allocator, words, fails):
    with pytest.raises(plat.TrialError, match=words) as caught:
        plat.sleep_trial(allocator, "malloc")
    assert (caught.value.step > 0) == fails and caught.value.story


def test_an_allocator_that_never_asks_the_device_is_told():
    with pytest.raises(plat.TrialError, match="does not fail when it should"):
        plat.sleep_trial(Good, "export")
