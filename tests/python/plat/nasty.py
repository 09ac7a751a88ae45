# SPDX-License-Identifier: Apache-2.0
"""Values that nobody should pass, and calls of everything that has a name: for tests that want exceptions and no crashes."""
import inspect

import numpy
import plat

GOOD = (TypeError, ValueError, BufferError, OverflowError, plat.PlatError, plat.PoolError, OSError)
VALUES = [None, True, -1, 0, 1, 7, 64, 4096, 2 * plat.MIB, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
          1 << 64, 1 << 70, -(1 << 63), 0.5, float("nan"), "", "host", "x", "a\0b", "\udcff", b"", b"x", (), (1, 2), (-1,), [], [1, -1], {},
          object, object(), int, "O", "f4", numpy.dtype("S0"), numpy.arange(5), numpy.eye(3)[::2], numpy.array([object()], object),
          numpy.empty(0), numpy.int64(100), lambda *args: False, plat]
# They draw, end the interpreter's ability to see, or are not calls of ours.
LEFT_OUT = {"with_trace"}


def names(thing):
    """What a thing offers by name; the protocols too."""
    own = [name for name in dir(type(thing)) if not name.startswith("_") and name not in LEFT_OUT]
    return own + [name for name in ("__array_interface__", "__dlpack__", "__dlpack_device__", "_repr_svg_", "__repr__", "__enter__")
                  if hasattr(type(thing), name)]


def call(thing, name, arguments):
    """Reads a property or calls a method with as many of the arguments as it takes. An exception of the right kind is an answer."""
    try:
        value = getattr(thing, name)
        if not callable(value):
            return value
        try:
            most = len(inspect.signature(value).parameters)
        except (TypeError, ValueError):
            most = len(arguments)
        return value(*arguments[:most])
    except GOOD as error:
        return error
