"""Hardware counters of both programs on one profiled shape, where `ncu` is installed and allowed to read them.

They explain a time; they decide nothing. The launches are recorded and made again by a process that `ncu` watches, so
that its overhead is in no time that counts. Clocks are left alone; caches are flushed before every pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.devices.base import DeviceError
from kernel_gate.files.temporary import TemporaryFolder
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError
from kernel_gate.sanitizer.recording import RecordingDevice
from kernel_gate.stages.ncu import CountersUnavailable, find_ncu, measure_recorded, read_page, value_of
from kernel_gate.timing.sampling import PROGRAMS
from kernel_gate.workload import Workload

_SECONDS = 120.0
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_STALLS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle", "long_scoreboard",
    "math_pipe_throttle", "membar", "mio_throttle", "no_instruction", "not_selected", "short_scoreboard",
    "sleeping", "tex_throttle", "wait",
)  # fmt: skip
_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_FLOAT = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
_PLAIN = {
    "duration_ns": "gpu__time_duration.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_written_bytes": "dram__bytes_write.sum",
    "l2_hit_percent": "lts__t_sector_hit_rate.pct",
    "achieved_occupancy_percent": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
METRICS = (
    *_PLAIN.values(),
    *(_GLOBAL.format(what, op) for what in ("sectors", "requests") for op in ("ld", "st")),
    *(_FLOAT.format(op) for op in ("fadd", "fmul", "ffma")),
    *(_STALL.format(reason) for reason in _STALLS),
)
_TOP_STALLS = 3


def counters(
    baseline: Built, candidate: Built, workload: Workload, dims: Mapping[str, int], seed: int
) -> dict[str, Any]:
    """What `ncu` counted, for the details of the profile; or that it is unavailable, and why."""
    try:
        ncu = find_ncu()
        with TemporaryFolder("ncu") as folder:
            launches = _record(Path(folder), (baseline, candidate), workload, Case(dims, seed))
            rows = read_counters(measure_recorded(ncu, Path(folder), METRICS, _SECONDS))
        if len(rows) != sum(launches):
            raise CountersUnavailable(f"ncu measured {len(rows)} launches of {sum(launches)}")
    except (CountersUnavailable, DeviceError, LaunchError, OSError) as error:
        return {"status": "unavailable", "reason": str(error)}
    counted = {PROGRAMS[0]: rows[: launches[0]], PROGRAMS[1]: rows[launches[0] :]}
    return {"status": "pass", "dims": dict(dims), **counted}


def _record(folder: Path, both: Sequence[Built], workload: Workload, case: Case) -> list[int]:
    """Write the launches of both programs down; how many each makes."""
    recording = RecordingDevice(next(iter(both[0].images.values())).arch)
    inputs = make_inputs(workload, case)
    counts = []
    for built in both:
        with LoadedProgram(recording, built, workload).execution(case.dims) as execution:
            execution.run(inputs, 0)
            counts.append(len(execution.launched()))
    recording.save(folder)
    return counts


def read_counters(text: str) -> list[dict[str, Any]]:
    """One entry for each launch of ncu's raw page in base units. Raises `CountersUnavailable` when it has none."""
    return [_launch(row) for row in read_page(text)]


def _launch(row: Mapping[str, str]) -> dict[str, Any]:
    def value(metric: str) -> float | None:
        return value_of(row, metric)

    found: dict[str, Any] = {"entry": row.get("Kernel Name", "").partition("(")[0]}
    found |= {name: value(metric) for name, metric in _PLAIN.items()}
    for op, name in (("ld", "load"), ("st", "store")):
        sectors, requests = (value(_GLOBAL.format(what, op)) for what in ("sectors", "requests"))
        found[f"sectors_per_{name}_request"] = (
            sectors / requests if sectors is not None and requests else None
        )
    operations = [value(_FLOAT.format(op)) for op in ("fadd", "fmul", "ffma")]
    if None not in operations:
        found["float32_flop"] = sum(n * each for n, each in zip(operations, (1, 1, 2), strict=True) if n)
    stalls = {reason: value(_STALL.format(reason)) or 0.0 for reason in _STALLS}
    top = sorted(stalls, key=lambda reason: -stalls[reason])[:_TOP_STALLS]
    found["stalls"] = {reason: stalls[reason] for reason in top if stalls[reason] > 0}
    return found
