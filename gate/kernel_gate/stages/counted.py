"""Counts of both programs on one small case: what their executed addresses and branches cost, never a time.

They stand in the details of the sanitize stage as `counts`, before → after, and decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.devices.base import Device, DeviceError
from kernel_gate.devices.launch_counts import LaunchCounts
from kernel_gate.devices.opening import open_quiet
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError
from kernel_gate.shapes import elements
from kernel_gate.workload import Workload

_MOST_ELEMENTS = 1 << 16
_SECONDS = 0.75
"""What one launch of each program may take."""
_RATIOS = {
    "sectors_per_request": ("sectors per global request", "global_requests"),
    "wavefronts_per_request": ("wavefronts per shared request", "shared_requests"),
}
_NUMBERS = {
    "instructions": "warp instructions",
    "divergent_branches": "divergent branches",
    "barriers": "barriers of warps",
    "atomics": "atomics of warps",
}


class _Uncounted(Exception):  # noqa: N818
    """A program that did not run to its end."""


def counts_of(
    baseline: Built, candidate: Built, workload: Workload, passed: Sequence[Case]
) -> dict[str, Any]:
    """For a stage's details, as `counts`: of the largest named case that is small, or why there are none."""
    case = _case(workload, passed)
    if case is None:
        return {"unavailable": f"no named case has at most {_MOST_ELEMENTS} elements"}
    return {"case": str(case), **_both(baseline, candidate, workload, case)}


def _case(workload: Workload, passed: Sequence[Case]) -> Case | None:
    named = [c for c in passed if c.required and elements(workload, c.dims) <= _MOST_ELEMENTS]
    return max(named, key=lambda c: elements(workload, c.dims), default=None)


def _both(baseline: Built, candidate: Built, workload: Workload, case: Case) -> dict[str, Any]:
    device = open_quiet(_SECONDS, counts=True)
    try:
        before = _counted(device, baseline, workload, case)
        after = _counted(device, candidate, workload, case)
    except (_Uncounted, LaunchError, DeviceError) as error:
        return {"unavailable": str(error)}
    finally:
        device.close()
    return {
        "before": before.document(),
        "after": after.document(),
        "summary": list(summary(before, after)),
    }


def _counted(device: Device, built: Built, workload: Workload, case: Case) -> LaunchCounts:
    with LoadedProgram(device, built, workload).execution(case.dims) as execution:
        done = execution.run(make_inputs(workload, case), 0)
    counted = done.result.counted
    if done.faults or counted is None:
        why = done.faults[0].message if done.faults else "the device counted nothing"
        raise _Uncounted(f"{built.label}: {why}")
    return counted.shifted(built.program.first_line - 1)


def summary(before: LaunchCounts, after: LaunchCounts) -> Iterator[str]:
    """What changed, a sentence each: ratios with the lines that they are worst at, then totals."""
    for ratio, (words, requests) in _RATIOS.items():
        values = [getattr(c.total, ratio) for c in (before, after)]
        if values[0] == values[1]:
            continue
        worst = " → ".join(_worst(c, ratio, requests) for c in (before, after))
        yield f"{words} {_ratio(values[0])} → {_ratio(values[1])} (worst: {worst})"
    changed = [
        f"{words} {old:,} → {new:,}"
        for name, words in _NUMBERS.items()
        if (old := getattr(before.total, name)) != (new := getattr(after.total, name))
    ]
    if changed:
        yield ", ".join(changed)


def _ratio(value: float | None) -> str:
    return "none" if value is None else f"{value:.1f}"


def _worst(counts: LaunchCounts, ratio: str, requests: str) -> str:
    """The line with the highest ratio; of several, the one with the most requests."""
    lines = [(line, tally) for line, tally in counts.lines.items() if getattr(tally, ratio) is not None]
    if not lines:
        return "none"
    line, tally = max(lines, key=lambda row: (getattr(row[1], ratio), getattr(row[1], requests)))
    return f"{_ratio(getattr(tally, ratio))} at {'an unknown line' if line is None else f'line {line}'}"
