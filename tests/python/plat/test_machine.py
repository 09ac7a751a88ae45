# SPDX-License-Identifier: Apache-2.0
"""Random programs of ranges, memory and mappings, against a model of what must be held and what must be read."""
import numpy
import plat
from hypothesis import settings, strategies
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

PAGE = 2 * plat.MIB
PAGES_MAX = 8


class Machine(RuleBasedStateMachine):
    ranges, memories, mappings = Bundle("ranges"), Bundle("memories"), Bundle("mappings")

    def __init__(self):
        super().__init__()
        self.device = plat.Device(0)
        self.free = self.device.free_bytes
        self.live = []      # memories that are held by their owner or by a mapping
        self.contents = {}  # memory -> its first byte

    @rule(target=ranges, pages=strategies.integers(1, PAGES_MAX))
    def reserve(self, pages):
        return self.device.reserve(pages * PAGE)

    @rule(target=memories, pages=strategies.integers(1, 3))
    def allocate(self, pages):
        memory = self.device.allocate(pages * PAGE)
        self.live.append(memory)
        self.contents[memory] = 0
        return memory

    @rule(target=mappings, addresses=ranges, memory=memories, page=strategies.integers(0, PAGES_MAX))
    def map(self, addresses, memory, page):
        start, end = page * PAGE, page * PAGE + memory.size
        taken = any(not old.closed and old.address < addresses.address + end and
                    addresses.address + start < old.address + old.size for old in self.mapped(addresses))
        possible = not addresses.closed and not memory.closed and end <= addresses.size and not taken
        try:
            mapping = addresses.map(memory, start)
        except (plat.PlatError, ValueError):
            assert not possible
            return None
        assert possible
        return mapping

    @staticmethod
    def mapped(addresses):
        return addresses._living()

    @rule(mapping=mappings, value=strategies.integers(0, 255))
    def write(self, mapping, value):
        if mapping is None or mapping.closed:
            return
        mapping.from_numpy(numpy.array([value], numpy.uint8))
        self.contents[mapping.memory] = value

    @rule(mapping=mappings)
    def read(self, mapping):
        if mapping is not None and not mapping.closed:
            assert mapping.to_numpy(1)[0] == self.contents[mapping.memory]

    @rule(mapping=consumes(mappings))
    def unmap(self, mapping):
        if mapping is not None:
            mapping.close()

    @rule(memory=consumes(memories))
    def free_memory(self, memory):
        memory.close()

    @rule(addresses=consumes(ranges))
    def release(self, addresses):
        addresses.close()
        assert not self.mapped(addresses)

    @invariant()
    def the_account_is_exact(self):
        def held(memory):
            everywhere = [child for child in self.device._children if isinstance(child, plat.Reservation)]
            return not memory.closed or any(m.memory is memory for a in everywhere for m in self.mapped(a))
        self.live = [memory for memory in self.live if held(memory)]
        assert self.free - self.device.free_bytes == sum(memory.size for memory in self.live)

    def teardown(self):
        self.device.close()
        with plat.Device(0) as device:
            assert device.free_bytes == self.free


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
