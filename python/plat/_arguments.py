# SPDX-License-Identifier: Apache-2.0
"""What C would take silently, and make something else of: numbers below zero and beyond its types."""
import operator
from typing import Any, Mapping

SIZE_MAX = (1 << 63) - 1


def whole(name: str, value: Any, low: int = 0, high: int = SIZE_MAX) -> int:
    """The value as an int. TypeError if it is none, ValueError if it is out of its range."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, not {type(value).__name__}") from None
    if not low <= number <= high:
        raise ValueError(f"{name} is {number}; it must be between {low} and {high}")
    return number


def one_of(name: str, value: Any, known: Mapping[str, int]) -> int:
    """What C calls one of the names."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(repr(each) for each in known)}")
    return known[value]


def kind(name: str, value: Any, wanted: Any) -> Any:
    """The value, which must be of a class of this package."""
    if not isinstance(value, wanted):
        raise TypeError(f"{name} must be a plat.{wanted.__name__}, not {type(value).__name__}")
    return value
