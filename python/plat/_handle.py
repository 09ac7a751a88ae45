# SPDX-License-Identifier: Apache-2.0
"""The address of a thing of C that ends once: nobody is inside a call of it then, nor comes in later, and what stands on it has ended before."""
import threading
from typing import Any, Callable, Dict, Optional


class Handle:
    """`with handle as address:` around each call. A thing for one thread at a time is `alone`: others wait their turn.

    A handle knows those that stand on it, and never an Owner: a collection that finds an arena and its pool unused at once closes them in
    any order, and has cleared all weak references by then.
    """

    def __init__(self, address: int, what: str, destroy: Callable[[int], None], below: "Optional[Handle]" = None, alone: bool = False) -> None:
        self._address, self._what, self._destroy, self._below, self._alone = address, what, destroy, below, alone
        # Entered again by a collection that closes things while this thread has it.
        self._turn = threading.Condition(threading.RLock())
        self._inside: Dict[int, int] = {}  # thread -> how many calls deep
        self._above: Dict[int, Handle] = {}
        if below is not None:
            below._above[id(self)] = self  # inside a call of it, so that it cannot end before

    def __enter__(self) -> int:
        me = threading.get_ident()
        with self._turn:
            if self._alone:
                self.check_outside()
                self._turn.wait_for(lambda: not self._inside)
            if self._address == 0:
                raise ValueError(f"{self._what} is closed")
            self._inside[me] = self._inside.get(me, 0) + 1
            return self._address

    def __exit__(self, *error: Any) -> None:
        me = threading.get_ident()
        with self._turn:
            self._inside[me] -= 1
            if self._inside[me] == 0:
                del self._inside[me]
                self._turn.notify_all()

    def check_outside(self) -> None:
        """Whoever waits for himself waits for ever."""
        if threading.get_ident() in self._inside:
            raise ValueError(f"{self._what} is inside a call of this thread; an out-of-memory callback may free blocks, and no more")

    def _take(self) -> int:
        """The address, for whoever ends it, when the last one has left; 0 for others."""
        with self._turn:
            self.check_outside()
            address, self._address = self._address, 0
            self._turn.wait_for(lambda: not self._inside)
            return address

    def end(self) -> None:
        """Ends what stands on it, last made first, and then the thing. The first error is raised when all is done."""
        address = self._take()
        if address == 0:
            return
        first: Optional[Exception] = None
        for end in [above.end for above in reversed(list(self._above.copy().values()))] + [lambda: self._destroy(address)]:
            try:
                end()
            except Exception as error:
                first = first or error
        if self._below is not None:
            self._below._above.pop(id(self), None)
        if first is not None:
            raise first
