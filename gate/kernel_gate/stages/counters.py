"""Hardware counters of both programs on one profiled shape, where `ncu` is installed and allowed to read them.

They explain a time; they decide nothing. The launches are recorded and made again by a process that `ncu` watches, so
that its overhead is in no time that counts. Clocks are left alone; caches are flushed before every pass.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernel_gate.build.toolkit import toolkit_roots
from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.devices.base import DeviceError
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError
from kernel_gate.sandbox.group import kill_group
from kernel_gate.sanitizer.recording import RecordingDevice
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
_NO_PERMISSION = "ERR_NVGPUCTRPERM"
_TOP_STALLS = 3


class CountersUnavailable(Exception):  # noqa: N818
    """There are no counters; the message says why and what to do."""


def find_ncu() -> Path:
    """The `ncu` to use. Raises `CountersUnavailable`."""
    on_path = shutil.which("ncu")
    for path in [*([Path(on_path)] if on_path else []), *(root / "bin" / "ncu" for root in toolkit_roots())]:
        if os.access(path, os.X_OK):
            return path
    raise CountersUnavailable(
        "ncu was not found; install Nsight Compute or put it on PATH. Times and verdict do without it"
    )


def counters(
    baseline: Built, candidate: Built, workload: Workload, dims: Mapping[str, int], seed: int
) -> dict[str, Any]:
    """What `ncu` counted, for the details of the profile; or that it is unavailable, and why."""
    try:
        ncu = find_ncu()
        with tempfile.TemporaryDirectory(prefix="kernel-gate-ncu-") as folder:
            launches = _record(Path(folder), (baseline, candidate), workload, Case(dims, seed))
            rows = read_counters(_run(ncu, Path(folder)))
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


def _run(ncu: Path, folder: Path) -> str:
    package = str(Path(__file__).resolve().parents[2])
    command = [
        str(ncu), "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
        "--cache-control", "all", "--metrics", ",".join(METRICS),
        sys.executable, "-m", "kernel_gate.sanitizer.replay", str(folder), str(folder),
    ]  # fmt: skip
    paths = os.pathsep.join(dict.fromkeys([package, *(p for p in sys.path if p)]))
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "TMPDIR": str(folder)},
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise CountersUnavailable(
            f"ncu did not end within {_SECONDS:g} s; use smaller profile_dims"
        ) from error
    finally:
        kill_group(process)
    if _NO_PERMISSION in said:
        raise CountersUnavailable(
            "ncu may not read the hardware counters; an administrator can allow it "
            "(NVreg_RestrictProfilingToAdminUsers=0)"
        )
    if process.returncode:
        last = next((line for line in reversed(said.splitlines()) if line.strip()), "nothing")
        raise CountersUnavailable(f"ncu failed: {last}")
    return said


def read_counters(text: str) -> list[dict[str, Any]]:
    """One entry for each launch of ncu's raw page in base units. Raises `CountersUnavailable` when it has none."""
    table = list(csv.DictReader(line for line in text.splitlines() if line.startswith('"')))
    if len(table) < 2:
        raise CountersUnavailable("ncu printed no counters")
    return [_launch(row) for row in table[1:]]


def _launch(row: Mapping[str, str]) -> dict[str, Any]:
    def value(metric: str) -> float | None:
        try:
            return float((row.get(metric) or "").replace(",", ""))
        except ValueError:
            return None

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
