"""How fast the emulated device executes kernels, and what its detectors cost.

    python -m tests.benchmarks emulated [--write]

Each row is the best of five launches, in processor time of the one thread that runs them, as the machine may be shared.
The ratio compares a thread's instruction with one element of a NumPy float32 addition on the same machine: that is what
an interpreter on NumPy could reach if it added nothing of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import time
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.emulated.launch import Checks
from kernel_gate.invariants.bound import on_shape
from kernel_gate.invariants.marking import marked
from kernel_gate.invariants.reading import read_statements
from kernel_gate.program import Program

SUMMARY = "thread instructions per second of the emulated device, and what its detectors cost"
RESULTS = Path(__file__).parent / "results" / "emulated.md"
REPEATS = 5
PLAIN = Checks(races=False, uninitialised=False, overflow=False)
CHECKS = {
    "bounds only": PLAIN,
    "and overflow in addresses": replace(PLAIN, overflow=True),
    "and births of NaNs": replace(PLAIN, births=True),
    "all detectors": Checks(),
    "detectors and counts": Checks(counts=True),
}

MATMUL = """
#define TILE 16
__global__ void kernel(float* c, const float* a, const float* b, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int p = 0; p < n; p += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * n + p + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(p + threadIdx.y) * n + col];
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
"""
FACTORS = "left[threadIdx.y][i] * right[i][threadIdx.x];"
TAGS = "// klineage: tag argument_1[row][k]\n// klineage: tag argument_2[k][column]\n"
STATED = {
    "an invariant of each product": "// klineage: assert product(k)",
    "an invariant of each pair of operands": (
        "// klineage: assert same(tag(left[threadIdx.y][i]).k, tag(right[i][threadIdx.x]).k)"
    ),
}
"""Bounds checks, and tags of the data of a and b."""
REDUCE = """
__global__ void kernel(float* total, const float* x, int n) {
    __shared__ float partial[256];
    float sum = 0.0f;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += x[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(total, partial[0]);
}
"""
COPY = """
__global__ void kernel(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i];
}
"""


@dataclass(frozen=True)
class Row:
    """One measurement."""

    name: str
    checks: str
    milliseconds: float
    instructions: int

    @property
    def nanoseconds(self) -> float:
        """Per thread instruction."""
        return self.milliseconds * 1e6 / self.instructions


def launch(source: str, arguments: list[Any], grid: Any, block: Any, checks: Checks) -> tuple[float, int]:
    """Best time in milliseconds, and the thread instructions of one launch. What the source states is watched."""
    statements, places = read_statements(source, "cuda")
    image = compile_nvrtc(marked(Program("cuda", source, "kernel"), statements, places))
    if statements:
        shapes = {f"argument_{n}": (a.shape, 4) for n, a in enumerate(arguments) if isinstance(a, np.ndarray)}
        checks = replace(checks, invariants=on_shape(statements, shapes, {}))
    best, instructions = float("inf"), 0
    for _ in range(REPEATS):
        device = EmulatedDevice(checks=checks)
        kernel = device.load(image)
        values = []
        for number, value in enumerate(arguments):
            if isinstance(value, np.ndarray):
                buffer = device.allocate(value.nbytes, f"argument_{number}", value.itemsize)
                buffer.write(value)
                value = buffer
            values.append(value)
        started = time.process_time()
        result = kernel.launch(grid, block, 0, values)
        best = min(best, time.process_time() - started)
        if result.faults or any(
            assertion.violated or not assertion.compared for assertion in result.asserted
        ):
            raise SystemExit(f"{result.faults or result.asserted}: a sound kernel must run without findings")
        instructions = result.counts["thread_instructions"]
    return best * 1e3, instructions


def measure() -> list[Row]:
    """Every row."""
    rng = np.random.default_rng(0)
    work: list[tuple[str, str, list[Any], Any, Any]] = []
    for n in (64, 256):
        a, b = (rng.normal(size=(n, n)).astype(np.float32) for _ in range(2))
        work.append(
            (f"tiled matmul {n}³", MATMUL, [a * 0, a, b, np.int32(n)], (n // 16, n // 16, 1), (16, 16, 1))
        )
    x = rng.normal(size=1 << 20).astype(np.float32)
    total = np.zeros(1, np.float32)
    work.append(("reduce 1 M floats", REDUCE, [total, x, np.int32(len(x))], (256, 1, 1), (256, 1, 1)))
    big = rng.normal(size=1 << 24).astype(np.float32)
    work.append(
        ("copy 16 M floats", COPY, [big, big, np.int32(len(big))], (len(big) // 256, 1, 1), (256, 1, 1))
    )
    rows = []
    for name, source, arguments, grid, block in work:
        for label, checks in CHECKS.items():
            rows.append(Row(name, label, *launch(source, arguments, grid, block, checks)))
        for label, statement in STATED.items() if source is MATMUL else ():
            stated = TAGS + MATMUL.replace(f"sum += {FACTORS}", f"{{ sum += {FACTORS} {statement}\n}}")
            rows.append(Row(name, label, *launch(stated, arguments, grid, block, PLAIN)))
    return rows


def addition_nanoseconds() -> float:
    """One element of a NumPy float32 addition, in arrays of a wave's size."""
    a, out = np.ones(1 << 15, np.float32), np.empty(1 << 15, np.float32)
    times = []
    for _ in range(200):
        started = time.process_time()
        np.add(a, a, out=out)
        times.append(time.process_time() - started)
    return float(np.median(times)) * 1e9 / len(a)


def table(rows: list[Row]) -> str:
    """The page."""
    unit = addition_nanoseconds()
    lines = [
        "# The emulated device",
        "",
        (
            f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, "
            f"NumPy {np.__version__}, {date.today().isoformat()}; "
            f"`python -m tests.benchmarks emulated --write`. Processor time, best of {REPEATS}."
        ),
        "",
        "| kernel | checks | ms | thread instructions | million/s | × a NumPy addition | × bounds only |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    plain = {row.name: row.milliseconds for row in rows if row.checks == "bounds only"}
    lines += [
        f"| {row.name} | {row.checks} | {row.milliseconds:.1f} | {row.instructions:,} | "
        f"{1e3 / row.nanoseconds:.0f} | {row.nanoseconds / unit:.1f} | {row.milliseconds / plain[row.name]:.2f} |"
        for row in rows
    ]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines += ["", f"Peak memory of the process: {peak:.0f} MB; the two largest buffers have 64 MB each.", ""]
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the table in results/")
    options = parser.parse_args(arguments)
    rows = measure()
    page = table(rows)
    if options.write:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(page, "utf-8")
        RESULTS.with_suffix(".json").write_text(
            json.dumps([asdict(row) for row in rows], indent=1) + "\n", "utf-8"
        )
    print(page)  # noqa: T201
