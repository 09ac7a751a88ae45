# SPDX-License-Identifier: Apache-2.0
"""What all owners share: they close once, what depends on them first, and go on when one of those cannot."""
import contextlib
import os
from typing import Any, ContextManager, List, Optional

from ._weak import Weak


class Owner:
    """Closes at the end of a with block. What was made from it, and lives, is closed before it, last made first."""

    def __init__(self, parent: Optional["Owner"] = None) -> None:
        self._life: List[None] = []  # one entry while there is something to give back: who takes it out, gives back
        self._pid = os.getpid()
        self._children = Weak()
        self._parent = parent  # kept alive: what we hold is part of it
        if parent is not None:
            if not isinstance(parent, Owner):
                raise TypeError(f"a {type(self).__name__} cannot be made from a {type(parent).__name__}")
            parent._check_open()
            parent._children.add(self)

    def _opened(self) -> None:
        """Now there is something to give back."""
        self._life.append(None)

    def _living(self) -> "List[Any]":
        """What was made from this and is open."""
        return [child for child in self._children if not child.closed]

    def _settle(self) -> None:
        """Before anything is given back: waits for those who still use it. If they cannot be waited for it raises, and all stays open."""
        for child in self._living():
            child._settle()

    def _release(self) -> None:
        """Gives back what is held. Called once."""
        raise NotImplementedError

    def _here(self) -> ContextManager[Any]:
        """While this lasts the calling thread, which may be any one, has the device that this belongs to."""
        return self._parent._here() if self._parent is not None else contextlib.nullcontext()

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError(f"{type(self).__name__} is closed")
        if self._is_inherited():
            raise ValueError(f"{type(self).__name__} belongs to process {self._pid}, and this is a child; open a Device of its own")

    def _is_inherited(self) -> bool:
        """Whether a forked child looks at what its parent holds: the same numbers mean other things here."""
        return os.getpid() != self._pid

    @property
    def closed(self) -> bool:
        return not self._life

    def close(self) -> None:
        """Waits for streams that use it, and gives everything back. Closing twice is no mistake; the first error is raised when all is
        done."""
        if self.closed:
            return
        if self._is_inherited():
            self._life.clear()
            return
        self._settle()
        try:
            self._life.pop()
        except IndexError:
            return  # another thread was faster
        first: Optional[BaseException] = None
        for child in reversed(self._living()):
            try:
                child.close()
            except Exception as error:  # the others must go all the same
                first = first or error
        try:
            self._release()
        except Exception as error:
            first = first or error
        if first is not None:
            raise first

    def __enter__(self) -> Any:
        self._check_open()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            self.close()
        except Exception:
            if error is None:  # what went wrong in the block says more than what went wrong after it
                raise

    def _words(self) -> str:
        """What tells it from others of its kind."""
        return ""

    def __repr__(self) -> str:
        if "_life" not in self.__dict__:
            return f"<plat.{type(self).__name__}, not made>"
        try:
            words = self._words()
        except AttributeError:  # it was not finished: its constructor failed
            words = ""
        state = ", closed" if self.closed else f", of process {self._pid}" if self._is_inherited() else ""
        return f"<plat.{type(self).__name__}{' ' if words else ''}{words}{state}>"

    def _picture(self) -> str:
        from ._draw import draw
        return draw(self).svg

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} can be neither copied nor pickled: it has one owner, in one process. "
                        "What can travel is what share() gives, where there is one")

    def __del__(self) -> None:
        try:
            if getattr(self, "_life", None):
                self.close()
        except Exception:
            pass  # at the end of the interpreter the process gives back the rest
