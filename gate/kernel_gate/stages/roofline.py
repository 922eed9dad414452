"""What the work of a shape costs at least on a device, and which share of the device's peaks was reached.

Williams, Waterman and Patterson, Roofline (CACM 52(4), 2009): time ≥ bytes / bandwidth and time ≥ operations / rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kernel_gate.dtypes import DTYPES
from kernel_gate.expressions import evaluate
from kernel_gate.stages.counted_work import value_of
from kernel_gate.workload import Workload

_CERTAIN = 0.95
"""Share of a floor under which a time is impossible: room for the clocks that the driver states."""


@dataclass(frozen=True, slots=True)
class Work:
    """Bytes and operations of one shape beside what the device can do."""

    bytes: float
    bytes_from: Literal["declared", "counted", "arguments"]
    """`[work] bytes`; what the candidate was counted to move; or every input read and every output written once, which
    a kernel may undercut."""
    flops: float | None
    """`[work] flops`, or what the candidate was counted to do; None when neither is known."""
    flops_from: Literal["declared", "counted", "not known"]
    counted_at: str
    """The largest shape that was counted, where the counts cannot be carried over to this one: `N=3, C=70`; else ""."""
    peak_bytes_per_second: float
    peak_flops_per_second: float | None
    floor_us: float
    """No launch with a cold cache can take less."""

    def against(self, baseline_us: float, candidate_us: float) -> dict[str, Any]:
        """The roofline and where both programs stand, for the details of a shape."""
        details: dict[str, Any] = {
            "bytes_declared": self.bytes,
            "bytes_from": self.bytes_from,
            "flops_from": self.flops_from,
            "bytes_per_second": self.bytes / candidate_us * 1e6,
            "peak_bytes_per_second": self.peak_bytes_per_second,
            "bandwidth_share": {
                "baseline": self.bytes / baseline_us * 1e6 / self.peak_bytes_per_second,
                "candidate": self.bytes / candidate_us * 1e6 / self.peak_bytes_per_second,
            },
            "floor_us": self.floor_us,
        }
        if self.counted_at:
            details["counted_at"] = self.counted_at
        if self.flops is not None and self.peak_flops_per_second is not None:
            details |= {
                "flop": self.flops,
                "flop_per_second": self.flops / candidate_us * 1e6,
                "peak_flop_per_second": self.peak_flops_per_second,
                "flop_share": {
                    "baseline": self.flops / baseline_us * 1e6 / self.peak_flops_per_second,
                    "candidate": self.flops / candidate_us * 1e6 / self.peak_flops_per_second,
                },
            }
        return details


def work_of(
    workload: Workload,
    dims: Mapping[str, int],
    device: Mapping[str, Any],
    counted: Mapping[str, Any] | None = None,
) -> Work:
    """The work of a shape. `device` is what `Device.describe` says, `counted` what `counted_work` says.

    Buffers other than outputs count towards the floor only where the workload declares the bytes, or the candidate was
    counted to move them: a right kernel may leave a part of an input unread, as of a buffer that it updates, but not
    all of what it reads at other shapes. Of what is written, as much as the L2 cache holds may reach memory after the
    launch.
    """
    names = {**dims, **workload.scalars(dims)}
    declared, terms = workload.work, (counted or {}).get("terms", {})
    needed: float = _bytes(workload, dims, {"output"})
    updated = _bytes(workload, dims, {"inout"})
    written, moved = needed, needed + 2 * updated + _bytes(workload, dims, {"input"})
    bytes_from: Literal["declared", "counted", "arguments"] = "arguments"
    if declared.bytes is not None:
        moved = needed = float(evaluate(declared.bytes, names))
        bytes_from = "declared"
    elif {"read_bytes", "written_bytes"} <= terms.keys():
        written = value_of(terms["written_bytes"], dims)
        moved = needed = float(value_of(terms["read_bytes"], dims) + written)
        bytes_from = "counted"
    flops: float | None = None
    flops_from: Literal["declared", "counted", "not known"] = "not known"
    if declared.flops is not None:
        flops, flops_from = float(evaluate(declared.flops, names)), "declared"
    elif "flops" in terms:
        flops, flops_from = float(value_of(terms["flops"], dims)), "counted"
    bandwidth = float(device["peak_bytes_per_second"])
    rate = device.get("peak_flops_per_second")
    floor = max(0.0, needed - min(written, int(device["l2_bytes"]))) / bandwidth
    if flops is not None and device.get("most_flops_per_second"):
        floor = max(floor, flops / float(device["most_flops_per_second"]))
    is_complete = bytes_from != "arguments" and flops_from != "not known"
    return Work(
        bytes=moved,
        bytes_from=bytes_from,
        flops=flops,
        flops_from=flops_from,
        counted_at="" if is_complete else _largest(counted),
        peak_bytes_per_second=bandwidth,
        peak_flops_per_second=float(rate) if rate else None,
        floor_us=_CERTAIN * floor * 1e6,
    )


def _largest(counted: Mapping[str, Any] | None) -> str:
    at = (counted or {}).get("at", {})
    return ", ".join(f"{name}={extent}" for name, extent in at.get("dims", {}).items())


def _bytes(workload: Workload, dims: Mapping[str, int], kinds: set[str]) -> int:
    return sum(
        math.prod(workload.extents(a, dims)) * DTYPES[a.dtype].itemsize
        for a in workload.args
        if a.kind in kinds
    )
