# SPDX-License-Identifier: Apache-2.0
"""What things say of themselves, and the version of the package."""
import re

import numpy
import plat
import pytest

PAGE = 2 * plat.MIB


def test_everything_says_what_it_is():
    with plat.Device(0) as device:
        memory, addresses, pool = device.allocate(PAGE), device.reserve(2 * PAGE), plat.Pool(device, name="weights")
        mapping, arena, cache = addresses.map(memory, PAGE), pool.arena(), pool.kv_cache(100, 10)
        things = {
            device: "<plat.Device 0>", memory: "<plat.PhysicalMemory of 2 MiB on device 0>",
            addresses: f"<plat.Reservation of 4 MiB at {addresses.address:#x}>",
            mapping: f"<plat.Mapping of 2 MiB at {mapping.address:#x}>", pool: "<plat.Pool 'weights' on device 0>",
            arena: "<plat.Arena of <plat.Pool 'weights' on device 0>>",
            cache: f"<plat.KvCache of 0 of at most 10 tokens of 100 bytes at {cache.address:#x}>",
            memory.share(): "<plat.SharedMemory of 2 MiB on device 0>", device.default_stream: "<plat.DefaultStream of device 0>"}
        for block in (pool.allocate(1000), arena.allocate(1000)):
            things[block] = f"<plat.{type(block).__name__} of 1000 bytes at {block.address:#x}>"
        managed = device.managed((2, 3), "f4")
        things[managed] = f"<plat.ManagedMemory of 24 bytes for an array of 2x3 float32 at {managed.address:#x}>"
        array = pool.from_numpy(numpy.zeros((4, 2), numpy.float16))
        things[array] = f"<plat.Block of 16 bytes for an array of 4x2 float16 at {array.address:#x}>"
        for owner in device.stream(), device.event(), device.notify():
            things[owner] = f"<plat.{type(owner).__name__} {owner.handle:#x}>"
        tagged = pool.allocate(2000, tag=3)
        things[tagged] = f"<plat.Block of 1.953 KiB at {tagged.address:#x}, tag 3>"
        host = pool.allocate(10, purpose="host")
        things[host] = f"<plat.Block of 10 bytes at {host.address:#x}, on the host>"
        things[plat.draw(pool)] = r"<plat.Drawing of [\d.]+ KiB of SVG>"
        for thing, words in things.items():
            assert repr(thing) == words or re.fullmatch(words, repr(thing)), repr(thing)
    assert repr(device) == "<plat.Device 0, closed>" and repr(pool) == "<plat.Pool 'weights' on device 0, closed>"
    assert repr(plat.PluggableAllocator()).startswith("<plat.PluggableAllocator of")
    assert repr(plat.Stream.__new__(plat.Stream)) == "<plat.Stream, not made>"


def test_one_that_failed_to_be_made_says_so():
    seen = []

    class Failing(plat.Reservation):
        def _opened(self):
            seen.append(repr(self))
            raise KeyError

    with plat.Device(0) as device:
        with pytest.raises(KeyError):
            Failing(device, PAGE)
    assert "closed" in seen[0]


def test_the_version_is_that_of_the_distribution():
    import importlib.metadata
    assert plat.__version__ == importlib.metadata.version("plat") and re.match(r"\d+\.\d+", plat.__version__)


def test_a_picture_is_svg_and_nothing_else(tmp_path):
    with plat.Device(0) as device, plat.Pool(device) as pool:
        picture = plat.draw(pool)
    for name in "x.svg", "y.SVG", "z":
        picture.save(tmp_path / name)
        assert (tmp_path / name).read_text().startswith("<svg")
    with pytest.raises(ValueError, match="svg.*rsvg-convert"):
        picture.save(tmp_path / "x.png")
    assert not (tmp_path / "x.png").exists()
