"""Pairs on a GPU: identical ones, known differences, and times for `ncu` to be held against."""

from __future__ import annotations

import argparse
import csv
import json
import random
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernel_gate.built import Built
from kernel_gate.cases import Case
from kernel_gate.devices.cuda import CudaDevice
from kernel_gate.devices.launch_timer import LaunchTimer
from kernel_gate.inputs import make_inputs
from kernel_gate.program import Program
from kernel_gate.stages.build import build
from kernel_gate.stages.timed_programs import TimedPrograms
from kernel_gate.timing.compare import Comparison, compare_pairs
from kernel_gate.timing.cuda_sampler import CudaSampler
from kernel_gate.timing.sampling import BASELINE, CANDIDATE, Launch

from .timing_kernels import IDENTICAL, LENGTHENED, TimedKernel

EFFECTS = (0.005, 0.01, 0.02, 0.05)
LOADS = 3
"""How often each kernel is loaded anew, on new buffers."""
NCU_LAUNCHES = 15


@contextmanager
def device_and_timer() -> Iterator[tuple[CudaDevice, LaunchTimer]]:
    device = CudaDevice()
    try:
        timer = LaunchTimer(device)
        yield device, timer
        timer.close()
    finally:
        device.close()


def timed_pair(
    device: CudaDevice, kernel: TimedKernel, baseline: Program, candidate: Program, seed: int
) -> TimedPrograms:
    workload = kernel.judged_by()
    dims = workload.profile_dims[0]
    result = build(baseline, candidate, workload, [dims], arch=device.arch, want_cubin=True)
    if not isinstance(result.baseline, Built) or not isinstance(result.candidate, Built):
        raise SystemExit(f"{kernel.name}: {result.stage.reason}")
    case = Case(dims, 7)
    return TimedPrograms(
        device, result.baseline, result.candidate, workload, case, seed, make_inputs(workload, case)
    )


def row_of(kernel: TimedKernel, comparison: Comparison, **more: Any) -> dict[str, Any]:
    return {
        "kernel": kernel.name,
        "state": comparison.state.value,
        "code": comparison.code,
        "baseline_us": comparison.baseline_us,
        "candidate_us": comparison.candidate_us,
        "ratio": [comparison.ratio.median, comparison.ratio.low, comparison.ratio.high],
        "noise": comparison.noise,
        "blocks": comparison.blocks,
        "looks": comparison.looks,
        "seconds": comparison.seconds,
        "clock_ratio": comparison.clock_ratio,
        **more,
    }


def printed(row: dict[str, Any]) -> dict[str, Any]:
    """Progress, one line a comparison."""
    low, high = row["ratio"][1:]
    sys.stderr.write(
        f"{row['kernel']:20} {row.get('effect', 0):.3f} {row['baseline_us']:9.2f} µs {row['state']:9} "
        f"{low:.4f} … {high:.4f} ± {row['noise']:.4f} {row['blocks']:5} blocks {row['seconds']:.3f} s\n"
    )
    return row


