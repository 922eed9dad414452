"""Runs Triton kernels, our own and Liger-Kernel's, on a device against float64 references; compares two devices.

python -m tests.benchmarks triton_kernels run PATH/TO/Liger-Kernel --device emulated > emulated.json
python -m tests.benchmarks triton_kernels run PATH/TO/Liger-Kernel --device cuda > h200.json
python -m tests.benchmarks triton_kernels compare emulated.json h200.json
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from kernel_gate.build.errors import BuildError
from kernel_gate.build.triton_build import compile_triton
from kernel_gate.build.unit import Unit
from kernel_gate.devices.base import Device
from kernel_gate.devices.image import Image
from kernel_gate.devices.opening import open_device
from kernel_gate.emulated.types import bf16_to_f32, f32_to_bf16
from kernel_gate.program import Program
from kernel_lineage.workloads.device_code import triton_text

from . import triton_liger_cases, triton_own_cases
from .llmc_agreement import compare, relative_error
from .triton_case import FLOAT_TOLERANCE, LOW_TOLERANCE, TritonCase

SUMMARY = "Triton kernels, our own and Liger-Kernel's, against float64 references on a device"
_TYPES = {"float32": "fp32", "float16": "fp16", "int32": "i32", "int64": "i64", "uint16": "bf16"}
_OWN = Path(__file__).parent


def cases() -> list[TritonCase]:
    """Every case."""
    families = (*triton_own_cases.FAMILIES, *triton_liger_cases.FAMILIES)
    return [case for family in families for case in family()]


def _data(case: TritonCase) -> dict[str, Any]:
    """The arguments as the kernel takes them: bf16 as bits."""
    return {
        name: f32_to_bf16(value) if name in case.low_precision else value
        for name, value in case.arguments.items()
    }


def _image(case: TritonCase, data: dict[str, Any], liger: Path, arch: str) -> Image:
    own = case.file == "triton_own.py"
    root = _OWN if own else liger
    path = root / case.file if own else root / "src/liger_kernel/ops" / case.file
    kinds = {n: ("*" if isinstance(v, np.ndarray) else "") + _TYPES[v.dtype.name] for n, v in data.items()}
    unit = Unit(
        tuple(case.constexpr.items()),
        case.num_warps,
        arguments=tuple(kinds.items()),
        divisible=tuple(n for n, v in data.items() if isinstance(v, np.ndarray)),
        ones=tuple(n for n, v in data.items() if isinstance(v, np.integer) and v == 1),
    )
    text, module, siblings = triton_text(path.read_bytes(), (case.kernel,), path)
    program = Program("triton", text, case.kernel, includes=siblings, module=module, name=path.name)
    with tempfile.TemporaryDirectory() as name:
        return compile_triton(program, [unit], arch, Path(name))[0]


def run_case(device: Device, case: TritonCase, liger: Path) -> dict[str, Any]:
    """Compile, launch and compare one kernel."""
    data = _data(case)
    image = _image(case, data, liger, device.arch)
    kernel = device.load(image)
    buffers: dict[str, Any] = {}
    wide: dict[str, Any] = {}
    for name, value in data.items():
        wide[name] = (bf16_to_f32(value) if name in case.low_precision else value).astype(np.float64)
        if isinstance(value, np.ndarray):
            buffers[name] = device.allocate(value.nbytes, name, value.itemsize)
            buffers[name].write(value)
    values = [buffers.get(name, data[name]) for name in image.parameters or ()]
    grid = (*case.grid, 1, 1)[:3]
    result = kernel.launch(grid, (image.block_threads or 128, 1, 1), 0, values)
    expected = case.reference(wide)
    errors: dict[str, float] = {}
    for name, want in expected.items():
        raw = buffers[name].read().view(data[name].dtype)
        got = (bf16_to_f32(raw) if name in case.low_precision else raw).astype(np.float64)
        errors[name] = relative_error(got.reshape(np.shape(want)), np.asarray(want, np.float64))
    for buffer in buffers.values():
        buffer.free()
    tolerance = case.tolerance or (LOW_TOLERANCE if case.low_precision else FLOAT_TOLERANCE)
    right = all(error <= tolerance for error in errors.values())
    types = sorted({_TYPES[v.dtype.name] for v in data.values() if isinstance(v, np.ndarray)} - {"i32"})
    return {
        "file": case.file,
        "kernel": case.kernel + (" (bf16)" if case.low_precision else ""),
        "dtype": ", ".join(types),
        "elements": int(sum(np.size(v) for v in expected.values())),
        "worst_error": max(errors.values()),
        "tolerance": tolerance,
        "findings": [f"{f.kind}, line {f.line}: {f.message}" for f in result.faults],
        "result": "agrees" if right else "differs",
    }


def run(liger: Path, kind: str) -> dict[str, Any]:
    """The table of one device."""
    device, _ = open_device(kind)  # type: ignore[arg-type]
    rows = []
    for case in cases():
        print(f"{case.file} {case.kernel}", file=sys.stderr)  # noqa: T201
        try:
            rows.append(run_case(device, case, liger))
        except BuildError as error:
            rows.append({"file": case.file, "kernel": case.kernel, "result": f"not built: {error}"})
    described = device.describe()
    device.close()
    return {"device": described, "kernels": rows}


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    runner = commands.add_parser("run")
    runner.add_argument("liger", type=Path)
    runner.add_argument("--device", default="emulated")
    comparer = commands.add_parser("compare")
    comparer.add_argument("tables", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    if options.command == "run":
        print(json.dumps(run(options.liger, options.device), indent=1))  # noqa: T201
    else:
        print(compare([json.loads(p.read_text()) for p in options.tables]))  # noqa: T201
