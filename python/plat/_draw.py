# SPDX-License-Identifier: Apache-2.0
"""Pictures of memory: a range and what is mapped in it, a pool and its blocks, and what happened in a recording."""
import os
from typing import Any, List, Tuple, Union

from ._svg import COLOURS, FAINT, WIDTH, Canvas, size_text

_LEFT, _RIGHT = 8, WIDTH - 8
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
    """Draws reservations, pools and recordings, one below the other.

    >>> import plat
    >>> with plat.Device(0) as device, device.reserve(8 * plat.MIB) as addresses:
    ...     with device.allocate(2 * plat.MIB) as memory, addresses.map(memory, 4 * plat.MIB):
    ...         picture = plat.draw(addresses)
    >>> picture.svg[:4], picture.svg.count("mapped at offset 4 MiB")
    ('<svg', 1)
    """
    if not things:
        raise TypeError("draw what? A Reservation, a Pool or a Recording")
    sheet = Canvas()
    for thing in things:
        sheet.add(_picture(thing))
    return Drawing(sheet.svg())


def _picture(thing: Any) -> Canvas:
    from ._record import Recording
    if isinstance(thing, Recording):
        return _recording(thing)
    # Not imported here: a recording is drawn without the module acl too.
    kind = type(thing).__name__
    if kind == "Reservation":
        return _reservation(thing)
    if kind == "Pool":
        return _pool(thing)
    raise TypeError(f"a {kind} cannot be drawn; a Reservation, a Pool or a Recording can")


def _live(owner: Any) -> List[Any]:
    return sorted((child for child in owner._living() if hasattr(child, "address")), key=lambda child: child.address)


def _scale(value: float, first: float, last: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (value - first) / max(last - first, 1)


def _reservation(reservation: Any) -> Canvas:
    canvas = Canvas()
    mappings = [] if reservation.closed else _live(reservation)
    mapped = sum(mapping.size for mapping in mappings)
    state = "closed" if reservation.closed else f"{size_text(mapped)} mapped"
    canvas.text(_LEFT, 16, f"Reservation of {size_text(reservation.size)} at {reservation.address:#x}, {state}", 13)
    canvas.box(_LEFT, 24, _RIGHT - _LEFT, 36, "#f6f8fa", "reserved, without memory", FAINT)
    for index, mapping in enumerate(mappings):
        offset = mapping.address - reservation.address
        left, right = _scale(offset, 0, reservation.size), _scale(offset + mapping.size, 0, reservation.size)
        canvas.box(left, 24, right - left, 36, COLOURS[index % len(COLOURS)],
                   f"{size_text(mapping.size)} mapped at offset {size_text(offset)}, {mapping.address:#x}", "#ffffff")
    canvas.text(_LEFT, 74, "0", 10)
    canvas.text(_RIGHT, 74, size_text(reservation.size), 10, "end")
    return canvas


def _pool(pool: Any) -> Canvas:
    canvas = Canvas()
    if pool.closed:
        canvas.text(_LEFT, 16, "Pool, closed", 13)
        return canvas
    stats, blocks = pool.stats, _live(pool)
    canvas.text(_LEFT, 16, f"Pool: {stats['live_blocks']} blocks, {size_text(stats['used_bytes'])} used of "
                           f"{size_text(stats['reserved_bytes'])} held, at most {size_text(stats['used_peak'])} used", 13)
    whole = max(stats["reserved_bytes"], 1)
    canvas.box(_LEFT, 24, _RIGHT - _LEFT, 12, "#f6f8fa", f"{size_text(stats['reserved_bytes'])} held from the device", FAINT)
    canvas.box(_LEFT, 24, (_RIGHT - _LEFT) * min(1, stats["used_bytes"] / whole), 12, COLOURS[0], f"{size_text(stats['used_bytes'])} used")
    if blocks:
        first, last = blocks[0].address, max(block.address + block.size for block in blocks)
        canvas.box(_LEFT, 44, _RIGHT - _LEFT, 36, "#f6f8fa", "", FAINT)
        for index, block in enumerate(blocks):
            left, right = _scale(block.address, first, last), _scale(block.address + block.size, first, last)
            canvas.box(left, 44, right - left, 36, COLOURS[index % len(COLOURS)], f"block of {size_text(block.size)} at {block.address:#x}")
        canvas.text(_LEFT, 94, f"{first:#x}", 10)
        canvas.text(_RIGHT, 94, f"{last:#x}", 10, "end")
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


def _count(found: Any, what: str) -> str:
    return f"{len(found)} {what}" + ("" if len(found) == 1 else "s")


def _recording(recording: Any) -> Canvas:
    canvas = Canvas()
    timeline, peak = recording.timeline, recording.peak_bytes
    canvas.text(_LEFT, 16, f"Device memory over {recording.events} calls: at most {size_text(peak)}, "
                           f"{_count(recording.errors, 'error')}, {_count(recording.warnings, 'warning')}", 13)
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
    y = canvas.height + 18
    for index, kind in enumerate(kinds):
        canvas.box(_LEFT + 120 * (index % 6), y + 16 * (index // 6) - 8, 9, 9, COLOURS[index % len(COLOURS)])
        canvas.text(_LEFT + 14 + 120 * (index % 6), y + 16 * (index // 6), kind, 10)
    return canvas