def identical(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Pairs of the same source: how often they are called fast or slow."""
    rows: list[dict[str, Any]] = []
    each = -(-options.pairs // len(IDENTICAL))
    with device_and_timer() as (device, timer):
        for kernel in IDENTICAL:
            for load in range(LOADS):
                with timed_pair(
                    device, kernel, kernel.program(), kernel.program(), options.seed + load
                ) as timed:
                    sampler = CudaSampler(timer, device.clocks, timed.programs)
                    for run in range(load, each, LOADS):
                        comparison = compare_pairs(
                            sampler,
                            seconds=options.seconds,
                            worth=0.005,
                            seed=options.seed + 1000 * load + run,
                        )
                        rows.append(printed(row_of(kernel, comparison, load=load)))
    return rows


def _work_for(device: CudaDevice, timer: LaunchTimer, kernel: TimedKernel) -> dict[float, int]:
    """How much WORK makes the kernel longer by each effect: its time is linear in WORK, which two points give."""
    double = kernel.program(2 * kernel.work)
    with timed_pair(device, kernel, kernel.program(), double, 1) as timed:
        sampler = CudaSampler(timer, device.clocks, timed.programs)
        once, twice = (
            statistics.median(
                sampler.time(Launch(program, n % 2, n % timed.buffer_sets)).micros for n in range(200)
            )
            for program in (BASELINE, CANDIDATE)
        )
    return {e: kernel.work + max(1, round(e * once * kernel.work / (twice - once))) for e in EFFECTS}


def lengthened(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Pairs of a known difference, in either direction: how often it is seen, and in what time."""
    rows: list[dict[str, Any]] = []
    drawn = random.Random(options.seed)
    with device_and_timer() as (device, timer):
        for kernel in LENGTHENED:
            for effect, longer in _work_for(device, timer, kernel).items():
                for slower in (True, False):
                    programs = [kernel.program(), kernel.program(longer)]
                    with timed_pair(
                        device, kernel, *(programs if slower else programs[::-1]), seed=1
                    ) as timed:
                        sampler = CudaSampler(timer, device.clocks, timed.programs)
                        runs = options.runs if effect <= EFFECTS[1] else max(2, options.runs // 4)
                        for _ in range(runs // 2):
                            comparison = compare_pairs(
                                sampler, seconds=options.seconds, worth=0.005, seed=drawn.randrange(1 << 30)
                            )
                            wanted = "slow" if slower else "fast"
                            rows.append(
                                printed(row_of(kernel, comparison, effect=effect, work=longer, wanted=wanted))
                            )
    return rows


def beside_ncu(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Our times of each kernel; or, for `ncu` to measure, the same launches without any timing."""
    rows: list[dict[str, Any]] = []
    variants = [(kernel, kernel.work) for kernel in (*IDENTICAL, *LENGTHENED)]
    variants += [(kernel, round(kernel.work * 1.05)) for kernel in LENGTHENED]
    with device_and_timer() as (device, timer):
        for kernel, work in variants:
            program = kernel.program(work)
            with timed_pair(device, kernel, program, program, 1) as timed:
                keys = [Launch(BASELINE, 0, buffers) for buffers in range(timed.buffer_sets)]
                if options.under_ncu:
                    _launch_for_ncu(device, timed, keys)
                    continue
                sampler = CudaSampler(timer, device.clocks, timed.programs)
                times = [sampler.time(key).micros for _ in range(30) for key in keys][12:]
            rows.append({
                "kernel": kernel.name, "work": work, "median_us": statistics.median(times), "samples": times,
                "event_overhead_us": timer.overhead_us,
            })  # fmt: skip
    return rows


def _launch_for_ncu(device: CudaDevice, timed: TimedPrograms, keys: list[Launch]) -> None:
    device.driver.start_profiler()
    for number in range(NCU_LAUNCHES):
        program = timed.programs[keys[number % len(keys)]]
        program.renew()
        program.launch()
        device.driver.Context.synchronize()
    device.driver.stop_profiler()


def durations(path: Path) -> list[float]:
    """gpu__time_duration of every launch in µs, from ncu's raw CSV page."""
    lines = [line for line in path.read_text().splitlines() if line.startswith('"')]
    table = list(csv.DictReader(lines))
    column = "gpu__time_duration.sum"
    scale = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "nsecond": 1e-3, "usecond": 1.0, "msecond": 1e3}[
        table[0][column]
    ]
    return [float(row[column].replace(",", "")) * scale for row in table[1:]]


def ncu_table(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Our times beside ncu's."""
    rows = json.loads((options.out / "timing_beside_ncu.json").read_text())["rows"]
    theirs = durations(options.csv)
    if len(theirs) != NCU_LAUNCHES * len(rows):
        raise SystemExit(f"{options.csv} has {len(theirs)} launches; {NCU_LAUNCHES * len(rows)} were made")
    for number, row in enumerate(rows):
        mine = theirs[number * NCU_LAUNCHES : (number + 1) * NCU_LAUNCHES]
        row["ncu_us"] = statistics.median(mine)
        row["ncu_samples"] = mine
    return rows


def device_name() -> str:
    """The GPU and its driver."""
    device = CudaDevice()
    try:
        about = device.describe()
        return f"{about['name']}, driver {about.get('driver', 'unknown')}"
    finally:
        device.close()
