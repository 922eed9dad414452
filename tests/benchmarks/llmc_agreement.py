"""Runs kernels of llm.c on a device against float64 references, and compares the tables of two devices.

python -m tests.benchmarks llmc_agreement run PATH/TO/llm.c --device emulated > emulated.json
python -m tests.benchmarks llmc_agreement run PATH/TO/llm.c --device cuda > h200.json
python -m tests.benchmarks llmc_agreement compare emulated.json h200.json
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from kernel_gate.build.errors import BuildError
from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.devices.base import Device
from kernel_gate.devices.opening import open_device
from kernel_gate.emulated.types import bf16_to_f32, f32_to_bf16
from kernel_gate.program import Program
from kernel_lineage.kernels.cuda import parse
from kernel_lineage.kernels.slicing import device_slice

from .llmc_case import KernelCase
from .llmc_kernels import cases

SUMMARY = "kernels of llm.c against float64 references on a device; compares the tables of two devices"
FLOAT_TOLERANCE = 2e-5
BF16_TOLERANCE = 2**-6
"""Relative to the largest expected value of the output, as sums of both signs cancel."""


def program(root: Path, case: KernelCase) -> Program:
    """The kernel's slice of its file."""
    folder = root / "dev" / "cuda"

    def resolve(name: str) -> bytes | None:
        path = folder / name
        return path.read_bytes() if path.is_file() else None

    source = parse((folder / case.file).read_bytes())
    text = device_slice(source, case.kernel, resolve, case.file, case.template_arguments).text
    return Program("cuda", text, case.kernel, template_arguments=case.template_arguments)


def is_bf16(root: Path, case: KernelCase) -> bool:
    """Whether the file's `floatX` is bf16."""
    return bool(re.search(r"^#define ENABLE_BF16", (root / "dev/cuda" / case.file).read_text(), re.MULTILINE))


def run_case(device: Device, root: Path, case: KernelCase) -> dict[str, Any]:
    """Compile, launch and compare one kernel."""
    low = case.low_precision if is_bf16(root, case) else frozenset()
    image = compile_nvrtc(program(root, case), device.arch, want_cubin=device.kind == "cuda")
    kernel = device.load(image)
    values: list[Any] = []
    buffers: dict[str, Any] = {}
    wide: dict[str, Any] = {}
    for name, value in case.arguments.items():
        if not isinstance(value, np.ndarray):
            values.append(value)
            wide[name] = float(value)
            continue
        if case.zeroed and np.isnan(value.flat[0]):
            value = np.zeros_like(value)
        data = f32_to_bf16(value) if name in low else np.ascontiguousarray(value)
        wide[name] = (bf16_to_f32(data) if name in low else data).astype(np.float64)
        buffers[name] = device.allocate(data.nbytes, name, data.itemsize)
        buffers[name].write(data)
        values.append(buffers[name])
    grid, block = ((*extent, 1, 1)[:3] for extent in (case.grid, case.block))
    result = kernel.launch(grid, block, case.shared_bytes, values)
    errors: dict[str, float] = {}
    with np.errstate(all="ignore"):
        expected = case.reference(wide)
    for name, want in expected.items():
        raw = buffers[name].read()
        got = (bf16_to_f32(raw.view(np.uint16)) if name in low else raw.view(np.float32)).astype(np.float64)
        got = got.reshape(np.shape(want))
        if case.compared is not None:
            got, want = np.where(case.compared, got, 0), np.where(case.compared, want, 0)
        errors[name] = relative_error(got, want)
    for buffer in buffers.values():
        buffer.free()
    tolerance = BF16_TOLERANCE if low else FLOAT_TOLERANCE
    right = all(e <= tolerance for e in errors.values())
    return {
        "file": case.file,
        "kernel": case.name,
        "dtype": "bf16" if low else "float32",
        "elements": int(sum(np.size(v) for v in expected.values())),
        "worst_error": max(errors.values()),
        "tolerance": tolerance,
        "findings": [f"{f.kind}, line {f.line}: {f.message}" for f in result.faults],
        "result": "agrees" if right else "differs",
    }


def relative_error(got: np.ndarray, want: np.ndarray) -> float:
    """The largest difference over the largest finite expected value; infinite where the special values differ."""
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite]) or not np.isfinite(got[finite]).all():
        return float("inf")
    return float(np.abs(got[finite] - want[finite]).max() / max(np.abs(want[finite]).max(), 1e-30))


def run(root: Path, kind: str, only: str = "") -> dict[str, Any]:
    """The table of one device; of the kernels whose names hold `only`."""
    device, _ = open_device(kind)  # type: ignore[arg-type]
    rows = []
    for case in cases():
        if only and only not in case.name:
            continue
        print(f"{case.file} {case.name}", file=sys.stderr)  # noqa: T201
        try:
            rows.append(run_case(device, root, case))
        except BuildError as error:
            rows.append({"file": case.file, "kernel": case.name, "result": f"not built: {error}"})
    described = device.describe()
    device.close()
    return {"device": described, "kernels": rows}


def compare(tables: list[dict[str, Any]]) -> str:
    """A Markdown table of the rows of several devices."""
    names = [str(t["device"].get("name", "device")) for t in tables]
    lines = [
        "| file | kernel | elements | type | "
        + " | ".join(f"{n}: error | {n}" for n in names)
        + " | same | findings |",
        "|---" * (6 + 2 * len(names)) + "|",
    ]
    by_key = [{(r["file"], r["kernel"]): r for r in t["kernels"]} for t in tables]
    same = 0
    for key, first in by_key[0].items():
        rows = [table.get(key, {"result": "missing"}) for table in by_key]
        equal = len({r["result"] for r in rows}) == 1
        same += equal
        cells = " | ".join(f"{r.get('worst_error', float('nan')):.1e} | {r['result']}" for r in rows)
        findings_of_all = [f for r in rows for f in r.get("findings", [])]
        findings = ", ".join(dict.fromkeys(f.split(":")[0] for f in findings_of_all))
        lines.append(
            f"| {key[0]} | {key[1]} | {first.get('elements', '')} | {first.get('dtype', '')} | {cells} | "
            f"{'yes' if equal else 'no'} | {findings} |"
        )
    return "\n".join([*lines, "", f"{same} of {len(by_key[0])} kernels have the same result."])


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    runner = commands.add_parser("run")
    runner.add_argument("root", type=Path)
    runner.add_argument("--device", default="emulated")
    runner.add_argument("--only", default="", help="kernels whose names hold this")
    comparer = commands.add_parser("compare")
    comparer.add_argument("tables", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    if options.command == "run":
        print(json.dumps(run(options.root, options.device, options.only), indent=1))  # noqa: T201
    else:
        print(compare([json.loads(p.read_text()) for p in options.tables]))  # noqa: T201
