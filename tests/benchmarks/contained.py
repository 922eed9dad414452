"""What a contained compilation of a short kernel takes: forked from a server, and started anew each time."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

from kernel_gate.build.compile import compile_program
from kernel_gate.build.unit import Unit
from kernel_gate.processes import forking
from kernel_gate.program import Program

SUMMARY = "seconds of a contained compilation, forked from a server and started anew"
_RESULTS = Path(__file__).parent / "results" / "contained.md"
_TICKS = os.sysconf("SC_CLK_TCK")
_CUDA = """\
extern "C" __global__ void scale(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 2.0f * x[i];
    }
}
"""
_TRITON = """\
import triton
import triton.language as tl


@triton.jit
def scale(y, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
"""
_UNIT = Unit(constexpr=(("BLOCK", 128),), arguments=(("y", "*fp32"), ("x", "*fp32"), ("n", "i32")))
_KINDS: dict[str, tuple[Program, Unit]] = {
    "CUDA C++, NVRTC": (Program("cuda", _CUDA, "scale"), Unit()),
    "CUDA C++, nvcc": (Program("cuda", _CUDA, "scale", compiler="nvcc"), Unit()),
    "Triton": (Program("triton", _TRITON, "scale"), _UNIT),
}


def main(arguments: Sequence[str]) -> None:
    """Prints the table; `--write` writes `results/contained.md`."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks contained")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    day, load = dt.datetime.now(tz=dt.UTC).date().isoformat(), os.getloadavg()[0]
    about = (
        f"A contained compilation of a short kernel: the median of {options.times} after the first. Processor time "
        f"is that of the child and of what it starts. {day}, {os.cpu_count()} cores, load {load:.0f}."
    )
    lines = [
        about,
        "`python -m tests.benchmarks contained --write`",
        "",
        "| | started anew: processor s | wall s | forked: processor s | wall s | the first one, wall s |",
        "|---|---|---|---|---|---|",
    ]
    for name, (program, unit) in _KINDS.items():
        with mock.patch.object(forking, "available", lambda: False):
            started = _measured(program, unit, options.times, _of_children)
        forked = _measured(program, unit, options.times, _of_servers)
        cells = [*started[:2], *forked]
        lines.append(f"| {name} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")
    table = "\n".join(lines) + "\n"
    print(table)  # noqa: T201
    if options.write:
        _RESULTS.write_text(table)


def _measured(
    program: Program, unit: Unit, times: int, processor_seconds: Callable[[], float]
) -> tuple[float, float, float]:
    """Medians of processor and wall seconds of later compilations, and the wall seconds of the first."""
    walls, spent = [], []
    for _ in range(times + 1):
        before, begun = processor_seconds(), time.perf_counter()
        compile_program(program, "sm_90", (unit,))
        walls.append(time.perf_counter() - begun)
        spent.append(processor_seconds() - before)
    return statistics.median(spent[1:]), statistics.median(walls[1:]), walls[0]


def _of_children() -> float:
    """Processor seconds of this process's children that have ended."""
    return sum(os.times()[2:4])


def _of_servers() -> float:
    """The same of the fork servers and of the processes that they have waited for."""
    total = 0
    for server in forking._SERVERS.values():
        fields = Path(f"/proc/{server._process.pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(int(field) for field in fields[11:15])
    return total / _TICKS
