"""What a verdict without a GPU takes, from the command's start to its end, for short kernels.

    python -m tests.benchmarks verdict_speed [--write]
    python -m tests.benchmarks verdict_speed --gpu

Each kernel of the strangers' pairs that is written in CUDA C++ is judged once against its honest twin, in a process of
its own and without the cache. Processor time (of the command and of all it starts) says what two idle cores would need
at most; the clock says what this machine needed beside its other work, whose load is in the table.
With `--gpu` each honest twin is judged on the GPU, watched by the emulated device, in one process that stays warm.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from kernel_gate.gate import judge
from kernel_gate.kept import Kept
from kernel_gate.options import GateOptions

from .strangers_table import SETS

SUMMARY = "seconds of a verdict without a GPU, from the command's start to its end, for short kernels"
RESULTS = Path(__file__).parent / "results"
_LIMIT_SECONDS = 120
PAIRS = {p.ground.name: p for group in SETS.values() for p in group if p.ground.language == "cuda"}
"""One pair of each kernel."""


def _judged(folder: Path, name: str) -> tuple[str, float, float, int]:
    """Name, seconds by the clock, seconds of processors, and exit status."""
    chosen = PAIRS[name]
    files = [folder / f"{name}{part}.cu" for part in ("", "_new")]
    for file, text in zip(files, (chosen.ground.source, chosen.text("honest")), strict=True):
        file.write_text(text)
    workload = folder / f"{name}.toml"
    workload.write_text(chosen.ground.workload_text)
    command = [
        sys.executable, "-m", "kernel_lineage", "gate", *map(str, files), "--workload", str(workload),
        "--device", "emulated", "--no-cache", "--need", "not_slower"]  # fmt: skip
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    status = subprocess.run(command, capture_output=True, timeout=_LIMIT_SECONDS, check=False).returncode
    taken, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    processors = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return name, taken, processors, status


def _warm() -> None:
    """Print the seconds of the honest twins' verdicts on the GPU, in the order in which they were judged."""
    rows = []
    with Kept() as kept:
        for name, chosen in PAIRS.items():
            ground, started = chosen.ground, time.monotonic()
            verdict = judge(ground.program(), ground.program(chosen.text("honest")), ground.workload,
                            device="cuda", options=GateOptions(need="not_slower"), kept=kept)  # fmt: skip
            rows.append(time.monotonic() - started)
            stages = ", ".join(f"{stage.name} {stage.seconds or 0:.2f}" for stage in verdict.stages)
            print(f"{name}: {rows[-1]:.2f} s, {verdict.outcome}; {stages}", flush=True)  # noqa: T201
    after = sorted(rows[1:])
    half, most = after[len(after) // 2], after[int(0.95 * (len(after) - 1))]
    print(f"after the first: p50 {half:.2f} s, p95 {most:.2f} s")  # noqa: T201


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="verdict_speed", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--gpu", action="store_true", help="verdicts of a warm process on the GPU instead")
    asked = parser.parse_args(arguments)
    if asked.gpu:
        _warm()
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = [_judged(Path(folder), name) for name in PAIRS]
    lines = ["| kernel | clock, s | processors, s | exit status |", "|---|---|---|---|"]
    lines += [f"| {name} | {wall:.2f} | {cpu:.2f} | {status} |" for name, wall, cpu, status in sorted(rows)]
    summaries = []
    for title, place in (("clock", 1), ("processors", 2)):
        ordered = sorted(row[place] for row in rows)
        half, most = ordered[len(ordered) // 2], ordered[int(0.95 * (len(ordered) - 1))]
        summaries.append(f"{title} p50 {half:.1f} s, p95 {most:.1f} s")
    when, load = datetime.now(UTC).strftime("%Y-%m-%d"), os.getloadavg()[1]
    head = f"{len(rows)} kernels, {when}, {os.cpu_count()} cores, load {load:.0f}: {'; '.join(summaries)}."
    text = "\n".join(["# Seconds of a verdict", "", head, "", *lines, ""])
    print(text)  # noqa: T201
    if asked.write:
        RESULTS.joinpath("verdict_speed.md").write_text(text, "utf-8")
