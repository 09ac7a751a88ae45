"""What all owners share: they close once, what depends on them first, and go on when one of those cannot."""
import os
import weakref
from typing import Any, Optional


class Owner:
    """Closes at the end of a with block. What was made from it, and lives, is closed before it, last made first."""

    def __init__(self, parent: Optional["Owner"] = None) -> None:
        self._closed = True  # until there is something to give back
        self._pid = os.getpid()
        self._children: "list[weakref.ref[Owner]]" = []
        self._parent = parent  # kept alive: what we hold is part of it
        if parent is not None:
            parent._check_open()
            parent._children = [child for child in parent._children if child() is not None]
            parent._children.append(weakref.ref(self))

    def _opened(self) -> None:
        """Now there is something to give back."""
        self._closed = False

    def _release(self) -> None:
        """Gives back what is held. Called once."""
        raise NotImplementedError

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(f"{type(self).__name__} is closed")
        if self._is_inherited():
            raise ValueError(f"{type(self).__name__} belongs to process {self._pid}, and this is a child; open a Device of its own")

    def _is_inherited(self) -> bool:
        """Whether a forked child looks at what its parent holds: the same numbers mean other things here."""
        return os.getpid() != self._pid

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Gives everything back. Closing twice is no mistake; the first error is raised when all is done."""
        if self._closed:
            return
        self._closed = True
        if self._is_inherited():
            return
        first: Optional[BaseException] = None
        for child in reversed(self._children):
            owner = child()
            try:
                if owner is not None:
                    owner.close()
            except Exception as error:  # the others must go all the same
                first = first or error
        self._children.clear()
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

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} can be neither copied nor pickled: it has one owner, in one process. "
                        "PhysicalMemory.share() gives what can travel")

    def __del__(self) -> None:
        try:
            if not getattr(self, "_closed", True):
                self.close()
        except Exception:
            pass  # at the end of the interpreter the process gives back the rest
