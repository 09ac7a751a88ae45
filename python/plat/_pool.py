# SPDX-License-Identifier: Apache-2.0
"""The pool of libplat_pool.so."""
import os
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union

from . import _pool_library as library
from ._arena import Arena
from ._arguments import kind, one_of, whole
from ._block import Block, text_of
from ._buffer import Buffer, array_for, like
from ._handle import Handle
from ._kv_cache import KvCache
from ._owner import Owner
from ._pool_options import options_of
from ._stream import Stream
from ._weak import Weak


class LiveBlock(NamedTuple):
    """What a pool knows of a block. `size` may be more than was asked for; `with_tail` is what the block takes."""

    address: int
    size: int
    with_tail: int
    tag: int
    on_host: bool
    asleep: bool


class Pool(Owner):
    """Device memory handed out in small blocks that keep every rule of divided memory.

    limit_bytes: most physical memory to hold. The other options are those of plat_pool_options: source ("device", "vmm", "malloc", "host",
    "media", "cached", or "caller" with memory=a buffer), initial_bytes, chunk_bytes, tail_bytes, release ("never", "watermark", "now",
    "idle"), release_watermark, release_idle_ms, slack, thread_cache, reuse_waits, max_remaps, host_limit_bytes, whole_pages.

    >>> import numpy, plat
    >>> with plat.Device(0) as device, plat.Pool(device) as pool:
    ...     block = pool.allocate(100)
    ...     block.from_numpy(numpy.array([1, 2, 3], dtype=numpy.uint8))
    ...     block.address % 64, block.to_numpy(3).tolist()
    (0, [1, 2, 3])
    """

    def __init__(self, device: Any, limit_bytes: int = 0, name: str = "python", *, memory: Optional[Buffer] = None, **options: Any) -> None:
        chosen = options_of(limit_bytes=limit_bytes, memory=memory, **options)
        owner = memory if memory is not None else device
        if not isinstance(owner, Owner) or not hasattr(device, "index"):
            raise TypeError(f"device must be a plat.Device, not {type(device).__name__}")
        super().__init__(owner)
        self._begin(device, name, None)
        self._source = options.get("source", "device")
        device._check_open()
        self._handle = Handle(library.create(text_of("name", name), device.index, chosen), "Pool", self._destroyer())
        self._opened()

    def _begin(self, device: Any, name: str, upstream: "Optional[Pool]") -> None:
        self.device, self.name, self.upstream = device, name, upstream
        self._streams = Weak()
        self._stream_numbers: Dict[int, None] = {}  # of those that are not closed
        self._oom: Any = None
        self._was_put_to_sleep = upstream is not None and upstream._was_put_to_sleep  # ever, so that blocks have to ask

    def _words(self) -> str:
        return f"{self.name!r} on device {self.device.index}"

    def allocate(self, size: int, stream: Optional[Stream] = None, *, alignment: int = 0, tag: int = 0, purpose: str = "compute") -> Block:
        """A block, for work queued on the stream from now on if there is one.

        alignment: a power of two up to 2 MiB. tag: its memory has pages of its own, to be counted and put to sleep alone. purpose:
        "compute", "media", "host" (pinned memory of the host) or "cached".
        """
        one_of("purpose", purpose, library.PURPOSES)
        return Block(self, size, stream, whole("alignment", alignment), whole("tag", tag, 0, library.ALL_TAGS - 1), purpose)

    def allocate_batch(self, sizes: Iterable[int], stream: Optional[Stream] = None) -> List[Block]:
        """Several blocks at once, all or none."""
        self._check_open()
        wanted = [whole("a size", size) for size in sizes]
        self._note(stream)
        with self._handle as pool:
            addresses = library.allocate_batch(pool, wanted, stream._pool_handle if stream is not None else None) if wanted else []
            return [Block(self, size, stream, address=address) for size, address in zip(wanted, addresses)]

    def free_batch(self, blocks: Iterable[Block], stream: Optional[Stream] = None) -> None:
        """Closes several blocks at once. Work queued on the stream so far may still use them."""
        self._check_open()
        given = [kind("a block", block, Block) for block in blocks]
        for block in given:
            block._check_open()
            if block.pool is not self:
                raise ValueError(f"{block!r} is not of {self!r}")
            block._settle()
        self._note(stream)
        taken = []
        for block in given:
            try:
                block._life.pop()
                taken.append(block)
            except IndexError:
                pass  # named twice, or another thread was faster
        if taken:
            with self._handle as pool:
                library.free_batch(pool, [block.address for block in taken], stream._pool_handle if stream is not None else None)

    def empty(self, shape: Any, dtype: Any = "uint8", stream: Optional[Stream] = None, **options: Any) -> Block:
        """A block for an array of that shape and type; its to_numpy() and np.asarray of it are like it."""
        shape, dtype, size = like(shape, dtype)
        block = self.allocate(size, stream, **options)
        block._like = shape, dtype
        return block

    def from_numpy(self, array: Any, stream: Optional[Stream] = None, **options: Any) -> Block:
        """A block with a copy of an array; its to_numpy() gives the array back.

        >>> import numpy, plat
        >>> with plat.Device(0) as device, plat.Pool(device) as pool:
        ...     block = pool.from_numpy(numpy.eye(2))
        ...     block.to_numpy().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        import numpy
        shape = numpy.shape(array)
        array = array_for(array)
        block = self.empty(shape, array.dtype, stream, **options)
        try:
            block.from_numpy(array)
        except BaseException:
            block.close()
            raise
        return block

    def arena(self, chunk_bytes: int = 0) -> Arena:
        """Blocks that end together."""
        return Arena(self, chunk_bytes)

    def kv_cache(self, token_bytes: int, max_tokens: int) -> KvCache:
        """Addresses for the longest sequence, memory for the tokens there are."""
        return KvCache(self, token_bytes, max_tokens)

    @property
    def stats(self) -> Dict[str, int]:
        """What the pool holds: reserved_bytes, used_bytes, live_blocks and so on."""
        self._check_open()
        with self._handle as pool:
            return library.stats(pool)

    def tag_bytes(self, tag: int) -> Tuple[int, int]:
        """(used, reserved): what blocks of a tag use, and what is held for them."""
        self._check_open()
        with self._handle as pool:
            return library.tag_bytes(pool, whole("tag", tag, 0, library.ALL_TAGS - 1))

    def reset_peaks(self) -> None:
        """Peaks of `stats` start anew, at what is held and used now."""
        self._check_open()
        with self._handle as pool:
            library.reset_peaks(pool)

    def set_limits(self, limit_bytes: int = 0, host_limit_bytes: int = 0) -> None:
        """Other limits than the pool was made with; 0 is none. What is idle above a lower one goes back, what is live stays."""
        self._check_open()
        with self._handle as pool:
            library.set_limits(pool, whole("limit_bytes", limit_bytes), whole("host_limit_bytes", host_limit_bytes))

    def owner(self, address: int) -> Optional[LiveBlock]:
        """The live block that an address lies in, whoever asked for it, or None."""
        self._check_open()
        with self._handle as pool:
            found = library.owner(pool, whole("address", address))
        return None if found is None else LiveBlock(*found)

    def walk(self) -> List[LiveBlock]:
        """Every live block, in order of addresses; of an arena those that it took."""
        self._check_open()
        with self._handle as pool:
            return [LiveBlock(*block) for block in library.walk(pool)]

    def snapshot(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Writes what the pool holds of the device now as PyTorch's memory snapshot, which memory_viz, `plat report` and `plat replay` open."""
        self._check_open()
        with self._handle as pool:
            library.snapshot(pool, os.fsencode(path))

    def trim(self, keep_bytes: int = 0) -> None:
        """Gives idle memory back to the device."""
        self._check_open()
        with self._handle as pool:
            library.trim(pool, whole("keep_bytes", keep_bytes))

    def flush_thread(self) -> None:
        """Returns the blocks that are kept ready for this thread."""
        self._check_open()
        with self._handle as pool:
            library.flush_thread(pool)

    def reset(self) -> None:
        """Closes every block at once, of pools around this one and below it as well. Arenas and caches must be closed before."""
        self._check_open()
        bottom = self._bottom()
        pools = bottom._family()
        for pool in pools:
            others = [child for child in pool._living() if not isinstance(child, (Block, Pool))]
            if others:
                raise ValueError(f"{others[0]!r} has memory of the pool; close it before reset")
        bottom._settle()
        with self._handle as handle:
            library.reset(handle)
            for pool in pools:
                for block in pool._living():
                    if isinstance(block, Block):
                        block._life.clear()

    def _bottom(self) -> "Pool":
        """The pool inside of all that are around it."""
        return self if self.upstream is None else self.upstream._bottom()

    def _family(self) -> "List[Pool]":
        """The pool and those around it."""
        return [self] + [each for child in self._living() if isinstance(child, Pool) for each in child._family()]

    def sleep(self, tag: Optional[int] = None, save: bool = False) -> None:
        """Gives the memory of a tag, or all of it, back to the device; addresses stay. With save, contents are kept on the host and are
        there again after wake. Waits for the streams of the pool."""
        self._check_open()
        number = self._tag(tag)
        self._settle()
        for each in self._bottom()._family():
            each._was_put_to_sleep = True
        with self._handle as pool:
            library.sleep(pool, number, bool(save))

    def wake(self, tag: Optional[int] = None) -> None:
        """Brings the memory back, at the same addresses."""
        self._check_open()
        number = self._tag(tag)
        with self._handle as pool:
            library.wake(pool, number)

    @staticmethod
    def _tag(tag: Optional[int]) -> int:
        return library.ALL_TAGS if tag is None else whole("tag", tag, 0, library.ALL_TAGS - 1)

    def on_out_of_memory(self, callback: Optional[Callable[[int, str], Any]]) -> None:
        """callback(bytes, account) is asked when everything else failed: it closes blocks and returns True to try once more. An exception
        in it is printed, and counts as False. None takes it away."""
        self._check_open()
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be callable, not {type(callback).__name__}")

        def ask(user: Any, pool: Any, size: int, account: Optional[bytes]) -> int:
            return 1 if callback is not None and callback(size, (account or b"").decode(errors="replace")) else 0

        made = library.OutOfMemory(ask) if callback is not None else library.OutOfMemory()
        with self._handle as pool:
            library.set_oom_callback(pool, made)
            self._oom = (made, self._oom)  # another thread may be inside of the one before

    def register_on(self, stream: Stream) -> None:
        """Operators on the stream take their workspace from this pool (the custom allocator of a stream)."""
        self._check_open()
        kind("stream", stream, Stream)._check_open()
        self._note(stream)
        with self._handle as pool:
            library.register_on_stream(pool, stream.handle)
            stream._allocator = self

    def unregister_from(self, stream: Stream) -> None:
        """Ends what register_on began."""
        self._check_open()
        kind("stream", stream, Stream)._check_open()
        self._unregister(stream)

    @staticmethod
    def _unregister(stream: Stream) -> None:
        library.unregister_from_stream(stream.handle)
        stream._allocator = None

    # A pool around this one, which is closed before it. Blocks are taken from either.

    def with_limit(self, limit_bytes: int) -> "Pool":
        """Refuses what goes beyond the limit, which may be 0."""
        return Layer(self, "limit", whole("limit_bytes", limit_bytes))

    def with_statistics(self) -> "Pool":
        """Counts what goes through it alone."""
        return Layer(self, "statistics")

    def with_trace(self, path: "Union[str, os.PathLike[str]]") -> "Pool":
        """Writes lines for `plat replay`."""
        return Layer(self, "trace", os.fsencode(path))

    def with_guards(self, guard_bytes: int = 0) -> "Pool":
        """Finds writes outside of a block when it is closed."""
        return Layer(self, "guards", whole("guard_bytes", guard_bytes))

    def with_faults(self, nth: int, every: int = 0) -> "Pool":
        """Fails the nth allocation from now, and then every so many."""
        return Layer(self, "faults", whole("nth", nth), whole("every", every))

    def _repr_svg_(self) -> str:
        return self._picture()

    def _is_host(self, purpose: str) -> bool:
        return purpose == "host" or (self._source == "host" and purpose in ("compute", "media"))

    def _take(self, handle: int, size: int, stream: Optional[Stream], alignment: int, tag: int, purpose: str) -> int:
        on = stream._pool_handle if stream is not None else None
        if alignment == 0 and tag == 0 and purpose == "compute":
            return library.allocate(handle, size, on)
        return library.request(handle, size, on, alignment, library.PURPOSES[purpose], tag)

    def _note(self, stream: Optional[Stream]) -> None:
        """A stream has to do with the pool: whoever of the two ends first waits for the other."""
        if stream is None:
            return
        kind("stream", stream, Stream)._check_open()
        pool: Optional[Pool] = self
        while pool is not None:
            pool._streams.add(stream)
            pool._stream_numbers[stream._pool_handle] = None
            stream._pools.add(pool)
            pool = pool.upstream

    def _forget(self, stream: Stream) -> None:
        try:
            with self._handle as pool:
                library.forget(pool, stream._pool_handle)
            self._stream_numbers.pop(stream._pool_handle, None)
        except ValueError:
            if not self.closed:
                raise

    def _settle(self) -> None:
        self._handle.check_outside()
        super()._settle()
        for stream in self._streams:
            if not stream.closed:
                stream._finish()

    def _release(self) -> None:
        self._handle.end()

    def _destroyer(self) -> Callable[[int], None]:
        """How the pool ends, without knowing the pool: see Handle."""
        numbers = self._stream_numbers

        def destroy(pool: int) -> None:
            for number in list(numbers.copy()):  # of streams that a collection has still to close
                try:
                    library.forget(pool, number)
                except library.PoolError:
                    pass  # it is gone: it has finished
            library.destroy(pool)

        return destroy


class Layer(Pool):
    """A pool around a pool."""

    def __init__(self, upstream: Pool, layer: str, *arguments: Any) -> None:
        Owner.__init__(self, upstream)
        self._begin(upstream.device, f"{upstream.name} with {layer}", upstream)
        self._source = upstream._source
        with upstream._handle as handle:
            self._handle = Handle(library.layer(handle, layer, *arguments), "Pool", self._destroyer(), upstream._handle)
            self._opened()
