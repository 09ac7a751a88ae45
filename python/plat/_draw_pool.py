# SPDX-License-Identifier: Apache-2.0
"""Pictures of a device, a pool and a block. A pool has addresses for far more than it holds: what it holds is drawn, piece by piece, and the
empty addresses between the pieces are left out."""
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from ._svg import COLOURS, EMPTY, FAINT, INK, LEFT, RIGHT, Canvas, size_text

_GAP = 6         # pixels between two pieces
_PIECES_MAX = 40
_PAGE = 2 << 20  # holes below this are shown as idle memory of a piece


class Part(NamedTuple):
    """Memory that somebody holds."""
    start: int
    size: int
    kind: str
    words: str


def parts_of(pool: Any) -> List[Part]:
    """What was taken from a pool, by blocks, arenas, caches and pools around it, in order of addresses."""
    found: List[Part] = []
    for child in pool._living():
        name = type(child).__name__
        if name == "Block":
            kind = f"tag {child.tag}" if child.tag else child.purpose
            found.append(Part(child.address, child.size, kind, f"block of {size_text(child.size)} at {child.address:#x}, {kind}"))
        elif name == "ArenaBlock":
            found.append(Part(child.address, child.size, "arena", f"block of {size_text(child.size)} at {child.address:#x} in an arena"))
        elif name == "KvCache":
            words = f"KV cache of {child.tokens} tokens, {size_text(child.backed_bytes)} at {child.address:#x}"
            found.append(Part(child.address, child.backed_bytes, "KV cache", words))
        elif hasattr(child, "_living"):
            found += parts_of(child)
    return sorted(part for part in found if part.size)


def pieces_of(parts: Sequence[Part]) -> List[List[Part]]:
    """Parts that lie near each other, in one piece; the wider the gaps that count as near, the fewer pieces there are."""
    near = _PAGE
    while True:
        pieces: List[List[Part]] = []
        end = 0
        for part in parts:
            if not pieces or part.start > end + near:
                pieces.append([])
            pieces[-1].append(part)
            end = max(end, part.start + part.size)
        if len(pieces) <= _PIECES_MAX:
            return pieces
        near *= 4


def _end(piece: Sequence[Part]) -> int:
    return max(part.start + part.size for part in piece)


def _columns(piece: Sequence[Part], left: float, scale: float) -> List[Tuple[float, float, List[Part]]]:
    """Where parts are drawn. Those of a kind that share a pixel are one box, so that a million are drawn as well as ten."""
    boxes: List[Tuple[float, float, List[Part]]] = []
    for part in piece:
        x = left + (part.start - piece[0].start) * scale
        right = x + part.size * scale
        if boxes and right - boxes[-1][0] < 1 and boxes[-1][2][0].kind == part.kind:
            boxes[-1][2].append(part)
            boxes[-1] = (boxes[-1][0], right, boxes[-1][2])
        else:
            boxes.append((x, right, [part]))
    return boxes


def _draw_pieces(canvas: Canvas, top: float, parts: Sequence[Part], kinds: Sequence[str], marked: int = 0) -> None:
    """The pieces side by side; sizes are true to each other."""
    pieces = pieces_of(parts)
    whole = sum(_end(piece) - piece[0].start for piece in pieces)
    scale = (RIGHT - LEFT - _GAP * (len(pieces) - 1)) / whole
    left = float(LEFT)
    for piece in pieces:
        size = _end(piece) - piece[0].start
        canvas.box(left, top, size * scale, 36, EMPTY, f"{size_text(size)} from {piece[0].start:#x}", FAINT)
        for x, right, inside in _columns(piece, left, scale):
            words = inside[0].words if len(inside) == 1 else \
                f"{len(inside)} blocks of {size_text(sum(part.size for part in inside))} from {inside[0].start:#x}, {inside[0].kind}"
            is_marked = any(part.start == marked for part in inside)
            canvas.box(x, top, max(right - x, 1), 36, COLOURS[kinds.index(inside[0].kind) % len(COLOURS)], words, INK if is_marked else "none")
            if is_marked:
                canvas.text(min(max((x + right) / 2, LEFT + 10), RIGHT - 10), top + 50, "\u25b2 here", 10, "middle")
        left += size * scale + _GAP
    if not marked:
        canvas.text(LEFT, top + 50, f"{parts[0].start:#x}", 10)
        canvas.text(RIGHT, top + 50, f"{_end(pieces[-1]):#x}", 10, "end")


