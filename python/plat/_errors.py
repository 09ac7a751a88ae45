# SPDX-License-Identifier: Apache-2.0
"""Codes become exceptions that carry what the message says."""
import re
from typing import Any

import acl

_MESSAGE = re.compile(r"(?P<rule>[A-Z]+-[\w-]+) (?P<function>\w+)\((?P<parameter>[^)]*)\): (?P<rest>.*?)"
                      r"(?: See plat rules (?P=rule))?$", re.S)


class PlatError(RuntimeError):
    """A call of ACL failed.

    code: what it returned. rule: the rule that was broken; `plat rules RULE` explains it. function and parameter: where.
    values: what was given, and the state that makes it wrong. hint: the rule and the remedy. Over another library than
    Plat's only the code and the text are known.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message or f"the call returned {code}")
        self.code = code
        self.message = message
        found = _MESSAGE.match(message)
        self.rule = found["rule"] if found else ""
        self.function = found["function"] if found else ""
        self.parameter = found["parameter"] if found else ""
        self.values, _, self.hint = found["rest"].partition(". ") if found else ("", "", "")

    def __reduce__(self) -> Any:
        return type(self), (self.code, self.message)


class PoolError(RuntimeError):
    """A call of the pool failed: code is a value of plat_pool_status (2: no memory), status its name."""

    def __init__(self, code: int, status: str, message: str) -> None:
        super().__init__(message or status)
        self.code = code
        self.status = status
        self.message = message

    def __reduce__(self) -> Any:
        return type(self), (self.code, self.status, self.message)


def checked(result: Any) -> Any:
    """The values of a call, without its code; raises if that is not 0."""
    *values, ret = result if isinstance(result, tuple) else (result,)
    if ret != 0:
        raise PlatError(ret, acl.get_recent_err_msg())
    return values[0] if len(values) == 1 else tuple(values) or None
