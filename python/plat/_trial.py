# SPDX-License-Identifier: Apache-2.0
"""An allocator through sleep and wake, with a failure of the device at every step."""
import os
import traceback
from typing import Any, Callable, List, Tuple

_SIZES = (1000, 70_000, 3 << 20, 512)


class TrialError(AssertionError):
    """The allocator did not get through. step: which call of the device failed, counted from 1; 0 if none did."""

    def __init__(self, step: int, plan: str, story: str) -> None:
        super().__init__(f"{'without a failure' if step == 0 else f'when call {step} of the device failed ({plan})'}: {story}")
        self.step, self.plan, self.story = step, plan, story


class _Life:
    """What every allocator must survive. The device fails once, so whatever raised must succeed when it is tried again."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make
        self._kept: List[Tuple[Any, Any]] = []

    @staticmethod
    def _try(what: str, call: Callable[[], Any], between: Callable[[], None] = lambda: None) -> Any:
        try:
            return call()
        except Exception as first:
            between()
            try:
                return call()
            except Exception as second:
                raise AssertionError(f"{what} fails a second time, although the device is well again: {second!r}; first: {first!r}") from None

    def _address(self, thing: Any) -> int:
        return getattr(thing, "address", thing)

    def _write(self, thing: Any, data: Any) -> None:
        import acl
        from ._errors import checked
        self._try("a copy", lambda: checked(acl.rt.memcpy(self._address(thing), data.nbytes, acl.util.numpy_to_ptr(data), data.nbytes,
                                                          acl.ACL_MEMCPY_HOST_TO_DEVICE)))

    def _check(self, when: str) -> None:
        import acl
        import numpy
        from ._errors import checked
        for thing, data in self._kept:
            back = numpy.zeros_like(data)
            self._try(f"reading {when}", lambda thing=thing, back=back: checked(acl.rt.memcpy(
                acl.util.numpy_to_ptr(back), back.nbytes, self._address(thing), back.nbytes, acl.ACL_MEMCPY_DEVICE_TO_HOST)))
            if not (back == data).all():
                raise AssertionError(f"{when} a block of {data.nbytes} bytes has other contents")

    def run(self) -> None:
        import numpy
        from ._device import Device
        device = self._try("opening the device", lambda: Device(0))
        before = self._try("asking for free memory", lambda: device.free_bytes)
        allocator = self._try("making the allocator", lambda: self._make(device))
        for number, size in enumerate(_SIZES):
            thing = self._try("allocate", lambda size=size: allocator.allocate(size))
            data = numpy.full(size, number + 1, "u1")
            self._write(thing, data)
            self._kept.append((thing, data))
        for _ in range(2):
            held = self._try("asking for free memory", lambda: device.free_bytes)
            self._try("sleep", allocator.sleep, lambda: self._check("after a sleep that failed"))
            if self._try("asking for free memory", lambda: device.free_bytes) <= held:
                raise AssertionError("asleep, it holds as much memory of the device as before")
            self._try("wake", allocator.wake)
            self._check("after wake")
        for thing, _ in self._kept:
            self._try("free", lambda thing=thing: allocator.free(thing))
        self._kept.clear()
        if hasattr(allocator, "close"):
            self._try("close", allocator.close)
        lost = before - self._try("asking for free memory", lambda: device.free_bytes)
        if lost > 0:
            raise AssertionError(f"{lost} bytes of device memory did not come back")


def _run(make: Callable[[Any], Any], plan: str) -> "Tuple[int, str]":
    """In a process of its own: (signal or 0, what went wrong)."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        story = ""
        try:
            os.close(reader)
            os.environ["PLAT_FAULT"] = plan
            _Life(make).run()
        except BaseException as error:
            story = f"{error}\n{traceback.format_exc()}" if not isinstance(error, AssertionError) else str(error)
        finally:
            try:
                os.write(writer, story.encode(errors="replace")[:60000])
            finally:
                os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        story = told.read().decode(errors="replace")
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0 and not story:
        return -status, f"the process was ended by signal {-status}"
    return 0, story


def _steps(make: Callable[[Any], Any], calls: str) -> int:
    """How many of the calls a life makes: who dies at the n-th has made that many."""
    def reaches(step: int) -> bool:
        return _run(make, f"{calls}, nth={step}, kill")[0] == 9

    if not reaches(1):
        raise TrialError(0, calls, "the device does not fail when it should: this process had initialised ACL before the trial, or the "
                                   "allocator makes none of these calls")
    low, high = 1, 2
    while reaches(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return low


def sleep_trial(make: Callable[[Any], Any], calls: str = "any", code: int = 207001, most: int = 400) -> int:
    """Leads an allocator through allocate, sleep, wake and free, in a process of its own each time, and lets another call of the device
    fail each time. How many there were is returned; the first time that goes wrong raises TrialError.

    make(device) gives the allocator: allocate(size) returns an address or something with one, free(that), sleep(), wake(), and close() if
    there is something to close. A call that raises must have changed nothing, and must succeed when it is made again. Sleep must
    give memory back, and contents must be there after wake. calls and code are those of a fault plan; of more than `most` steps so many
    are tried, evenly spread.
    """
    _, story = _run(make, "")
    if story:
        raise TrialError(0, "", story)
    count = _steps(make, calls)
    steps = range(1, count + 1) if count <= most else sorted({1 + each * count // most for each in range(most)})
    for step in steps:
        plan = f"{calls}, nth={step}, fail={code}"
        _, story = _run(make, plan)
        if story:
            raise TrialError(step, plan, story)
    return len(steps)
