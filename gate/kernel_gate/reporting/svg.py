"""Axes and marks of the plots as SVG text; colours are the page's, so that light and dark both work."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernel_gate.cleaning import for_xml

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axis:
    """Values from `low` to `high` on pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value; values beyond the ends stay at the ends."""
        low, high, v = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, v = math.log10(low), math.log10(high), math.log10(v)
        share = (v - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values, three to eight of them; powers of ten on a logarithmic axis."""
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            return [10.0**e for e in range(first, last + 1)]
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        power = 10.0 ** math.floor(math.log10(span / 4))
        step = next(m * power for m in (1, 2, 2.5, 5, 10) if span / (m * power) <= 6)
        first = math.ceil(self.low / step - 1e-9)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def figure(width: int, height: int, label: str, body: Iterable[str]) -> str:
    """One picture that scales down with the page."""
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{for_xml(label)}">{"".join(body)}</svg>'
    )


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Words at a point."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{for_xml(words)}</text>'


def line(a: Point, b: Point, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" class="{kind}"/>'


def path(points: Sequence[Point], kind: str) -> str:
    """A line through points."""
    steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{steps}" class="{kind}"/>'


def dot(at: Point, radius: float, kind: str, tooltip: str = "") -> str:
    """A dot, with words when the pointer rests on it."""
    title = f"<title>{for_xml(tooltip)}</title>" if tooltip else ""
    return f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:g}" class="{kind}">{title}</circle>'


def box(a: Point, b: Point, kind: str) -> str:
    """A filled rectangle between two corners."""
    x, y = min(a[0], b[0]), min(a[1], b[1])
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{abs(b[0] - a[0]):.1f}" height="{abs(b[1] - a[1]):.1f}" '
        f'class="{kind}"/>'
    )


def bottom_axis(axis: Axis, y: float, top: float, unit: str) -> str:
    """Ticks below, and faint lines up through the plot."""
    parts = [line((axis.start, y), (axis.end, y), "axis")]
    for tick in axis.ticks():
        x = axis.at(tick)
        parts += [line((x, y), (x, top), "grid"), text(x, y + 16, short(tick), "s", "middle")]
    parts.append(text(axis.end, y + 32, unit, "s", "end"))
    return "".join(parts)


def left_axis(axis: Axis, x: float, right: float, unit: str) -> str:
    """Ticks at the left, and faint lines across the plot."""
    parts = [line((x, axis.start), (x, axis.end), "axis")]
    for tick in axis.ticks():
        y = axis.at(tick)
        parts += [line((x, y), (right, y), "grid"), text(x - 6, y + 4, short(tick), "s", "end")]
    parts.append(text(x, axis.end - 8, unit, "s"))
    return "".join(parts)


def short(value: float) -> str:
    """`1.5 T`, `20 G`, `1.05`: a tick's value."""
    for power, letter in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= power:
            return f"{value / power:g} {letter}"
    return f"{value:.6g}"
