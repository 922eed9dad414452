"""Thread instructions per second of the emulated device by class of opcode, and its memory on a grid of any size.

    python -m tests.benchmarks opcode_speed [--write]

Each class is one kernel that repeats it; 32,768 threads, best of three. Processor time, as the machine may be shared.
The second table launches ever larger grids, each in a process of its own, and shows the peak memory of that process.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.devices.image import Image
from kernel_gate.emulated.launch import Checks
from kernel_gate.program import Program

SUMMARY = "thread instructions per second by class of opcode; peak memory by size of the grid"
RESULTS = Path(__file__).parent / "results" / "opcode_speed.md"
_BLOCKS, _BLOCK, _REPEATED, _LOOPS = 128, 256, 64, 8
_THREADS = (1 << 14, 1 << 20, 10**7, 10**8)
_SOURCE = """
extern "C" __global__ void kernel(unsigned* out, const unsigned* in) {{
    __shared__ unsigned tile[{block}];
    unsigned i = blockIdx.x * {block} + threadIdx.x, x = in[i], y = x ^ 5u, z = i;
    unsigned long long wide = x, far = i;
    float f = x * 0.37f + 1.5f, g = 0.7312345f, h = 0.5123457f;
    double p = f, q = 0.7312345, r = 0.5123457;
    tile[threadIdx.x] = x;
    __syncthreads();
    for (int k = 0; k < {loops}; k++) {{ {body} }}
    out[i] = x + y + z + (unsigned)wide + (unsigned)far + (unsigned)f + (unsigned)p + tile[threadIdx.x];
}}
"""
_REGISTERS = (
    '"+r"(x), "+r"(y), "+r"(z), "+l"(wide), "+l"(far), "+f"(f), "+f"(g), "+f"(h), "+d"(p), "+d"(q), "+d"(r)'
)
CLASSES = {
    "integer add": "add.u32 %0, %1, %2;",
    "integer multiply-add": "mad.lo.u32 %0, %0, %1, %2;",
    "64-bit address": "mad.wide.u32 %3, %0, %1, %4;",
    "integer division": "div.u32 %0, %2, %1;",
    "logic": "lop3.b32 %0, %0, %1, %2, 0x96;",
    "shift": "shf.l.wrap.b32 %0, %0, %1, 7;",
    "comparison and selection": "{ .reg .pred t; setp.lt.u32 t, %0, %1; selp.u32 %0, %1, %2, t; }",
    "f32 add": "add.f32 %5, %5, %6;",
    "f32 fma": "fma.rn.f32 %5, %5, %6, %7;",
    "f32 division": "div.rn.f32 %5, %5, %6;",
    "f32 ex2": "ex2.approx.f32 %6, %5;",
    "f64 fma": "fma.rn.f64 %8, %8, %9, %10;",
    "f16x2 fma": "fma.rn.f16x2 %0, %0, %1, %2;",
    "bf16x2 fma": "fma.rn.bf16x2 %0, %0, %1, %2;",
    "conversion": "cvt.rn.f32.u32 %5, %0;",
    "predicated": "{ .reg .pred t; setp.lt.u32 t, %0, %2; @t add.u32 %0, %0, %1; }",
    "shuffle": "shfl.sync.bfly.b32 %0, %0, 3, 31, -1;",
    "vote": "{ .reg .pred t; setp.lt.u32 t, %0, %2; vote.sync.ballot.b32 %1, t, -1; }",
}
STATEMENTS = {
    "global load": "x += in[(i + {n}) & 32767];",
    "shared load": "x += tile[(threadIdx.x + {n}) & 255];",
    "shared store": "*(volatile unsigned*)&tile[threadIdx.x] = x + {n};",
    "shared atomic": "atomicAdd(&tile[(threadIdx.x + {n}) & 255], x);",
    "barrier": "__syncthreads();",
    "divergent branch": "if (x % 3u == {n}u % 3u) y += x * {n}u; else z ^= x + {n}u;",
}
_GRID = """
extern "C" __global__ void kernel(unsigned* out, unsigned n) {
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    if (i % 65536 == 0) atomicAdd(out + (i >> 16) % 1024, 1u);
}
"""


def _images() -> dict[str, Image]:
    bodies = {name: f'asm volatile("{text}" : {_REGISTERS});' * _REPEATED for name, text in CLASSES.items()}
    for name, text in STATEMENTS.items():
        bodies[name] = "".join(text.replace("{n}", str(n)) for n in range(_REPEATED // 4))
    return {
        name: compile_nvrtc(Program("cuda", _SOURCE.format(block=_BLOCK, loops=_LOOPS, body=body), "kernel"))
        for name, body in bodies.items()
    }


def speed(image: Image, checks: Checks) -> float:
    """Million thread instructions per second of processor time."""
    best = 0.0
    for _ in range(3):
        device = EmulatedDevice(checks=checks)
        kernel = device.load(image)
        data = np.random.default_rng(1).integers(1, 1000, _BLOCKS * _BLOCK, dtype=np.uint32)
        buffers = [device.allocate(data.nbytes, name, 4) for name in ("out", "in")]
        for buffer in buffers:
            buffer.write(data)
        started = time.process_time()
        result = kernel.launch((_BLOCKS, 1, 1), (_BLOCK, 1, 1), 0, buffers)
        taken = time.process_time() - started
        if any(f.kind != "race" for f in result.faults):
            raise SystemExit(result.faults[0].message)
        best = max(best, result.counts["thread_instructions"] / taken / 1e6)
    return best


def grid(threads: int) -> dict[str, Any]:
    """One launch of that many threads in this process: seconds, and peak memory before and after, in MB."""
    device = EmulatedDevice()
    kernel = device.load(compile_nvrtc(Program("cuda", _GRID, "kernel")))
    out = device.allocate(4096, "out", 4)
    out.write(np.zeros(1024, np.uint32))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    started = time.process_time()
    result = kernel.launch((-(-threads // 256), 1, 1), (256, 1, 1), 0, [out, np.uint32(threads)])
    taken = time.process_time() - started
    if result.faults or int(out.read().view(np.uint32).sum()) != -(-threads // 65536):
        raise SystemExit(f"{threads} threads: {result.faults or 'wrong result'}")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "threads": threads,
        "seconds": round(taken, 2),
        "before_mb": round(before),
        "peak_mb": round(after),
    }


def _grids() -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.benchmarks", "opcode_speed", "--grid"]
    documents = []
    for threads in _THREADS:
        done = subprocess.run([*command, str(threads)], capture_output=True, text=True, check=True)
        documents.append(json.loads(done.stdout))
    return documents


def page(rows: list[dict[str, Any]], grids: list[dict[str, Any]]) -> str:
    """Both tables."""
    about = (
        f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{date.today().isoformat()}; `python -m tests.benchmarks opcode_speed --write`. Processor time, best of 3."
    )
    lines = ["# The emulated device by class of opcode", "", about, ""]
    lines += ["| class | million thread instructions/s | with all detectors |", "|---|---:|---:|"]
    lines += [f"| {r['class']} | {r['plain']:.0f} | {r['detectors']:.0f} |" for r in rows]
    lines += ["", "## Memory by size of the grid", ""]
    lines += ["| threads | seconds | MB before the launch | MB at most |", "|---:|---:|---:|---:|"]
    lines += [f"| {g['threads']:,} | {g['seconds']:.1f} | {g['before_mb']} | {g['peak_mb']} |" for g in grids]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the tables in results/")
    parser.add_argument("--only", default="", help="classes whose names match this expression")
    parser.add_argument("--grid", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.grid:
        print(json.dumps(grid(options.grid)))  # noqa: T201
        return
    rows = [
        {
            "class": name,
            "plain": speed(image, Checks(races=False, uninitialised=False)),
            "detectors": speed(image, Checks()),
        }
        for name, image in _images().items()
        if re.search(options.only, name)
    ]
    grids = _grids()
    text = page(rows, grids)
    if options.write:
        RESULTS.write_text(text, "utf-8")
        document = json.dumps({"classes": rows, "grids": grids}, indent=1) + "\n"
        RESULTS.with_suffix(".json").write_text(document, "utf-8")
    print(text)  # noqa: T201
