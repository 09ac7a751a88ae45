# SPDX-License-Identifier: Apache-2.0
"""Things that are known and not kept alive, in the order in which they came."""
import weakref
from typing import Any, Dict, Iterator


class Weak:
    """Safe against other threads and against collections at any moment without a lock, which a forked child could find taken: every step
    is one operation of a dict."""

    def __init__(self) -> None:
        self._known: "Dict[int, weakref.ref[Any]]" = {}

    def add(self, thing: Any) -> None:
        key, known = id(thing), self._known

        def gone(reference: Any) -> None:
            if known.get(key) is reference:
                known.pop(key, None)

        known[key] = weakref.ref(thing, gone)

    def __iter__(self) -> Iterator[Any]:
        things = [reference() for reference in self._known.copy().values()]
        return iter([thing for thing in things if thing is not None])
