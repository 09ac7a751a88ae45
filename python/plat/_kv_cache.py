# SPDX-License-Identifier: Apache-2.0
"""A cache that grows with a sequence."""
from typing import TYPE_CHECKING

from . import _pool_library as library
from ._arguments import whole
from ._buffer import Buffer
from ._handle import Handle
from ._owner import Owner

if TYPE_CHECKING:
    from ._pool import Pool


class KvCache(Owner, Buffer):
    """Addresses for the longest sequence, memory for the tokens there are. Its address never changes; its size is that of its tokens.

    >>> import plat
    >>> with plat.Device(0) as device, plat.Pool(device) as pool, pool.kv_cache(64 * plat.KIB, 1000) as cache:
    ...     cache.set_tokens(3)
    ...     cache.size // plat.KIB, cache.backed_bytes // plat.MIB
    (192, 2)
    """

    def __init__(self, pool: "Pool", token_bytes: int, max_tokens: int) -> None:
        Buffer.__init__(self)
        Owner.__init__(self, pool)
        self.pool = pool
        self.token_bytes, self.max_tokens = whole("token_bytes", token_bytes), whole("max_tokens", max_tokens)
        self.tokens = self.size = 0
        with pool._handle as handle:
            cache = library.kv_create(handle, self.token_bytes, self.max_tokens)
            self._handle = Handle(cache, "KvCache", library.kv_destroy, pool._handle, alone=True)
            self.address = library.kv_base(cache)
            self._opened()

    def _words(self) -> str:
        return f"of {self.tokens} of at most {self.max_tokens} tokens of {self.token_bytes} bytes at {self.address:#x}"

    def set_tokens(self, tokens: int) -> None:
        """Brings memory in for that many tokens, or lets what is behind them go. What the first ones hold stays."""
        self._check_open()
        tokens = whole("tokens", tokens, 0, self.max_tokens)
        if tokens < self.tokens:
            self._settle()
        with self._handle as cache:
            library.kv_set_tokens(cache, tokens)
            self.tokens, self.size = tokens, tokens * self.token_bytes

    @property
    def backed_bytes(self) -> int:
        """Memory behind it, in whole pages."""
        self._check_open()
        with self._handle as cache:
            return library.kv_backed_bytes(cache)

    def _settle(self) -> None:
        self._handle.check_outside()
        Buffer._settle(self)

    def _release(self) -> None:
        self._handle.end()
