# SPDX-License-Identifier: Apache-2.0
"""A drawing by itself: shapes with words on them, as one SVG that needs nothing else."""
from typing import List, Optional, Sequence
from xml.sax.saxutils import escape, quoteattr

WIDTH = 760
LEFT, RIGHT = 8, WIDTH - 8  # where drawings begin and end
INK, PAPER, FAINT, EMPTY = "#24292f", "#ffffff", "#d0d7de", "#f6f8fa"
COLOURS = ("#4c8eda", "#e0823d", "#5aa469", "#b565a7", "#c9a227", "#4fb3bf", "#d1605e", "#8c8c8c")


def size_text(size: float) -> str:
    """1536 -> 1.5 KiB"""
    for unit in "bytes", "KiB", "MiB", "GiB":
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.4g} {unit}"


def count_text(things: Sequence[object], what: str) -> str:
    """1 error, 2 errors"""
    return f"{len(things)} {what}" + ("" if len(things) == 1 else "s")


class Canvas:
    """Shapes from top to bottom; y grows with what is drawn."""

    def __init__(self) -> None:
        self._shapes: List[str] = []
        self.height = 0.0

    def _reach(self, y: float) -> None:
        self.height = max(self.height, y)

    def text(self, x: float, y: float, words: str, size: int = 12, anchor: str = "start") -> None:
        self._shapes.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{INK}">{escape(words)}</text>')
        self._reach(y + size / 2)

    def box(self, x: float, y: float, width: float, height: float, fill: str, words: str = "", line: str = "none") -> None:
        """A rectangle; the words show when the mouse rests on it."""
        title = f"<title>{escape(words)}</title>" if words else ""
        self._shapes.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height:.1f}" fill="{fill}" '
                            f'stroke="{line}">{title}</rect>')
        self._reach(y + height)

    def area(self, points: "List[tuple[float, float]]", floor: float, fill: str) -> None:
        """What lies under a line."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in [(points[0][0], floor), *points, (points[-1][0], floor)])
        self._shapes.append(f'<polygon points="{path}" fill="{fill}" fill-opacity="0.6" stroke="{fill}"/>')
        self._reach(floor)

    def legend(self, words: "Sequence[str]") -> None:
        """Which colour is what, below all else: the n-th colour has the n-th words."""
        x, y = float(LEFT), self.height + 18
        for index, each in enumerate(words):
            width = 36 + 5.6 * len(each)  # about
            if x + width > RIGHT and x > LEFT:
                x, y = float(LEFT), y + 16
            self.box(x, y - 8, 9, 9, COLOURS[index % len(COLOURS)])
            self.text(x + 14, y, each, 10)
            x += width

    def add(self, other: "Canvas") -> None:
        """Another drawing below this one."""
        top = self.height + 16 if self._shapes else 0
        self._shapes.append(f'<g transform="translate(0 {top:.1f})">{"".join(other._shapes)}</g>')
        self._reach(top + other.height)

    def svg(self, name: Optional[str] = None) -> str:
        height = self.height + 8
        return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label={quoteattr(name or "device memory")} '
                f'viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" font-family="sans-serif">'
                f'<rect width="100%" height="100%" fill="{PAPER}"/>{"".join(self._shapes)}</svg>')
