"""What a verdict without a GPU takes, from the command's start to its end, for short kernels.

    python -m tests.benchmarks verdict_speed [--write]

Each kernel of the strangers' pairs that is written in CUDA C++ is judged once against its honest twin, in a process of
its own and without the cache. Processor time (of the command and of all it starts) says what two idle cores would need
at most; the clock says what this machine needed beside its other work, whose load is in the table.
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


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="verdict_speed", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        rows = [_judged(Path(folder), name) for name in PAIRS]
    lines = ["| kernel | clock, s | processors, s | exit status |", "|---|---|---|---|"]
    lines += [f"| {name} | {wall:.2f} | {cpu:.2f} | {status} |" for name, wall, cpu, status in sorted(rows)]
    said = []
    for title, place in (("clock", 1), ("processors", 2)):
        ordered = sorted(row[place] for row in rows)
        half, most = ordered[len(ordered) // 2], ordered[int(0.95 * (len(ordered) - 1))]
        said.append(f"{title} p50 {half:.1f} s, p95 {most:.1f} s")
    when, load = datetime.now(UTC).strftime("%Y-%m-%d"), os.getloadavg()[1]
    head = f"{len(rows)} kernels, {when}, {os.cpu_count()} cores, load {load:.0f}: {'; '.join(said)}."
    text = "\n".join(["# Seconds of a verdict", "", head, "", *lines, ""])
    print(text)  # noqa: T201
    if asked.write:
        RESULTS.joinpath("verdict_speed.md").write_text(text, "utf-8")
