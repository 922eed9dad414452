"""Running `ncu` over launches that were recorded, and reading its raw page."""

from __future__ import annotations

import csv
import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kernel_gate.build.toolkit import toolkit_roots
from kernel_gate.processes.python import python_command
from kernel_gate.processes.surroundings import find_program
from kernel_gate.processes.tools import run_tool
from kernel_gate.sanitizer.recording import ASKED

_NO_PERMISSION = "ERR_NVGPUCTRPERM"
_QUERY_SECONDS = 60.0


class CountersUnavailable(Exception):
    """There are no counters; the message says why and what to do."""


def find_ncu() -> Path:
    """The `ncu` to use. Raises `CountersUnavailable`."""
    on_path = find_program("ncu")
    for path in [*([Path(on_path)] if on_path else []), *(root / "bin" / "ncu" for root in toolkit_roots())]:
        if os.access(path, os.X_OK):
            return path
    raise CountersUnavailable(
        "ncu was not found; install Nsight Compute or put it on PATH. Times and verdict do without it"
    )


def known_metrics(ncu: Path, metrics: Sequence[str], chip: str) -> list[str]:
    """Those of some metrics that this `ncu` knows for a chip, such as `gh100`; it refuses to run with any other.

    Raises `CountersUnavailable` when it cannot say.
    """
    command = [str(ncu), "--query-metrics", "--chip", chip]
    try:
        done = run_tool(command, seconds=_QUERY_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CountersUnavailable(f"ncu does not list its metrics: {error}") from error
    names = set(re.findall(r"^(\w+)", done.stdout, re.MULTILINE))
    if done.status or not names:
        raise CountersUnavailable(f"ncu does not list its metrics: {_last_line(done.stdout + done.stderr)}")
    return [metric for metric in metrics if metric.partition(".")[0] in names]


def measure_recorded(ncu: Path, folder: Path, metrics: Iterable[str], seconds: float) -> str:
    """Ncu's raw page of the launches that a folder holds (`RecordingDevice.save`). Raises `CountersUnavailable`.

    Clocks are left alone; caches are flushed before every pass.
    """
    command = [
        str(ncu), "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
        "--cache-control", "all", "--metrics", ",".join(metrics),
        *python_command("kernel_gate.sanitizer.replay", str(folder), str(os.getpid()), "once"),
    ]  # fmt: skip
    (folder / ASKED).write_text(str(folder), "utf-8")
    try:
        ran = run_tool(command, folder=folder, seconds=seconds, more={"TMPDIR": str(folder)})
    except subprocess.TimeoutExpired as error:
        raise CountersUnavailable(
            f"ncu did not end within {seconds:g} s; use smaller profile_dims"
        ) from error
    printed = ran.stdout + ran.stderr
    if _NO_PERMISSION in printed:
        raise CountersUnavailable(
            "ncu may not read the hardware counters; an administrator can allow it "
            "(NVreg_RestrictProfilingToAdminUsers=0)"
        )
    if ran.status:
        raise CountersUnavailable(f"ncu failed: {_last_line(printed)}")
    return printed


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "nothing")


def read_page(text: str) -> list[dict[str, str]]:
    """One row for each launch of ncu's raw page, by column; its row of units is left out.

    Raises `CountersUnavailable` when there is none.
    """
    table = list(csv.DictReader(line for line in text.splitlines() if line.startswith('"')))
    if len(table) < 2:
        raise CountersUnavailable("ncu printed no counters")
    return table[1:]


def value_of(row: Mapping[str, str], metric: str) -> float | None:
    """A counter of a row; None when ncu did not give it."""
    try:
        return float((row.get(metric) or "").replace(",", ""))
    except ValueError:
        return None
