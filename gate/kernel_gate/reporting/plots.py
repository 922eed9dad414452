"""The plots of a verdict: ratio by shape, distribution of the samples, roofline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernel_gate.reporting import svg
from kernel_gate.reporting.figures import dims_text
from kernel_gate.verdict import ShapeSpeed

_WIDTH = 680
_LEFT = 150
"""Pixels for the names of shapes."""
_AXIS = 78
"""Pixels for the ticks of an upright axis."""
_MOST_DOTS = 200
_MOST_STEPS = 300


def ratios(shapes: Sequence[ShapeSpeed]) -> str:
    """Baseline time over candidate time for each shape, with its interval and the noise band around 1."""
    row, top = 30, 12
    low = min(min(s.low for s in shapes), 1 - 2 * max(s.noise for s in shapes))
    high = max(max(s.high for s in shapes), 1 + 2 * max(s.noise for s in shapes))
    margin = 0.06 * (high - low)
    x = svg.Axis(low - margin, high + margin, _LEFT, _WIDTH - 60)
    bottom = top + row * len(shapes)
    parts = [svg.bottom_axis(x, bottom, top, "baseline time / candidate time")]
    parts.append(svg.line((x.at(1), top), (x.at(1), bottom), "one"))
    for number, shape in enumerate(shapes):
        y = top + row * (number + 0.5)
        parts.append(svg.box((x.at(1 - shape.noise), y - 11), (x.at(1 + shape.noise), y + 11), "band"))
        parts.append(svg.text(_LEFT - 10, y + 4, dims_text(shape.dims), "", "end"))
        parts.append(svg.line((x.at(shape.low), y), (x.at(shape.high), y), f"interval {shape.state}"))
        tooltip = f"{shape.median:.4f} ({shape.low:.4f} … {shape.high:.4f}), noise ±{shape.noise:.2%}"
        parts.append(svg.dot((x.at(shape.median), y), 5, f"state {shape.state}", tooltip))
        parts.append(svg.text(_WIDTH - 52, y + 4, f"{shape.median:.3f}×"))
    return svg.figure(_WIDTH, bottom + 40, "Ratio of the times by shape", parts)


def distribution(baseline: Sequence[float], candidate: Sequence[float]) -> str:
    """Samples in µs: the share that is at most so long, and below it the samples themselves."""
    both = np.asarray([*baseline, *candidate], dtype=np.float64)
    low, high = np.quantile(both, [0.005, 0.995])
    margin = max(0.04 * (high - low), 1e-3 * high)
    x = svg.Axis(float(low - margin), float(high + margin), _AXIS, _WIDTH - 20)
    y = svg.Axis(0.0, 1.0, 170, 24)
    parts = [
        svg.bottom_axis(x, 226, 24, "µs per launch"),
        svg.left_axis(y, _AXIS, _WIDTH - 20, "share of samples"),
    ]
    for kind, values, strip in (("baseline", baseline, 190), ("candidate", candidate, 210)):
        ordered = np.sort(np.asarray(values, dtype=np.float64))
        parts.append(svg.path(_steps(ordered, x, y), f"ecdf {kind}"))
        parts.append(svg.text(_AXIS - 8, strip + 4, kind, f"s {kind}", "end"))
        chosen = ordered[np.linspace(0, len(ordered) - 1, min(len(ordered), _MOST_DOTS)).astype(int)]
        parts += [svg.dot((x.at(v), strip), 3, f"sample {kind}") for v in chosen]
        middle = float(np.median(ordered))
        parts.append(svg.line((x.at(middle), 24), (x.at(middle), 218), f"median {kind}"))
    return svg.figure(_WIDTH, 262, "Distribution of the times of both programs", parts)


def _steps(
    ordered: np.ndarray[tuple[int], np.dtype[np.float64]], x: svg.Axis, y: svg.Axis
) -> list[svg.Point]:
    """The empirical distribution as a staircase of a bounded number of steps."""
    ranks = np.linspace(0, len(ordered) - 1, min(len(ordered), _MOST_STEPS)).astype(int)
    points: list[svg.Point] = [(x.start, y.at(0.0))]
    share = 0.0
    for rank in ranks:
        points.append((x.at(float(ordered[rank])), y.at(share)))
        share = (int(rank) + 1) / len(ordered)
        points.append((x.at(float(ordered[rank])), y.at(share)))
    return [*points, (x.end, y.at(1.0))]


@dataclass(frozen=True, slots=True)
class Work:
    """What one shape asks of the device, and how long both programs take for it."""

    label: str
    bytes_moved: float
    flop: float
    baseline_us: float
    candidate_us: float
    peak_bytes_per_second: float
    peak_flop_per_second: float


def roofline(work: Sequence[Work]) -> str:
    """FLOP/s over FLOP per byte, logarithmic, under the device's roof: its peak rate and its memory's bandwidth."""
    peak_flop, peak_bytes = work[0].peak_flop_per_second, work[0].peak_bytes_per_second
    ridge = peak_flop / peak_bytes
    intensities = [w.flop / w.bytes_moved for w in work]
    rates = [w.flop / t * 1e6 for w in work for t in (w.baseline_us, w.candidate_us)]
    x = svg.Axis(
        min([ridge / 100, *(i / 2 for i in intensities)]),
        max([ridge * 10, *(i * 2 for i in intensities)]),
        _AXIS,
        _WIDTH - 20,
        log=True,
    )
    y = svg.Axis(min([peak_flop / 1e4, *(r / 2 for r in rates)]), peak_flop * 2, 240, 24, log=True)
    roof = [(x.at(i), y.at(min(peak_flop, i * peak_bytes))) for i in (x.low, ridge, x.high)]
    parts = [svg.bottom_axis(x, 240, 24, "FLOP per byte"), svg.left_axis(y, _AXIS, _WIDTH - 20, "FLOP/s")]
    parts.append(svg.path(roof, "roof"))
    for one, intensity in zip(work, intensities, strict=True):
        before, after = (one.flop / t * 1e6 for t in (one.baseline_us, one.candidate_us))
        ends = (x.at(intensity), y.at(before)), (x.at(intensity), y.at(after))
        limit = min(peak_flop, intensity * peak_bytes)
        parts.append(svg.line(*ends, "move"))
        for kind, at, rate in (("baseline", ends[0], before), ("candidate", ends[1], after)):
            parts.append(
                svg.dot(at, 5, f"state {kind}", f"{kind}, {one.label}: {rate / limit:.0%} of the roof")
            )
    return svg.figure(_WIDTH, 276, "Roofline", parts)


def bandwidth(work: Sequence[Work]) -> str:
    """Share of the memory's peak rate that both programs reach with the bytes that the workload declares."""
    row, top = 40, 12
    bottom = top + row * len(work)
    shares = [
        w.bytes_moved / t * 1e6 / w.peak_bytes_per_second
        for w in work
        for t in (w.baseline_us, w.candidate_us)
    ]
    x = svg.Axis(0.0, max(1.0, *shares) * 100, _LEFT, _WIDTH - 60)
    parts = [svg.bottom_axis(x, bottom, top, "% of the memory's peak rate")]
    for number, one in enumerate(work):
        y = top + row * number
        parts.append(svg.text(_LEFT - 10, y + row / 2 + 4, one.label, "", "end"))
        for kind, start, micros in (
            ("baseline", y + 6, one.baseline_us),
            ("candidate", y + 21, one.candidate_us),
        ):
            share = one.bytes_moved / micros * 1e6 / one.peak_bytes_per_second * 100
            parts.append(svg.box((x.at(0), start), (x.at(share), start + 13), f"bar {kind}"))
            parts.append(svg.text(_WIDTH - 52, start + 11, f"{share:.1f} %", "s"))
    return svg.figure(_WIDTH, bottom + 40, "Share of the memory's peak rate", parts)
