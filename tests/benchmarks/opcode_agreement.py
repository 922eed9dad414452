"""Single instructions on the emulated device and on a GPU, over the same edge and random bits; counts what differs.

python -m tests.benchmarks opcode_agreement [--device cuda] > TABLE.json

Without `--device cuda` the emulated results alone are hashed, which says only that every row runs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from typing import Any

import numpy as np

from kernel_gate.build.errors import BuildError
from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.devices.base import Device
from kernel_gate.devices.opening import open_device
from kernel_gate.program import Program

SUMMARY = "single PTX instructions, bit by bit, on the emulated device and on a GPU"
_COUNT = 8192
_C = {
    16: ("unsigned short", "h", np.uint16),
    32: ("unsigned", "r", np.uint32),
    64: ("unsigned long long", "l", np.uint64),
}
_SOURCE = """
extern "C" __global__ void kernel({out}* d, const {a}* a, const {b}* b, const {c}* c, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    {out} result;
    asm volatile("{{ {text} }}" : "={od}"(result) : "{oa}"(a[i]), "{ob}"(b[i]), "{oc}"(c[i]));
    d[i] = result;
}}
"""
Row = tuple[str, int, tuple[int, int, int], str]
"""Instruction over %0 (result) and %1, %2, %3; bits of the result; of the operands; the format of random operands."""


def rows() -> list[Row]:
    """Every instruction that is compared."""
    three32, three64 = (32, 32, 32), (64, 64, 64)
    table: list[Row] = []
    for rounding in ("rn", "rz", "rm", "rp"):
        for name, count in (
            ("add", 2),
            ("sub", 2),
            ("mul", 2),
            ("div", 2),
            ("fma", 3),
            ("rcp", 1),
            ("sqrt", 1),
        ):
            table += [
                (_on_floats(f"{name}.{rounding}.f32", count), 32, three32, "f32"),
                (_on_floats(f"{name}.{rounding}.f64", count), 64, three64, "f64"),
            ]
    for kind, bits in (("f32", 32), ("f64", 64)):
        for target in ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"):
            table.append((_to_integer(target, kind), 64, (bits, bits, bits), kind))
    for text in (
        "cvt.rn.f16x2.f32",
        "cvt.rz.f16x2.f32",
        "cvt.rn.relu.f16x2.f32",
        "cvt.rn.bf16x2.f32",
        "cvt.rz.bf16x2.f32",
    ):
        table.append((f".reg .f32 x, y; mov.b32 x, %1; mov.b32 y, %2; {text} %0, x, y;", 32, three32, "f32"))
    for name in ("e4m3x2", "e5m2x2"):
        for relu in ("", ".relu"):
            table += [
                (f".reg .f32 x, y; mov.b32 x, %1; mov.b32 y, %2; cvt.rn.satfinite{relu}.{name}.f32 %0, x, y;", 16,
                 three32, "f32"),
                (f"cvt.rn.satfinite{relu}.{name}.f16x2 %0, %1;", 16, three32, "bits"),
                (f"cvt.rn{relu}.f16x2.{name} %0, %1;", 32, (16, 16, 16), "bits"),
            ]  # fmt: skip
    table.append((".reg .f32 x; mov.b32 x, %1; cvt.rna.tf32.f32 %0, x;", 32, three32, "f32"))
    for kind in ("f16x2", "bf16x2"):
        table += [
            (f"{op}.{kind} %0, %1, %2;", 32, three32, "bits") for op in ("min", "max", "min.NaN", "max.NaN")
        ]
        table += [(f"{op}.{kind} %0, %1, %2, %3;", 32, three32, "bits") for op in ("fma.rn", "fma.rn.relu")]
    table += [(f"{op}.f16x2 %0, %1, %2;", 32, three32, "bits") for op in ("add", "sub", "mul", "add.sat")]
    integers = (
        "bfe.u32 %0, %1, %2, %3;", "bfe.s32 %0, %1, %2, %3;", "bfi.b32 %0, %1, %2, 5, 9;", "prmt.b32 %0, %1, %2, %3;",
        "prmt.b32.f4e %0, %1, %2, %3;", "prmt.b32.rc16 %0, %1, %2, %3;", "prmt.b32.ecl %0, %1, %2, %3;",
        "dp4a.s32.u32 %0, %1, %2, %3;", "dp2a.lo.s32.s32 %0, %1, %2, %3;", "dp2a.hi.u32.s32 %0, %1, %2, %3;",
        "shf.l.clamp.b32 %0, %1, %2, %3;", "shf.r.wrap.b32 %0, %1, %2, %3;", "sad.s32 %0, %1, %2, %3;",
        "mad.hi.s32 %0, %1, %2, %3;", "mad24.hi.s32 %0, %1, %2, %3;", "mul24.hi.u32 %0, %1, %2;", "bfind.s32 %0, %1;",
        "szext.wrap.s32 %0, %1, %2;", "szext.clamp.u32 %0, %1, %2;", "bmsk.clamp.b32 %0, %1, %2;",
        "bmsk.wrap.b32 %0, %1, %2;", "fns.b32 %0, %1, 7, 3;", "lop3.b32 %0, %1, %2, %3, 0x96;", "brev.b32 %0, %1;",
        "max.s16x2 %0, %1, %2;", "min.u16x2 %0, %1, %2;", "max.s16x2.relu %0, %1, %2;", "add.u16x2 %0, %1, %2;",
        "max.relu.s32 %0, %1, %2;", "add.sat.s32 %0, %1, %2;", "mad.hi.sat.s32 %0, %1, %2, %3;",
        "vabsdiff4.u32.u32.u32 %0, %1, %2, %3;", "vadd4.s32.s32.s32.sat %0, %1, %2, %3;",
        "vmax2.s32.s32.s32 %0, %1, %2, %3;", "vavrg4.u32.u32.u32 %0, %1, %2, %3;",
        "vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;", "vset2.u32.u32.ge %0, %1, %2, %3;",
        "vadd.s32.u32.s32.sat %0, %1.b1, %2.h0;",
    )  # fmt: skip
    return [*table, *((text, 32, three32, "bits") for text in integers)]


def _on_floats(opcode: str, count: int) -> str:
    kind = opcode.rsplit(".", 1)[1]
    bits = kind[1:]
    moves = "".join(f"mov.b{bits} x{k}, %{k}; " for k in range(1, count + 1))
    operand_names = ", ".join(f"x{k}" for k in range(1, count + 1))
    return f".reg .{kind} d, x1, x2, x3; {moves}{opcode} d, {operand_names}; mov.b{bits} %0, d;"


def _to_integer(target: str, kind: str) -> str:
    bits, register = kind[1:], "b16" if target[1:] in ("8", "16") else f"b{target[1:]}"
    widened = "mov.b64 %0, y;" if register == "b64" else f"cvt.u64.u{register[1:]} %0, y;"
    return f".reg .{kind} x; .reg .{register} y; mov.b{bits} x, %1; cvt.rzi.{target}.{kind} y, x; {widened}"


def operands(bits: int, kind: str, seed: int) -> np.ndarray:
    """Random bits, moderate floats, and the edges of the format."""
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 2**bits, _COUNT, dtype=np.uint64, endpoint=False).astype(_C[bits][2])
    if kind in ("f32", "f64"):
        dtype = np.float32 if kind == "f32" else np.float64
        near = (rng.normal(size=_COUNT // 2) * 2.0 ** rng.integers(-30, 70, _COUNT // 2)).astype(dtype)
        raw[: len(near)] = near.view(raw.dtype)
        info = np.finfo(dtype)
        edges = [
            0,
            -0.0,
            1,
            -1,
            np.inf,
            -np.inf,
            info.max,
            info.tiny,
            info.smallest_subnormal,
            0.5,
            2.5,
            1.5,
            255.5,
        ]
        raw[-len(edges) :] = rng.permutation(np.array(edges, dtype)).view(raw.dtype)
    else:
        raw[: _COUNT // 4] &= raw.dtype.type(63)
    return raw


def run_row(device: Device, row: Row) -> np.ndarray:
    """The bits that an instruction gives on a device."""
    text, out, kinds, kind = row
    names = {n: _C[bits] for n, bits in zip("abc", kinds, strict=True)}
    source = _SOURCE.format(
        out=_C[out][0], od=_C[out][1], text=text,
        **{n: c[0] for n, c in names.items()}, **{f"o{n}": c[1] for n, c in names.items()},
    )  # fmt: skip
    image = compile_nvrtc(Program("cuda", source, "kernel"), "sm_90", want_cubin=device.kind == "cuda")
    kernel = device.load(image)
    data = [np.zeros(_COUNT, _C[out][2]), *(operands(bits, kind, n) for n, bits in enumerate(kinds))]
    buffers = []
    for number, array in enumerate(data):
        buffers.append(device.allocate(array.nbytes, f"argument {number}", array.itemsize))
        buffers[-1].write(array)
    result = kernel.launch((_COUNT // 256, 1, 1), (256, 1, 1), 0, [*buffers, np.int32(_COUNT)])
    if result.faults:
        raise RuntimeError(f"{text}: {result.faults[0].message}")
    values = _one_nan(buffers[0].read().view(_C[out][2]), text)
    for buffer in buffers:
        buffer.free()
    return values


def _entry(row: Row, emulated: Device, other: Device | None) -> dict[str, Any]:
    """One row of the table; what a device cannot do is said and hides nothing of the other."""
    entry: dict[str, Any] = {"instruction": row[0], "operands": row[3]}
    results: dict[str, np.ndarray] = {}
    for device in (emulated, other):
        if device is not None:
            try:
                results[device.kind] = run_row(device, row)
                entry[device.kind] = hashlib.sha256(results[device.kind].tobytes()).hexdigest()[:12]
            except (RuntimeError, BuildError) as error:
                entry[device.kind] = f"not run: {str(error)[:200]}"
    if len(results) == 2:
        apart = np.flatnonzero(results["emulated"] != results["cuda"])
        inputs = [operands(bits, row[3], n) for n, bits in enumerate(row[2])]
        entry |= {"compared": _COUNT, "different": len(apart)}
        entry["first"] = [
            [hex(int(v[i])) for v in (*inputs, results["emulated"], results["cuda"])] for i in apart[:4]
        ]
    return entry


def _one_nan(bits: np.ndarray, text: str) -> np.ndarray:
    """The results with every NaN of f32 and f64 arithmetic made the same: which NaN it is carries no meaning."""
    floating = {"f32 d,": np.float32, "f64 d,": np.float64}
    dtype = next((d for part, d in floating.items() if f".reg .{part}" in text), None)
    if dtype is None:
        return bits
    return np.where(np.isnan(bits.view(dtype)), bits.dtype.type(np.iinfo(bits.dtype).max), bits)


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="emulated")
    options = parser.parse_args(arguments)
    emulated, _ = open_device("emulated")
    other = open_device(options.device)[0] if options.device != "emulated" else None
    table = [_entry(row, emulated, other) for row in rows()]
    device = (other or emulated).describe()
    print(json.dumps({"device": device, "rows": table}, indent=1))  # noqa: T201