def _bar(canvas: Canvas, top: float, whole: int, fills: Dict[str, int], rest: str) -> None:
    """Shares of a whole, in the order of the colours."""
    canvas.box(LEFT, top, RIGHT - LEFT, 16, EMPTY, rest, FAINT)
    left = float(LEFT)
    for index, (words, size) in enumerate(fills.items()):
        width = (RIGHT - LEFT) * size / max(whole, 1)
        if size:
            canvas.box(left, top, width, 16, COLOURS[index % len(COLOURS)], f"{words}: {size_text(size)}")
        left += width


def draw_pool(pool: Any, marked: int = 0) -> Canvas:
    """What the pool holds from the device, and the blocks in it. `marked` is the address of the block that it is about."""
    canvas = Canvas()
    if pool.closed:
        canvas.text(LEFT, 16, f"Pool {pool.name!r}, closed", 13)
        return canvas
    stats, parts = pool.stats, parts_of(pool)
    asleep = f", {size_text(stats['asleep_bytes'])} asleep" if stats["asleep_bytes"] else ""
    canvas.text(LEFT, 16, f"Pool {pool.name!r}: {stats['live_blocks']} blocks, {size_text(stats['used_bytes'])} used of "
                          f"{size_text(stats['reserved_bytes'])} held{asleep}, at most {size_text(stats['used_peak'])} used", 13)
    held = max(stats["reserved_bytes"], stats["used_bytes"])
    _bar(canvas, 24, held, {"used": stats["used_bytes"]}, f"{size_text(stats['reserved_bytes'])} held from the device")
    if parts:
        kinds = sorted({part.kind for part in parts})
        _draw_pieces(canvas, 48, parts, kinds, marked)
        canvas.legend(kinds)
    return canvas


def draw_block(block: Any) -> Canvas:
    """A block, and where it lies in its pool."""
    if block.closed or block.pool.closed:
        canvas = Canvas()
        canvas.text(LEFT, 16, f"Block of {size_text(block.size)}, closed", 13)
        return canvas
    like = block._array_words()
    canvas = Canvas()
    canvas.text(LEFT, 16, f"Block of {size_text(block.size)} at {block.address:#x}{like}", 13)
    canvas.add(draw_pool(block.pool, block.address))
    return canvas


def draw_device(device: Any) -> Canvas:
    """Who holds the memory of a device: what was made from it here, the rest of this process and others, and nobody."""
    canvas = Canvas()
    if device.closed:
        canvas.text(LEFT, 16, f"Device {device.index}, closed", 13)
        return canvas
    with device._here():
        total, free = device.total_bytes, device.free_bytes
    fills = {"physical memory": 0, "pools": 0, "managed memory": 0}
    for child in device._living():
        name = {each.__name__ for each in type(child).__mro__}
        if "PhysicalMemory" in name:
            fills["physical memory"] += child.size
        elif "Pool" in name:
            stats = child.stats
            fills["pools"] += stats["reserved_bytes"] - stats["host_bytes"]
        elif "ManagedMemory" in name:
            fills["managed memory"] += child.size
    fills["others"] = max(total - free - sum(fills.values()), 0)
    canvas.text(LEFT, 16, f"Device {device.index}: {size_text(total - free)} of {size_text(total)} taken, {size_text(free)} free", 13)
    _bar(canvas, 24, max(total, sum(fills.values())), fills, f"free: {size_text(free)}")
    canvas.legend([f"{words}: {size_text(size)}" for words, size in fills.items()])
    return canvas
