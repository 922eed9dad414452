"""Compares what tensor cores and asynchronous copies of an sm_90 GPU compute with the emulated device's results.

    PYTHONPATH=tests python -m tests.benchmarks tensor_cores [--write]

The same image runs on both. A difference is given as its share of what `matrices.product` promises: steps · (k + 1) ·
2^-22 · Σ|aᵢbᵢ| with f32 sums, 2^-12 in place of 2^-22 for fp8, half a unit in the last place of 16-bit results.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gate.emulated import test_bulk_copies, test_clusters, test_tensor_copies, test_triton_dot, test_wmma
from gate.emulated.test_triton_dot import KINDS, SUMS, cells
from kernel_gate.build.compile import compile_program
from kernel_gate.build.errors import BuildError
from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.build.unit import Unit
from kernel_gate.devices.base import Device, DeviceError
from kernel_gate.devices.cuda import CudaDevice
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.devices.image import Image
from kernel_gate.emulated.matrices.elements import ELEMENTS
from kernel_gate.program import Program

SUMMARY = "tensor cores, TMA and mbarriers of an sm_90 GPU against the emulated device"
RESULTS = Path(__file__).parent / "results" / "tensor_cores_h200.json"
STEP = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "f64": 4}
ARCH = "sm_90"


@dataclass(frozen=True)
class Case:
    """One kernel with its arguments."""

    name: str
    image: Callable[[], Image]
    arguments: dict[str, Any]
    output: str
    grid: tuple[int, int, int]
    block: int
    bound: Any
    """Largest difference that is explained, per element or for all."""
    also: tuple[str, ...] = ()
    """Opcodes that the image must hold, so that it shows what its name says."""


def triton(source: str, stages: int, arguments: dict[str, str], **constants: Any) -> Callable[[], Image]:
    def build() -> Image:
        unit = Unit(
            tuple(constants.items()),
            num_stages=stages,
            arguments=tuple(arguments.items()),
            divisible=tuple(arguments),
        )
        return compile_program(Program("triton", source, "kernel"), ARCH, [unit], want_cubin=True)[unit]

    return build


def cuda(source: str) -> Callable[[], Image]:
    return lambda: compile_nvrtc(Program("cuda", source, "kernel"), ARCH, want_cubin=True)


def rounding(element: str, k: int, x: np.ndarray, y: np.ndarray, out: type) -> np.ndarray:
    """What two ways to sum may differ by, per element of the product."""
    opened = [np.abs(ELEMENTS[element].open(v.view(ELEMENTS[element].cell))) for v in (x, y)]
    sums = opened[0] @ opened[1]
    step = STEP[element]
    unit = 2.0**-12 if element in ("e4m3", "e5m2") else 2.0**-50 if element == "f64" else 2.0**-22
    bound = k / step * (step + 1) * unit * sums
    return bound + (k / step * 2.0**-11 * sums if out is np.float16 else 0)


def dots() -> Iterator[Case]:
    m, n, k = 128, 128, 256
    for rows, words in ((64, "wgmma.mma_async"), (32, "mma.sync")):
        for kind, (element, out, _) in KINDS.items():
            source = test_triton_dot.MATMUL.replace(
                "OUT: tl.constexpr", f"OUT: tl.constexpr = tl.{SUMS[out].__name__}"
            )
            types = {"a": f"*{kind}", "b": f"*{kind}", "c": f"*{out}", "M": "i32", "N": "i32", "K": "i32"}
            x, y = cells(element, (m, k)), cells(element, (k, n))
            if element == "e5m2":
                # Sums of the largest values would be as far apart as their rounding: keep exponents moderate.
                x, y = (v & 0xBF for v in (x, y))
            yield Case(
                f"tl.dot {kind}, {rows} rows", triton(source, 3, types, BM=rows, BN=64, BK=32),
                {"a": x, "b": y, "c": np.zeros((m, n), SUMS[out]), "M": np.int32(m), "N": np.int32(n),
                 "K": np.int32(k)},
                "c", (m // rows, n // 64, 1), 128,
                0 if element == "s8" else rounding(element, k, x, y, SUMS[out]),
                () if kind == "fp64" else (words,),
            )  # fmt: skip


def others() -> Iterator[Case]:
    x, y = cells("f16", (96, 200)), cells("f16", (200, 72))
    yield Case(
        "tensor descriptors with edges",
        triton(test_tensor_copies.MATMUL, 3, test_tensor_copies.TYPES, BM=64, BN=64, BK=64),
        {"a": x, "b": y, "c": np.zeros((96, 72), np.float16), "M": np.int32(96), "N": np.int32(72),
         "K": np.int32(200)},
        "c", (2, 2, 1), 128, 2.0**-10 * np.abs(x.astype(float) @ y.astype(float)) + 1e-3,
        ("cp.async.bulk.tensor", "wgmma.mma_async", "mbarrier.try_wait"),
    )  # fmt: skip
    q, k, v = (cells("f16", (128, 64)) for _ in range(3))
    types = {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp32", "L": "i32", "scale": "fp32"}
    yield Case(
        "attention with a running softmax",
        triton(test_triton_dot.ATTENTION, 2, types, BM=64, BN=32, D=64),
        {"q": q, "k": k, "v": v, "out": np.zeros((128, 64), np.float32), "L": np.int32(128),
         "scale": np.float32(0.125)},
        "out", (2, 1, 1), 128, 2e-3, ("wgmma.mma_async",),
    )  # fmt: skip
    a, b = (cells("f16", (64, 64)) for _ in range(2))
    yield Case(
        "nvcuda::wmma, tiled", cuda(test_wmma.TILED),
        {"a": a, "b": b, "c": np.zeros((64, 64), np.float32), "n": np.int32(64)},
        "c", (2, 2, 1), 128, rounding("f16", 64, a, b, np.float32), ("wmma.mma",),
    )  # fmt: skip
    x = np.random.default_rng(2).normal(size=(4, 128)).astype(np.float32)
    for name, source, words in (
        ("cuda::barrier", test_bulk_copies.BARRIER, ("mbarrier.arrive",)),
        ("cuda::pipeline", test_bulk_copies.PIPELINE, ("cp.async", "mbarrier.try_wait")),
        ("cooperative_groups::memcpy_async", test_bulk_copies.COOPERATIVE, ("cp.async",)),
        ("cp.async.bulk in, cp.reduce.async.bulk out", test_bulk_copies.BULK, ("cp.reduce.async.bulk",)),
    ):
        arguments = {"out": np.zeros(128, np.float32), "x": x, "n": np.int32(4)}
        yield Case(name, cuda(source), arguments, "out", (1, 1, 1), 128, 0, words)


def clusters() -> Iterator[Case]:
    numbers = np.random.default_rng(3)
    x = numbers.integers(0, 256, 3000).astype(np.int32)
    yield Case(
        "histogram in a cluster's shared memory", cuda(test_clusters.HISTOGRAM),
        {"bins": np.zeros(256, np.int32), "x": x, "n": np.int32(3000)}, "bins", (8, 1, 1), 64, 0, ("mapa",),
    )  # fmt: skip
    y = numbers.normal(size=(3, 256)).astype(np.float32)
    yield Case(
        "sum over a cluster", cuda(test_clusters.SUM), {"out": np.zeros(3, np.float32), "x": y}, "out",
        (24, 1, 1), 32, 0, ("barrier.cluster.wait",),
    )  # fmt: skip


def run(device: Device, image: Image, case: Case) -> tuple[np.ndarray, list[str], float]:
    """The output, the faults and the seconds of one launch."""
    kernel = device.load(image)
    values: list[Any] = []
    result: Any = None
    for name, value in case.arguments.items():
        if isinstance(value, np.ndarray):
            buffer = device.allocate(value.nbytes, name, value.itemsize)
            buffer.write(value)
            values.append(buffer)
            result = buffer if name == case.output else result
        else:
            values.append(value)
    start = time.monotonic()
    done = kernel.launch(case.grid, (case.block, 1, 1), 0, values)
    seconds = time.monotonic() - start
    expected = case.arguments[case.output]
    return (
        result.read().view(expected.dtype).reshape(expected.shape),
        [f.message for f in done.faults],
        seconds,
    )


@dataclass(frozen=True)
class Row:
    """One comparison."""

    name: str
    identical: float
    """Share of the elements with the same bits."""
    difference: float
    """Largest, absolute."""
    of_bound: float
    """Largest share of what is explained; 0 where the bits are the same."""
    faults: list[str]
    emulated_seconds: float


def compare(case: Case, gpu: Device, emulated: Device) -> Row:
    image = case.image()
    missing = [words for words in case.also if words not in image.ptx]
    assert not missing, f"{case.name}: the image has no {missing}"
    values, gpu_faults, _ = run(gpu, image, case)
    ours, faults, seconds = run(emulated, image, case)
    difference = np.abs(values.astype(np.float64) - ours.astype(np.float64))
    bound = np.broadcast_to(np.asarray(case.bound, np.float64), difference.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(difference == 0, 0.0, difference / bound)
    same = np.mean(values.view(f"u{values.itemsize}") == ours.view(f"u{ours.itemsize}"))
    return Row(
        case.name,
        round(float(same), 4),
        float(difference.max()),
        round(float(share.max()), 4),
        gpu_faults + faults,
        round(seconds, 3),
    )


def main(arguments: list[str]) -> None:
    """Print one row per kernel, or keep them in results/."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the table in results/")
    parser.add_argument(
        "--dry", action="store_true", help="both sides on the emulated device, to try the cases"
    )
    options = parser.parse_args(arguments)
    emulated = EmulatedDevice(ARCH)
    gpu: Device = EmulatedDevice(ARCH) if options.dry else CudaDevice()
    rows = []
    for case in (*dots(), *others(), *clusters()):
        try:
            rows.append(compare(case, gpu, emulated))
        except (BuildError, DeviceError, AssertionError) as error:
            rows.append(Row(case.name, 0, 0, 0, [f"{type(error).__name__}: {error}"[:300]], 0))
        print(json.dumps(asdict(rows[-1])), flush=True)  # noqa: T201
    about = gpu.describe()
    gpu.close()
    if options.write:
        kept = ("name", "compute_capability", "driver_cuda")
        document = {
            "device": {name: about[name] for name in kept if name in about},
            "rows": [asdict(row) for row in rows],
        }
        RESULTS.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
