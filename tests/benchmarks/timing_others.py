"""The same pairs by other means, and whole verdicts."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from kernel_gate.build.compile import compile_program
from kernel_gate.launching import bind
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.request import GateRequest
from kernel_gate.timing.compare import compare_pairs
from kernel_gate.timing.cuda_sampler import CudaSampler
from kernel_gate.verdict import Verdict
from kernel_gate.worker import Worker
from kernel_gate.workload import parse_workload

from .fleet import HOISTED, SOURCE, WORKLOAD
from .timing_kernels import TimedKernel, fma, matmul, rows, stream
from .timing_pairs import device_and_timer, printed, row_of, timed_pair

_PAUSE_SECONDS = 3.0
"""Between verdicts of a person or a model, who think meanwhile."""
OTHERS = (fma(500), rows(4096, 1024), stream(32), fma(2000), stream(128), matmul(1024, 1024))
"""Timed by other means as well."""


def others(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Identical pairs by the profile, by triton.testing.do_bench and by a loop between events; needs CuPy and torch."""
    import cupy
    import torch
    from triton.testing import do_bench

    def event_loop(launch: Callable[[], None]) -> float:
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        for _ in range(10):
            launch()
        start.record()
        for _ in range(100):
            launch()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1000 / 100

    ways: dict[str, Callable[[Callable[[], None]], float]] = {
        "do_bench": lambda launch: 1000 * do_bench(launch, return_mode="median"),
        "event loop": event_loop,
    }
    measured: list[dict[str, Any]] = []
    with device_and_timer() as (device, timer):
        for kernel in OTHERS:
            with timed_pair(device, kernel, kernel.program(), kernel.program(), 1) as timed:
                sampler = CudaSampler(timer, device.clocks, timed.programs)
                for run in range(options.runs):
                    comparison = compare_pairs(sampler, seconds=options.seconds, worth=0.005, seed=run)
                    measured.append(printed(row_of(kernel, comparison, way="profile")))
    for kernel in OTHERS:
        launches = [_in_torch(kernel, cupy, torch) for _ in range(2)]
        for way, measure in ways.items():
            for _ in range(options.runs):
                started = time.monotonic()
                first, second = (measure(launch) for launch in launches)
                measured.append({
                    "kernel": kernel.name, "way": way, "baseline_us": first, "candidate_us": second,
                    "ratio": [first / second], "seconds": time.monotonic() - started,
                })  # fmt: skip
    return measured


def _in_torch(kernel: TimedKernel, cupy: Any, torch: Any) -> Callable[[], None]:
    """The same image on torch's own buffers, as someone would time it by hand."""
    workload, program = kernel.judged_by(), kernel.program()
    dims = workload.profile_dims[0]
    launch = bind(workload, program, dims).launches[0]
    image = next(iter(compile_program(program, "sm_90", [launch.unit], want_cubin=True).values()))
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(image.cubin or b"")
        file.flush()
        function = cupy.RawModule(path=file.name).get_function(image.entry)
    buffers = [torch.rand(workload.extents(a, dims), device="cuda") for a in workload.args if a.is_pointer]
    arguments = tuple(buffer.data_ptr() for buffer in buffers)

    def run() -> None:
        function(launch.grid, launch.block, arguments)

    run.buffers = buffers  # type: ignore[attr-defined]
    return run


def verdicts(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Whole verdicts of a small kernel: a new process each, then one that is kept, without and with pauses."""
    baseline, candidate = Program("cuda", SOURCE, "scale_rows"), Program("cuda", HOISTED, "scale_rows")
    workload = parse_workload(WORKLOAD)
    measured: list[dict[str, Any]] = []

    def judged(how: str, worker: Worker, seed: int) -> None:
        asked = GateOptions(need="not_slower", seed=seed)
        request = GateRequest.of(baseline, candidate, workload, device="cuda", options=asked)
        started = time.monotonic()
        verdict = worker.judge(request)
        measured.append({
            "how": how, "seconds": time.monotonic() - started, "outcome": verdict.outcome.value,
            "reason": verdict.reason, "stages": {s.name: s.seconds for s in verdict.stages},
            "parts": parts_of(verdict),
        })  # fmt: skip
        sys.stderr.write(f"{how} {measured[-1]['seconds']:.2f} s {verdict.code}\n")

    for seed in range(options.runs // 2):
        with Worker() as worker:
            judged("cold", worker, seed)
    with Worker() as worker:
        judged("first", worker, 100)
        for seed in range(options.runs):
            judged("back to back", worker, 200 + seed)
        for seed in range(options.runs):
            time.sleep(_PAUSE_SECONDS)
            judged("after a pause", worker, 300 + seed)
    return measured


def parts_of(verdict: Verdict) -> dict[str, float]:
    """Seconds of the parts of each stage, and of what is around them, by `stage: part`."""
    seconds = {f"around: {name}": s for name, s in verdict.environment.get("seconds_of", {}).items()}
    for stage in verdict.stages:
        seconds |= {f"{stage.name}: {name}": s for name, s in stage.details.get("seconds_of", {}).items()}
    return seconds
