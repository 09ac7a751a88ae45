# SPDX-License-Identifier: Apache-2.0
"""Pictures of memory: a device and who holds it, a range and what is mapped in it, a pool and its blocks, and what happened in a recording."""
import os
from typing import Any, List, Tuple, Union

from ._draw_pool import draw_block, draw_device, draw_pool
from ._svg import COLOURS, EMPTY, FAINT, LEFT, RIGHT, Canvas, count_text, size_text

_KNOWN = "a Device, a Reservation, a Pool, a Block or a Recording"
_LANES_MAX = 40


class Drawing:
    """A picture that a notebook shows, and that can be kept as a file."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<plat.Drawing of {size_text(len(self.svg))} of SVG>"

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes an SVG, and nothing else: a name that promises another format is refused."""
        suffix = os.path.splitext(os.fspath(path))[1]
        if suffix.lower() not in ("", ".svg"):
            raise ValueError(f"{os.fspath(path)!r}: a drawing is kept as SVG; call it .svg, and make a {suffix} of that with "
                             "rsvg-convert, Inkscape or a browser")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


def draw(*things: Any) -> Drawing:
    """Draws devices, reservations, pools, blocks and recordings, one below the other.

    >>> import plat
    >>> with plat.Device(0) as device, device.reserve(8 * plat.MIB) as addresses:
    ...     with device.allocate(2 * plat.MIB) as memory, addresses.map(memory, 4 * plat.MIB):
    ...         picture = plat.draw(addresses)
    >>> picture.svg[:4], picture.svg.count("mapped at offset 4 MiB")
    ('<svg', 1)
    """
    if not things:
        raise TypeError(f"draw what? {_KNOWN}")
    sheet = Canvas()
    for thing in things:
        sheet.add(_picture(thing))
    return Drawing(sheet.svg())


def _picture(thing: Any) -> Canvas:
    from ._record import Recording
    if isinstance(thing, Recording):
        return _recording(thing)
    # By name, and not by class: a recording is drawn without the module acl too.
    names = {each.__name__ for each in type(thing).__mro__}
    for name, picture in (("Device", draw_device), ("Reservation", _reservation), ("Pool", draw_pool), ("Block", draw_block)):
        if name in names:
            return picture(thing)
    raise TypeError(f"a {type(thing).__name__} cannot be drawn; what can: {_KNOWN}")


def _live(owner: Any) -> List[Any]:
    return sorted((child for child in owner._living() if hasattr(child, "address")), key=lambda child: child.address)


def _scale(value: float, first: float, last: float) -> float:
    return LEFT + (RIGHT - LEFT) * (value - first) / max(last - first, 1)


def _reservation(reservation: Any) -> Canvas:
    canvas = Canvas()
    mappings = [] if reservation.closed else _live(reservation)
    mapped = sum(mapping.size for mapping in mappings)
    state = "closed" if reservation.closed else f"{size_text(mapped)} mapped"
    canvas.text(LEFT, 16, f"Reservation of {size_text(reservation.size)} at {reservation.address:#x}, {state}", 13)
    canvas.box(LEFT, 24, RIGHT - LEFT, 36, EMPTY, "reserved, without memory", FAINT)
    for index, mapping in enumerate(mappings):
        offset = mapping.address - reservation.address
        left, right = _scale(offset, 0, reservation.size), _scale(offset + mapping.size, 0, reservation.size)
        canvas.box(left, 24, max(right - left, 2), 36, COLOURS[index % len(COLOURS)],
                   f"{size_text(mapping.size)} mapped at offset {size_text(offset)}, {mapping.address:#x}", "#ffffff")
    canvas.text(LEFT, 74, "0", 10)
    canvas.text(RIGHT, 74, size_text(reservation.size), 10, "end")
    return canvas


def _lanes(lives: List[Any], end: int) -> List[Tuple[Any, int]]:
    """Each life with the first lane that is free at its birth."""
    free_from: List[int] = []
    placed = []
    for life in sorted(lives, key=lambda life: life.born):
        until = life.died or end
        for lane, free in enumerate(free_from):
            if free <= life.born:
                free_from[lane] = until
                break
        else:
            lane = len(free_from)
            free_from.append(until)
        placed.append((life, lane))
    return placed


def _recording(recording: Any) -> Canvas:
    canvas = Canvas()
    timeline, peak = recording.timeline, recording.peak_bytes
    canvas.text(LEFT, 16, f"Device memory over {recording.events} calls: at most {size_text(peak)}, "
                           f"{count_text(recording.errors, 'error')}, {count_text(recording.warnings, 'warning')}", 13)
    if not recording.lives:
        return canvas
    first = min(life.born for life in recording.lives)
    last = max(life.died or life.born for life in recording.lives) + 1
    if timeline:
        points, held = [], 0
        for event, after in [*timeline, (last, timeline[-1][1])]:
            x = _scale(event, first, last)
            points += [(x, 104 - 80 * held / max(peak, 1)), (x, 104 - 80 * after / max(peak, 1))]
            held = after
        canvas.area(points, 104, COLOURS[0])
    kinds = sorted({life.kind for life in recording.lives})
    for life, lane in _lanes(recording.lives, last):
        if lane >= _LANES_MAX:
            continue
        left, right = _scale(life.born, first, last), _scale(life.died or last, first, last)
        where = f"\n{life.stack[0]}" if life.stack else ""
        until = f"to {life.died}" if life.died else "and lives on"
        canvas.box(left, 116 + 9 * lane, right - left, 7, COLOURS[kinds.index(life.kind) % len(COLOURS)],
                   f"{life.kind} {life.name} of {size_text(life.size)} at {life.address:#x}, from event {life.born} {until}{where}")
    canvas.legend(kinds)
    return canvas
