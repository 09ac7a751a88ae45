# SPDX-License-Identifier: Apache-2.0
"""Every function of plat/pool.h is called by some method of Python, or there is a reason why not."""
import pathlib
import re

import numpy
import plat
import pytest
from plat import _pool_library

ROOT = pathlib.Path(__file__).parents[3]
HEADER = re.sub(r"/\*.*?\*/", "", (ROOT / "include/plat/pool.h").read_text(), flags=re.S)
REQUEST = "a request of plat_pool_alloc_request can say it"
REASONS = {
    "plat_pool_alloc_aligned": REQUEST, "plat_pool_alloc_for": REQUEST, "plat_pool_alloc_tagged": REQUEST,
}


def fields(struct):
    body = re.search(rf"typedef struct {struct} \{{(.*?)\}} {struct};", HEADER, re.S).group(1)
    return ["struct_size" if "STRUCT_SIZE" in line else re.search(r"(\w+)$", line).group(1)
            for line in (part.strip() for part in body.split(";")) if line]


@pytest.mark.parametrize("struct, ours", [("plat_pool_options", _pool_library.Options), ("plat_pool_request", _pool_library.Request),
                                          ("plat_pool_stats", _pool_library.Stats),
                                          ("plat_pool_block", _pool_library.LiveBlock)])
def test_structs_are_those_of_the_header(struct, ours):
    known = [name for name, _ in ours._fields_]
    assert fields(struct) == known and len(known) > 5


def test_every_option_can_be_given():
    from plat import _pool_options
    by_memory = {"caller_base", "caller_bytes"}
    own = {"struct_size", "name", "device"}
    assert set(fields("plat_pool_options")) - by_memory - own == set(_pool_options._KNOWN)


class Watched:
    """The library, and which of its functions were called."""

    def __init__(self, library):
        self.library, self.called = library, set()

    def __getattr__(self, name):
        self.called.add(name)
        return getattr(self.library, name)


def use_everything(tmp_path):
    """All that a pool can do, through public methods alone."""
    with plat.Device(0) as device, plat.Pool(device, name="all") as pool, device.stream() as stream, device.stream() as other:
        block = pool.from_numpy(numpy.arange(10))
        block.set_name("ten")
        assert block.usable[0] >= block.size and block.resize(40)
        on = pool.allocate(1000, stream)
        on.use_on(other)
        on.close()
        pool.allocate(100, alignment=512, tag=2, purpose="media").close()
        pool.free_batch(pool.allocate_batch([10, 20]))
        pool.trim()
        pool.flush_thread()
        pool.on_out_of_memory(lambda size, account: False)
        assert pool.tag_bytes(2) and pool.stats
        pool.reset_peaks()
        pool.set_limits(plat.GIB)
        assert pool.owner(block.address) in pool.walk()
        pool.snapshot(tmp_path / "snapshot.pickle")
        pool.sleep(save=True)
        pool.wake()
        with pool.arena() as arena, arena.arena() as inner:
            inner.allocate(10)
            arena.reset()
        with pool.kv_cache(plat.KIB, 100) as cache:
            cache.set_tokens(3)
            assert cache.backed_bytes and cache.address
        for around in (pool.with_limit(plat.GIB), pool.with_statistics(), pool.with_trace(tmp_path / "trace.csv"), pool.with_guards(),
                       pool.with_faults(5)):
            around.close()
        pool.register_on(stream)
        pool.unregister_from(stream)
        with pytest.raises(plat.PoolError):
            pool.allocate(1 << 50)
        pool.reset()
        pair = plat.PluggableAllocator()
        pair.free(pair.malloc(100, 0), 100, 0)
        assert pair.stats(0)["live_blocks"] == 0


def test_every_function_is_called_or_has_a_reason(tmp_path, monkeypatch):
    watched = Watched(_pool_library.load())
    monkeypatch.setattr(_pool_library, "load", lambda: watched)
    use_everything(tmp_path)
    functions = set(re.findall(r"\b(plat_(?:pool|arena|kv)_\w+)\(", re.sub(r"\(\*\w+\)", "", HEADER))) - {"plat_pool_options"}
    exported = {name for name in functions if re.search(rf"PLAT_POOL_API[^;]*\b{name}\(", HEADER)}
    assert len(exported) > 40
    assert exported - watched.called - set(REASONS) == set()
    assert watched.called - exported == set() and not watched.called & set(REASONS)
