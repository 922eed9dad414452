"""Sectors, requests and wavefronts of the emulated device beside those that ncu counts on a GPU.

    python -m tests.benchmarks counts_agreement run --device emulated [--llmc PATH] > emulated.json
    python -m tests.benchmarks counts_agreement run --device cuda [--llmc PATH] > ncu.json
    python -m tests.benchmarks counts_agreement table emulated.json ncu.json [--write]

The second takes a GPU that ncu may count on, compiles and records all launches first, and measures them in one run of
ncu, which is ended after 200 s. What the counters are, and where they may differ: `counts_agreement.md` beside this.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.devices.base import Device
from kernel_gate.devices.image import Image
from kernel_gate.devices.opening import EMULATED_ARCH, open_quiet
from kernel_gate.emulated.types import f32_to_bf16
from kernel_gate.program import Program
from kernel_gate.sanitizer.recording import RecordingDevice

from .counted_kernels import kernels
from .counted_metrics import METRICS, emulated_counts
from .ncu import find_ncu, known_metrics, measure_recorded, read_page, value_of

SUMMARY = "sectors and wavefronts of the emulated device beside those that ncu counts"
_CHIP = "gh100"
_NCU_SECONDS = 200.0
_LLMC = (
    "layernorm_forward_kernel1", "layernorm_forward_kernel3", "layernorm_forward_kernel5", "softmax_forward_kernel1",
    "softmax_forward_kernel3", "softmax_forward_online_kernel2", "gelu_forward_kernel1", "gelu_forward_kernel2",
    "residual_forward_kernel2", "adamw_kernel2", "permute_kernel", "crossentropy_forward_kernel1",
    "fused_residual_forward_kernel5", "encoder_forward_kernel3", "matmul_forward_kernel4", "trimul_global",
    "matmul_backward_bias_kernel4", "attention_query_key_kernel1", "fused_classifier_kernel3", "scale_kernel",
)  # fmt: skip
"""One of each way to reach memory; each kernel's first case."""


@dataclass(frozen=True)
class Counted:
    """A kernel that can be launched on any device."""

    name: str
    program: Program
    arguments: dict[str, Any]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int = 0

    def image(self, *, want_cubin: bool) -> Image:
        """Device code for an H200, with the PTX that the emulated device runs. Raises `BuildError`."""
        return compile_nvrtc(self.program, EMULATED_ARCH, want_cubin=want_cubin)

    def launch(self, device: Device, image: Image) -> Any:
        """Allocate, fill and launch."""
        kernel, values = device.load(image), []
        for name, value in self.arguments.items():
            if isinstance(value, np.ndarray):
                buffer = device.allocate(value.nbytes, name, value.itemsize)
                buffer.write(value)
                values.append(buffer)
            else:
                values.append(value)
        grid, block = ((*extent, 1, 1)[:3] for extent in (self.grid, self.block))
        return kernel.launch(grid, block, self.shared_bytes, values)


def counted(llmc: Path | None) -> Iterator[Counted]:
    """Our own kernels, and some of llm.c's when a checkout is given."""
    for own in kernels():
        yield Counted(own.name, Program("cuda", own.source, "kernel"), own.arguments, own.grid, own.block)
    if llmc is not None:
        from .llmc_agreement import is_bf16, program
        from .llmc_kernels import cases

        chosen = {case.kernel: case for case in reversed(list(cases())) if case.kernel in _LLMC}
        for case in chosen.values():
            low = case.low_precision if is_bf16(llmc, case) else frozenset()
            arguments = {
                name: f32_to_bf16(np.nan_to_num(value)) if name in low else value
                for name, value in case.arguments.items()
            }
            yield Counted(
                f"llm.c {case.name}", program(llmc, case), arguments, case.grid, case.block, case.shared_bytes
            )


def run_emulated(cases: Sequence[Counted]) -> dict[str, Any]:
    """Counts of the executed addresses, by kernel."""
    rows = []
    for case in cases:
        device = open_quiet(60.0, counts=True)
        result = case.launch(device, case.image(want_cubin=False))
        device.close()
        row: dict[str, Any] = {"name": case.name, "counts": emulated_counts(result)}
        if result.faults:
            row["fault"] = result.faults[0].message
        rows.append(row)
    return {"device": "emulated", "date": str(date.today()), "kernels": rows}


def run_ncu(cases: Sequence[Counted], folder: Path) -> dict[str, Any]:
    """Raw counters, by kernel. Raises `CountersUnavailable`."""
    record(cases, folder)
    ncu = find_ncu()
    metrics = known_metrics(ncu, METRICS, _CHIP)
    print(f"measuring {len(cases)} launches, {len(metrics)} counters", file=sys.stderr)  # noqa: T201
    page = read_page(measure_recorded(ncu, folder, metrics, _NCU_SECONDS))
    return {
        "device": _CHIP,
        "date": str(date.today()),
        "unknown_metrics": sorted(set(METRICS) - set(metrics)),
        "launches": len(page),
        "kernels": [
            {"name": case.name, "metrics": {metric: value_of(row, metric) for metric in metrics}}
            for case, row in zip(cases, page, strict=False)
        ],
    }


def record(cases: Sequence[Counted], folder: Path) -> None:
    """Compile every kernel and write the launches down."""
    device = RecordingDevice(EMULATED_ARCH)
    for case in cases:
        case.launch(device, case.image(want_cubin=True))
    device.save(folder)


def main(arguments: list[str]) -> None:
    """Command line."""
    from .counted_tables import RESULTS, page

    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks counts_agreement", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    runner = commands.add_parser("run")
    runner.add_argument("--device", choices=("emulated", "cuda"), required=True)
    runner.add_argument("--llmc", type=Path, help="a checkout of llm.c, of which some kernels are added")
    runner.add_argument("--only", default="", help="kernels whose names hold this")
    table = commands.add_parser("table")
    table.add_argument("emulated", type=Path)
    table.add_argument("ncu", type=Path)
    table.add_argument("--write", action="store_true", help="write results/counts_agreement.{json,md}")
    options = parser.parse_args(arguments)
    if options.command == "run":
        cases = [case for case in counted(options.llmc) if options.only in case.name]
        if options.device == "emulated":
            counts = run_emulated(cases)
        else:
            with tempfile.TemporaryDirectory(prefix="kernel-gate-counts-") as folder:
                counts = run_ncu(cases, Path(folder))
        print(json.dumps(counts, indent=1))  # noqa: T201
        return
    both = [json.loads(path.read_text()) for path in (options.emulated, options.ncu)]
    text = page(*both)
    print(text)  # noqa: T201
    if options.write:
        RESULTS.write_text(text, "utf-8")
        document = {"emulated": both[0], "ncu": both[1]}
        RESULTS.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
