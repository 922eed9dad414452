"""Figures of a speed-up in words, the same in every format."""

from __future__ import annotations

from collections.abc import Mapping

from kernel_gate.verdict import ShapeSpeed, Speedup


def dims_text(dims: Mapping[str, int]) -> str:
    """`N 8192, C 4096`."""
    return ", ".join(f"{name} {extent}" for name, extent in dims.items())


def interval(speed: ShapeSpeed | Speedup) -> str:
    """`1.280× (1.260 … 1.300)`: the ratio of the times with its 95 % interval."""
    return f"{speed.median:.3f}× ({speed.low:.3f} … {speed.high:.3f})"


def times(shape: ShapeSpeed) -> str:
    """`100.0 → 80.0 µs`."""
    return f"{shape.baseline_us:.1f} → {shape.candidate_us:.1f} µs"


def shape_line(shape: ShapeSpeed) -> str:
    """One shape in one line."""
    return (
        f"{dims_text(shape.dims)}: {interval(shape)}, {times(shape)}, noise ±{shape.noise:.2%}, {shape.state}"
    )
