"""Verdicts per minute on 1, 2, 4 … devices of one machine, and what a kept worker saves.

    python -m tests.benchmarks fleet [--device cuda] [--each 12] [--dask] [--write]

Every request is another one (its seed differs) and ends in a whole verdict on a small CUDA kernel: build, check,
sanitize, profile. A worker's first verdict is not counted: imports and contexts are in the row of the cold worker.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from kernel_gate.fleet.on_dask import cluster_pool
from kernel_gate.fleet.places import Place, places
from kernel_gate.fleet.pool import LocalPool, Pool
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.request import GateRequest
from kernel_gate.worker import Worker
from kernel_gate.workload import parse_workload

from .judged import judge_all

SUMMARY = "verdicts per minute on 1, 2, 4 devices, here and through Dask; a cold and a warm worker"
RESULTS = Path(__file__).parent / "results" / "fleet.json"

SOURCE = """__global__ void scale_rows(float *y, const float *x, const float *w, int rows, int columns) {
    int row = blockIdx.x;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) y[row * columns + i] = x[row * columns + i] * w[row];
}
"""
HOISTED = SOURCE.replace("    for", "    float scale = w[row];\n    for").replace("* w[row]", "* scale")
WORKLOAD = """
kernel = "scale_rows"
language = "cuda"
profile_dims = [{ R = 4096, C = 4096 }]
[dims]
R = [1, 33]
C = [64, 1000]
[[args]]
name = "y"
kind = "output"
dtype = "float32"
shape = ["R", "C"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["R", "C"]
[[args]]
name = "w"
kind = "input"
dtype = "float32"
shape = ["R"]
[[args]]
name = "rows"
kind = "scalar"
dtype = "int32"
value = "R"
[[args]]
name = "columns"
kind = "scalar"
dtype = "int32"
value = "C"
[launch]
grid = ["R"]
block = [256]
"""


def requests(count: int, device: Any) -> list[GateRequest]:
    """Different requests for the same two kernels."""
    before, after = (
        Program("cuda", text, "scale_rows", name=name) for text, name in ((SOURCE, "a"), (HOISTED, "b"))
    )
    workload = parse_workload(WORKLOAD)
    return [
        GateRequest.of(
            before, after, workload, device=device, options=GateOptions(seed=seed, need="not_slower")
        )
        for seed in range(1, count + 1)
    ]


def one_worker(device: Any, place: Place) -> dict[str, Any]:
    """Seconds of the first verdict of a process and of the next ones, with the share of each stage."""
    rows: list[dict[str, Any]] = []
    with Worker(dict(place.environment)) as worker:
        for request in requests(5, device):
            started = time.monotonic()
            verdict = worker.judge(request)
            row: dict[str, Any] = {"seconds": time.monotonic() - started, "code": str(verdict.code)}
            rows.append(row | {stage.name: stage.seconds for stage in verdict.stages})
    return {"cold": rows[0], "warm": rows[1:]}


def rate(pool: Pool, device: Any, each: int) -> dict[str, Any]:
    """Verdicts per minute of a pool whose workers have given one verdict each."""
    warm, counted = requests(pool.size, device), requests((each + 1) * pool.size, device)[pool.size :]
    codes = {str(verdict.code) for _, verdict in judge_all(pool, warm)}
    started = time.monotonic()
    codes |= {str(verdict.code) for _, verdict in judge_all(pool, counted)}
    per_minute = 60 * len(counted) / (time.monotonic() - started)
    sys.stderr.write(f"{type(pool).__name__}, {pool.size} devices: {per_minute:.1f} a minute\n")
    return {
        "devices": pool.size,
        "verdicts": len(counted),
        "per_minute": per_minute,
        "codes": sorted(codes),
    }


def measure(device: Any, each: int, with_dask: bool) -> dict[str, Any]:
    """All rows for the devices of this machine."""
    devices = places(device)
    here: list[dict[str, Any]] = []
    dask: list[dict[str, Any]] = []
    for count in (n for n in (1, 2, 4, 8) if n <= len(devices)):
        with LocalPool(devices[:count]) as pool:
            here.append(rate(pool, device, each))
        if with_dask:
            with cluster_pool("local", workers=count) as cluster:
                dask.append(rate(cluster, device, each))
    for table in (here, dask):
        for row in table:
            row["share_of_linear"] = row["per_minute"] / (table[0]["per_minute"] * row["devices"])
    return {
        "date": date.today().isoformat(),
        "device": device,
        "processors": os.cpu_count(),
        "worker": one_worker(device, devices[0]),
        "here": here,
        "dask": dask,
    }


def main(arguments: Sequence[str]) -> None:
    """Measure, print, and keep the figures when asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks fleet", description=SUMMARY)
    parser.add_argument("--device", choices=["cuda", "emulated"], default="cuda")
    parser.add_argument("--each", type=int, default=12, help="counted verdicts per device")
    parser.add_argument("--dask", action="store_true", help="also through a Dask cluster of this machine")
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {RESULTS.name}")
    options = parser.parse_args(arguments)
    text = json.dumps(measure(options.device, options.each, options.dask), indent=1)
    print(text)  # noqa: T201
    if options.write:
        RESULTS.write_text(text + "\n")
