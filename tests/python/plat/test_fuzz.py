# SPDX-License-Identifier: Apache-2.0
"""Sequences of calls with values that make no sense, on things that may be closed: every answer is a value or an exception, and
afterwards all memory is back. A crash ends the test's process, which is a failure too."""
import gc
import os
import random
import threading

import numpy
import plat
from hypothesis import HealthCheck, Phase, settings, strategies
from hypothesis.stateful import Bundle, RuleBasedStateMachine, multiple, rule

import nasty

PAGE = 2 * plat.MIB
values = strategies.sampled_from(range(len(nasty.VALUES)))


class AnyCalls(RuleBasedStateMachine):
    things = Bundle("things")

    def __init__(self):
        super().__init__()
        self.outer = plat.Device(0)
        self.outer.use()
        self.devices = []
        gc.collect()
        self.free = self.outer.free_bytes

    @rule(target=things)
    def a_device(self):
        self.outer.use()
        device = plat.Device(0)
        self.devices.append(device)
        if self.outer.free_bytes < 32 * plat.MIB:
            return device
        addresses, memory, pool, stream = device.reserve(4 * PAGE), device.allocate(PAGE), plat.Pool(device), device.stream()
        return multiple(device, addresses, memory, addresses.map(memory), pool, stream, device.event(), pool.allocate(1000, stream),
                        pool.allocate(1000, purpose="host"), pool.allocate(PAGE, tag=1), pool.arena(), pool.kv_cache(1000, 100),
                        pool.with_guards(), memory.share())

    @rule(target=things, thing=things, which=strategies.integers(0, 1000), given=strategies.lists(values, max_size=4))
    def values_that_make_no_sense(self, thing, which, given):
        return self.kept(thing, which, [nasty.VALUES[each] for each in given])

    @rule(target=things, thing=things, which=strategies.integers(0, 1000), others=strategies.lists(things, max_size=3))
    def things_of_the_wrong_kind(self, thing, which, others):
        return self.kept(thing, which, others)

    def kept(self, thing, which, arguments):
        self.outer.use()  # things that were closed may have taken the thread's device with them
        names = nasty.names(thing)
        result = nasty.call(thing, names[which % len(names)], arguments)
        made = result if isinstance(result, list) else [result]
        return multiple(*[each for each in made if type(each).__module__.startswith("plat.") and not isinstance(each, Exception)])

    @rule(thing=things)
    def close(self, thing):
        self.outer.use()
        if hasattr(thing, "close"):
            nasty.call(thing, "close", [])

    def teardown(self):
        super().teardown()
        self.outer.use()
        gc.collect()
        for device in self.devices:
            device.close()
        self.outer.use()
        assert self.outer.free_bytes == self.free
        self.outer.close()


TestAnyCalls = AnyCalls.TestCase
# The same sequences each time, unless somebody asks for more of them; they are not made shorter, which takes minutes.
EXAMPLES = int(os.environ.get("PLAT_FUZZ_EXAMPLES", "0"))
TestAnyCalls.settings = settings(max_examples=EXAMPLES or 40, derandomize=not EXAMPLES, stateful_step_count=30, deadline=None, database=None,
                                 phases=[Phase.generate], report_multiple_bugs=False, suppress_health_check=list(HealthCheck))


def test_many_threads_on_the_same_things():
    """Each thread calls what it likes; one of them closes. (Contents are left alone: work that a
    thread gives to a block while another closes its pool is a mistake that close answers with an error.) The seed makes the choices the same, though not their order."""
    for seed in range(8):
        with plat.Device(0) as outer:
            before = outer.free_bytes
            device = plat.Device(0)
            pool, stream = plat.Pool(device, limit_bytes=64 * plat.MIB), device.stream()
            arena, cache = pool.arena(), pool.kv_cache(1000, 5000)
            wrong = []
            start = threading.Barrier(4)

            def work(number):
                choose = random.Random(f"{seed} {number}")
                blocks = []
                calls = [lambda: blocks.append(pool.allocate(choose.randrange(1, 100000), choose.choice((None, stream)))),
                         lambda: blocks and blocks.pop(choose.randrange(len(blocks))).close(),
                         lambda: arena.allocate(100), arena.reset, lambda: cache.set_tokens(choose.randrange(5000)),
                         lambda: pool.stats, pool.trim, lambda: pool.with_statistics().allocate(10), pool.flush_thread]
                try:
                    device.use()
                    start.wait()
                    for step in range(60):
                        if number == 0 and step == 40:
                            pool.close()
                        try:
                            choose.choice(calls)()
                        except nasty.GOOD:
                            pass
                except BaseException as error:
                    wrong.append(error)

            threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not wrong, wrong
            device.close()
            outer.use()
            assert outer.free_bytes == before


def test_every_function_with_every_value():
    """Not in sequence, but all of them: each call of each thing with each value in each place."""
    with plat.Device(0) as device:
        before = device.free_bytes
        for value in nasty.VALUES:
            pool, stream = plat.Pool(device), device.stream()
            block = pool.allocate(1000)
            for make in (lambda: plat.Pool(value), lambda: plat.Pool(device, value), lambda: plat.Pool(device, name=value),
                         lambda: plat.Pool(device, source=value), lambda: plat.Pool(device, source="caller", memory=value),
                         lambda: plat.Pool(device, slack=value), lambda: device.reserve(value), lambda: device.allocate(value),
                         lambda: pool.allocate(10, value), lambda: pool.allocate(10, alignment=value), lambda: pool.allocate(10, tag=value),
                         lambda: pool.allocate(10, purpose=value), lambda: block.to_numpy(value), lambda: block.to_numpy(1, value),
                         lambda: block.to_numpy(1, "u1", value), lambda: block.from_numpy(value), lambda: block.from_numpy(numpy.eye(1), value),
                         lambda: pool.from_numpy(value), lambda: pool.empty(value, value), lambda: stream.copy(block, value),
                         lambda: stream.copy(block, block, value), lambda: stream.to_numpy(block, value, value),
                         lambda: plat.PluggableAllocator().malloc(value), lambda: plat.PluggableAllocator().malloc(1, value),
                         lambda: plat.PluggableAllocator().free(0, value), lambda: plat.draw(value)):
                try:
                    made = make()
                    if isinstance(made, (plat.Pool, plat.Block, plat.Reservation, plat.PhysicalMemory)):
                        made.close()
                except nasty.GOOD:
                    pass
            stream.close(), pool.close()
        gc.collect()
        plat.Device(0)  # of no consequence: it is forgotten
        gc.collect()
        device.use()
        held = sum(stat["reserved_bytes"] for stat in [plat.PluggableAllocator().stats()])
        assert device.free_bytes == before - held
