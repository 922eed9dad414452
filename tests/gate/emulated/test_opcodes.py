"""Every opcode family against NumPy or Python integers, on edge and random values."""

from __future__ import annotations

import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gate.emulated.single_opcode import run, shuffled, values
from kernel_gate.emulated.types import TYPES, bf16_to_f32, f32_to_bf16


def wrap(kind: str, value: int) -> int:
    bits = 8 * TYPES[kind].size
    value &= (1 << bits) - 1
    return value - (1 << bits) if TYPES[kind].kind == "int" and value >> (bits - 1) else value


def unsigned(kind: str, value: int) -> int:
    return value & ((1 << (8 * TYPES[kind].size)) - 1)


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def high_half(kind: str) -> Callable[[int, int], int]:
    return lambda a, b: (a * b) >> (8 * TYPES[kind].size)


def parts(value: int, count: int, signed: bool = False) -> list[int]:
    """Lanes of a word, the lowest first."""
    return list(struct.unpack(f"<{count}{ {2: 'h', 4: 'b'}[count] if signed else {2: 'H', 4: 'B'}[count] }",
                              struct.pack("<I", value & 0xFFFFFFFF)))  # fmt: skip


def dot(x: list[int], y: list[int]) -> int:
    return sum(a * b for a, b in zip(x, y, strict=True))


def by_lane(count: int, left: bool, right: bool, compute: Callable[[int, int], int]) -> Callable[..., int]:
    bits = 32 // count

    def compute_all(a: int, b: int, *_: int) -> int:
        pairs = zip(parts(a, count, left), parts(b, count, right), strict=True)
        return sum((compute(x, y) & ((1 << bits) - 1)) << (bits * k) for k, (x, y) in enumerate(pairs))

    return compute_all


def clamp32(value: int) -> int:
    return max(-(1 << 31), min((1 << 31) - 1, value))


def extended(value: int, bits: int) -> int:
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if bits and low >> (bits - 1) else low


def nth(positions: list[int], number: int) -> int:
    return positions[number - 1] if len(positions) >= number else -1


def permuted(rows: tuple[str, ...]) -> Callable[[int, int, int], int]:
    """The table of a mode as the ISA prints it: bytes of the result from the highest to the lowest."""

    def compute(a: int, b: int, c: int) -> int:
        source = parts(a, 4) + parts(b, 4)
        return sum(source[int(name)] << (8 * k) for k, name in enumerate(reversed(rows[c & 3])))

    return compute


INTEGER: list[tuple[str, str, tuple[str, ...], Callable[..., int]]] = [
    *((f"add.{t} d, a, b", t, (t, t), lambda a, b: a + b) for t in ("u16", "s32", "u64")),
    *((f"sub.{t} d, a, b", t, (t, t), lambda a, b: a - b) for t in ("s16", "u32", "s64")),
    *((f"mul.lo.{t} d, a, b", t, (t, t), lambda a, b: a * b) for t in ("u16", "s32", "u64")),
    *((f"mul.hi.{t} d, a, b", t, (t, t), high_half(t)) for t in ("s32", "u32", "s64", "u64")),
    ("mul.wide.s32 d, a, b", "s64", ("s32", "s32"), lambda a, b: a * b),
    ("mul.wide.u16 d, a, b", "u32", ("u16", "u16"), lambda a, b: a * b),
    ("mad.lo.s32 d, a, b, c", "s32", ("s32", "s32", "s32"), lambda a, b, c: a * b + c),
    ("mad.hi.u32 d, a, b, c", "u32", ("u32", "u32", "u32"), lambda a, b, c: (a * b >> 32) + c),
    ("mad.wide.u32 d, a, b, c", "u64", ("u32", "u32", "u64"), lambda a, b, c: a * b + c),
    ("mul24.lo.s32 d, a, b", "s32", ("s32", "s32"), lambda a, b: sign24(a) * sign24(b)),
    ("sad.s32 d, a, b, c", "s32", ("s32", "s32", "s32"), lambda a, b, c: abs(a - b) + c),
    *((f"div.{t} d, a, b", t, (t, t), lambda a, b: truncated(a, b) if b else -1) for t in ("s32", "u32", "s64", "u64")),
    *((f"rem.{t} d, a, b", t, (t, t), lambda a, b: a - b * truncated(a, b) if b else a) for t in ("s32", "u32", "s64")),
    *((f"min.{t} d, a, b", t, (t, t), min) for t in ("s32", "u64")),
    *((f"max.{t} d, a, b", t, (t, t), max) for t in ("s16", "u32")),
    ("neg.s32 d, a", "s32", ("s32",), lambda a: -a),
    ("abs.s64 d, a", "s64", ("s64",), abs),
    ("and.b32 d, a, b", "b32", ("b32", "b32"), lambda a, b: a & b),
    ("or.b64 d, a, b", "b64", ("b64", "b64"), lambda a, b: a | b),
    ("xor.b16 d, a, b", "b16", ("b16", "b16"), lambda a, b: a ^ b),
    ("not.b32 d, a", "b32", ("b32",), lambda a: ~a),
    ("cnot.b32 d, a", "b32", ("b32",), lambda a: int(a == 0)),
    ("lop3.b32 d, a, b, c, 0xE8", "b32", ("b32", "b32", "b32"), lambda a, b, c: (a & b) | (a & c) | (b & c)),
    ("shl.b32 d, a, b", "b32", ("b32", "u32"), lambda a, b: a << b if b < 32 else 0),
    ("shr.u64 d, a, b", "u64", ("u64", "u32"), lambda a, b: a >> b if b < 64 else 0),
    ("shr.s32 d, a, b", "s32", ("s32", "u32"), lambda a, b: a >> min(b, 31)),
    ("shf.l.wrap.b32 d, a, b, c", "b32", ("b32", "b32", "u32"), lambda a, b, c: ((b << 32 | a) << (c & 31)) >> 32),
    ("shf.r.clamp.b32 d, a, b, c", "b32", ("b32", "b32", "u32"), lambda a, b, c: (b << 32 | a) >> min(c, 32)),
    ("popc.b32 d, a", "b32", ("b32",), lambda a: a.bit_count()),
    ("popc.b64 d, a", "b32", ("b64",), lambda a: a.bit_count()),
    ("clz.b32 d, a", "b32", ("b32",), lambda a: 32 - a.bit_length()),
    ("clz.b64 d, a", "b32", ("b64",), lambda a: 64 - a.bit_length()),
    ("brev.b32 d, a", "b32", ("b32",), lambda a: int(f"{a:032b}"[::-1], 2)),
    ("bfind.u32 d, a", "u32", ("u32",), lambda a: a.bit_length() - 1),
    ("bfind.shiftamt.s32 d, a", "u32", ("s32",), lambda a: shift_amount(a)),
    ("bfe.u32 d, a, 5, 9", "u32", ("u32",), lambda a: a >> 5 & 0x1FF),
    ("bfe.s32 d, a, 4, 8", "s32", ("s32",), lambda a: ((a >> 4 & 0xFF) ^ 0x80) - 0x80),
    ("bfe.s32 d, a, 28, 8", "s32", ("s32",), lambda a: a >> 28),
    ("bfi.b32 d, a, b, 8, 4", "b32", ("b32", "b32"), lambda a, b: (b & ~0xF00) | (a & 15) << 8),
    ("prmt.b32 d, a, b, 0x7610", "b32", ("b32", "b32"), lambda a, b: (a & 0xFFFF) | (b & 0xFFFF0000)),
    ("prmt.b32 d, a, 0, 0x8880", "b32", ("b32",), lambda a: (a & 0xFF) | (0xFFFFFF00 if a & 0x80 else 0)),
    ("add.cc.u32 d, a, b; addc.u32 d, 0, 0", "u32", ("u32", "u32"), lambda a, b: (a + b) >> 32),
    ("sub.cc.u32 d, a, b; subc.u32 d, 5, 0", "u32", ("u32", "u32"), lambda a, b: 5 - (a < b)),
    ("mad.lo.cc.u32 d, a, b, c; madc.hi.u32 d, a, b, 0", "u32", ("u32",) * 3, lambda a, b, c: (a * b + c) >> 32),
    ("dp4a.s32.s32 d, a, b, c", "s32", ("s32", "s32", "s32"), lambda a, b, c: bytes_dot(a, b) + c),
    ("dp4a.u32.s32 d, a, b, c", "s32", ("u32", "s32", "s32"), lambda a, b, c: dot(parts(a, 4), parts(b, 4, True)) + c),
    ("dp2a.lo.s32.u32 d, a, b, c", "s32", ("s32", "u32", "s32"),
     lambda a, b, c: dot(parts(a, 2, True), parts(b, 4)[:2]) + c),
    ("dp2a.hi.u32.u32 d, a, b, c", "u32", ("u32",) * 3, lambda a, b, c: dot(parts(a, 2), parts(b, 4)[2:]) + c),
    ("mul24.hi.u32 d, a, b", "u32", ("u32", "u32"), lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 16),
    ("mad24.lo.s32 d, a, b, c", "s32", ("s32",) * 3, lambda a, b, c: sign24(a) * sign24(b) + c),
    ("mad.hi.sat.s32 d, a, b, c", "s32", ("s32",) * 3, lambda a, b, c: clamp32((a * b >> 32) + c)),
    ("max.relu.s32 d, a, b", "s32", ("s32", "s32"), lambda a, b: max(a, b, 0)),
    ("add.sat.s32 d, a, b", "s32", ("s32", "s32"), lambda a, b: clamp32(a + b)),
    ("szext.wrap.s32 d, a, b", "s32", ("s32", "u32"), lambda a, b: extended(a, b % 32)),
    ("szext.clamp.u32 d, a, b", "u32", ("u32", "u32"), lambda a, b: a & ((1 << min(b, 32)) - 1)),
    ("bmsk.clamp.b32 d, a, b", "b32", ("u32", "u32"), lambda a, b: ((1 << min(b, 32)) - 1) << min(a, 32)),
    ("bmsk.wrap.b32 d, a, b", "b32", ("u32", "u32"), lambda a, b: ((1 << b % 32) - 1) << a % 32),
    ("fns.b32 d, a, 7, 3", "b32", ("b32",), lambda a: nth([i for i in range(7, 32) if a >> i & 1], 3)),
    ("fns.b32 d, a, 20, -2", "b32", ("b32",), lambda a: nth([i for i in range(20, -1, -1) if a >> i & 1], 2)),
    ("fns.b32 d, a, 3, 0", "b32", ("b32",), lambda a: 3 if a >> 3 & 1 else -1),
    *((f"prmt.b32.{mode} d, a, b, c", "b32", ("b32", "b32", "u32"), permuted(rows)) for mode, rows in {
        "f4e": ("3210", "4321", "5432", "6543"), "b4e": ("5670", "6701", "7012", "0123"),
        "rc8": ("0000", "1111", "2222", "3333"), "ecl": ("3210", "3211", "3222", "3333"),
        "ecr": ("0000", "1110", "2210", "3210"), "rc16": ("1010", "3232", "1010", "3232"),
    }.items()),
    ("add.u16x2 d, a, b", "u32", ("u32", "u32"), by_lane(2, False, False, lambda a, b: a + b)),
    ("min.s16x2 d, a, b", "u32", ("u32", "u32"), by_lane(2, True, True, min)),
    ("max.s16x2.relu d, a, b", "u32", ("u32", "u32"), by_lane(2, True, True, lambda a, b: max(a, b, 0))),
    ("vadd2.s32.s32.s32.sat d, a, b, c", "u32", ("u32",) * 3,
     by_lane(2, True, True, lambda a, b: max(-(1 << 15), min((1 << 15) - 1, a + b)))),
    ("vsub4.u32.u32.u32 d, a, b, c", "u32", ("u32",) * 3, by_lane(4, False, False, lambda a, b: a - b)),
    ("vabsdiff4.u32.u32.u32 d, a, b, c", "u32", ("u32",) * 3, by_lane(4, False, False, lambda a, b: abs(a - b))),
    ("vabsdiff4.u32.u32.u32.add d, a, b, c", "u32", ("u32",) * 3,
     lambda a, b, c: sum(abs(x - y) for x, y in zip(parts(a, 4), parts(b, 4), strict=True)) + c),
    ("vavrg4.u32.u32.u32 d, a, b, c", "u32", ("u32",) * 3, by_lane(4, False, False, lambda a, b: (a + b + 1) // 2)),
    ("vmax4.s32.s32.s32 d, a, b, c", "u32", ("u32",) * 3, by_lane(4, True, True, max)),
    ("vset2.u32.u32.lt d, a, b, c", "u32", ("u32",) * 3, by_lane(2, False, False, lambda a, b: int(a < b))),
    ("vadd.s32.u32.s32.sat d, a.b1, b.h0", "s32", ("u32", "u32"),
     lambda a, b: clamp32(parts(a, 4)[1] + parts(b, 2, True)[0])),
    ("vshl.u32.u32.u32.wrap d, a, b.b0", "u32", ("u32", "u32"), lambda a, b: a << b % 32),
    ("cvt.u8.u32 d, a", "u8", ("u32",), lambda a: a),
    ("cvt.s64.s32 d, a", "s64", ("s32",), lambda a: a),
    ("cvt.u64.u32 d, a", "u64", ("u32",), lambda a: a),
    ("cvt.u32.s16 d, a", "u32", ("s16",), lambda a: a),
    ("cvt.sat.u8.s32 d, a", "u8", ("s32",), lambda a: min(max(a, 0), 255)),
    ("setp.lt.s32 p, a, b; selp.b32 d, a, b, p", "s32", ("s32", "s32"), min),
    ("setp.lo.u32 p, a, b; selp.u32 d, 1, 0, p", "u32", ("u32", "u32"), lambda a, b: int(a < b)),
    ("setp.ge.s32 p|q, a, b; selp.u32 d, 1, 0, q", "u32", ("s32", "s32"), lambda a, b: int(a < b)),
    ("setp.eq.u32 p, a, a; setp.gt.and.u32 p, a, b, !p; selp.u32 d, 1, 0, p", "u32", ("u32", "u32"), lambda a, b: 0),
    ("set.lt.u32.s32 d, a, b", "u32", ("s32", "s32"), lambda a, b: -int(a < b)),
    ("slct.s32.s32 d, a, b, c", "s32", ("s32", "s32", "s32"), lambda a, b, c: a if c >= 0 else b),
    ("mov.u32 d, 3; setp.gt.s32 p, a, 0; @p add.s32 d, a, 1", "s32", ("s32",), lambda a: a + 1 if a > 0 else 3),
    ("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, a; mov.b32 d, {hi, lo}; }", "b32", ("b32",), lambda a: a >> 16 | a << 16),
]  # fmt: skip


def sign24(value: int) -> int:
    return ((value & 0xFFFFFF) ^ 0x800000) - 0x800000


def shift_amount(value: int) -> int:
    plain = ~value if value < 0 else value
    return 32 - plain.bit_length() if plain else -1


def bytes_dot(a: int, b: int) -> int:
    left, right = (struct.unpack("4b", struct.pack("<i", v)) for v in (a, b))
    return sum(x * y for x, y in zip(left, right, strict=True))


@pytest.mark.parametrize(
    ("text", "result", "kinds", "expected"), INTEGER, ids=lambda v: v if isinstance(v, str) else ""
)
def test_integer_opcode(text, result, kinds, expected):
    operands = {f"{k}:{n}": shuffled(k) if n else values(k) for n, k in enumerate(kinds)}
    words = run(text, result, operands)
    for position, case in enumerate(zip(*operands.values(), strict=True)):
        plain = [int(v) for v in case]
        assert int(words[position]) == wrap(result, expected(*plain)), (text, plain)


def exact(kind: Any, compute: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """NumPy in the type itself, which is correctly rounded for + - × ÷ √."""
    return lambda *v: compute(*v).astype(kind)


def fused(kind: Any) -> Callable[..., np.ndarray]:
    """a · b + c in exact rationals, rounded once to a type that float64 contains."""

    def compute(*operands: np.ndarray) -> np.ndarray:
        sums = []
        for a, b, c in zip(*(v.astype(np.float64) for v in operands), strict=True):
            if np.isfinite([a, b, c]).all():
                total = Fraction(a) * Fraction(b) + Fraction(c)
                sums.append(as_float(total) if total else a * b + c)
            else:
                sums.append(a * b + c)
        return np.array(sums).astype(kind)

    return compute


def as_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def through_f32(compute: Callable[..., Any]) -> Callable[..., np.ndarray]:
    return lambda *bits: f32_to_bf16(compute(*(bf16_to_f32(b) for b in bits)))


F32, F64, F16 = np.float32, np.float64, np.float16
FLOAT: list[tuple[str, str, tuple[str, ...], Callable[..., np.ndarray]]] = [
    *((f"add.rn.{t} d, a, b", t, (t, t), exact(k, np.add)) for t, k in (("f32", F32), ("f64", F64), ("f16", F16))),
    *((f"sub.{t} d, a, b", t, (t, t), exact(k, np.subtract)) for t, k in (("f32", F32), ("f16", F16))),
    *((f"mul.{t} d, a, b", t, (t, t), exact(k, np.multiply)) for t, k in (("f32", F32), ("f64", F64), ("f16", F16))),
    *((f"fma.rn.{t} d, a, b, c", t, (t, t, t), fused(k)) for t, k in (("f32", F32), ("f64", F64), ("f16", F16))),
    ("div.rn.f32 d, a, b", "f32", ("f32", "f32"), exact(F32, np.divide)),
    ("div.rn.f64 d, a, b", "f64", ("f64", "f64"), exact(F64, np.divide)),
    ("sqrt.rn.f32 d, a", "f32", ("f32",), exact(F32, np.sqrt)),
    ("rcp.rn.f64 d, a", "f64", ("f64",), lambda a: 1 / a),
    ("min.f32 d, a, b", "f32", ("f32", "f32"), exact(F32, np.fmin)),
    ("max.f64 d, a, b", "f64", ("f64", "f64"), exact(F64, np.fmax)),
    ("max.NaN.f32 d, a, b", "f32", ("f32", "f32"), exact(F32, np.maximum)),
    ("neg.f32 d, a", "f32", ("f32",), np.negative),
    ("abs.f64 d, a", "f64", ("f64",), np.abs),
    ("copysign.f32 d, a, b", "f32", ("f32", "f32"), lambda a, b: np.copysign(b, a)),
    ("add.sat.f32 d, a, b", "f32", ("f32", "f32"), lambda a, b: np.nan_to_num(np.clip(a + b, 0, 1)).astype(F32)),
    ("mul.ftz.f32 d, a, 0f3F000000", "f32", ("f32",), lambda a: flushed(flushed(a) * F32(0.5))),
    ("add.bf16 d, a, b", "bf16", ("bf16", "bf16"), through_f32(np.add)),
    ("mul.bf16 d, a, b", "bf16", ("bf16", "bf16"), through_f32(np.multiply)),
    ("cvt.f64.f32 d, a", "f64", ("f32",), exact(F64, np.positive)),
    ("cvt.rn.f32.f64 d, a", "f32", ("f64",), exact(F32, np.positive)),
    ("cvt.rn.f16.f32 d, a", "f16", ("f32",), exact(F16, np.positive)),
    ("cvt.f32.f16 d, a", "f32", ("f16",), exact(F32, np.positive)),
    ("cvt.f32.bf16 d, a", "f32", ("bf16",), bf16_to_f32),
    ("cvt.rn.bf16.f32 d, a", "bf16", ("f32",), lambda a: nearest_bf16(a)),
    ("cvt.rni.f32.f32 d, a", "f32", ("f32",), np.rint),
    ("cvt.rzi.f64.f64 d, a", "f64", ("f64",), np.trunc),
    ("cvt.rmi.f32.f32 d, a", "f32", ("f32",), np.floor),
    ("cvt.rn.f32.s32 d, a", "f32", ("s32",), exact(F32, np.positive)),
    ("cvt.rn.f64.u64 d, a", "f64", ("u64",), exact(F64, np.positive)),
    ("cvt.rn.f16.s32 d, a", "f16", ("s32",), lambda a: a.astype(F64).astype(F16)),
    ("cvt.rzi.s32.f32 d, a", "s32", ("f32",), lambda a: clamped(np.trunc(a), "s32")),
    ("cvt.rni.u32.f64 d, a", "u32", ("f64",), lambda a: clamped(np.rint(a), "u32", of_nan=1 << 31)),
    ("cvt.rzi.u64.f32 d, a", "u64", ("f32",), lambda a: clamped(np.trunc(a), "u64", of_nan=1 << 63)),
    ("cvt.sat.f32.f32 d, a", "f32", ("f32",), lambda a: np.nan_to_num(np.clip(a, 0, 1)).astype(F32)),
    ("cvt.rz.f32.f64 d, a", "f32", ("f64",), lambda a: towards_zero(a)),
    ("setp.lt.f32 p, a, b; selp.b32 d, 1, 0, p", "b32", ("f32", "f32"), lambda a, b: (a < b).astype(np.uint32)),
    ("setp.leu.f64 p, a, b; selp.b32 d, 1, 0, p", "b32", ("f64", "f64"), lambda a, b: (~(a > b)).astype(np.uint32)),
    ("setp.ne.f32 p, a, b; selp.b32 d, 1, 0, p", "b32", ("f32", "f32"), lambda a, b: ordered_ne(a, b)),
    ("setp.nan.f32 p, a, b; selp.b32 d, 1, 0, p", "b32", ("f32", "f32"), lambda a, b: either_nan(a, b)),
    ("testp.finite.f32 p, a; selp.b32 d, 1, 0, p", "b32", ("f32",), lambda a: np.isfinite(a).astype(np.uint32)),
]  # fmt: skip


def ordered_ne(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return ((a < b) | (a > b)).astype(np.uint32)


def either_nan(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (np.isnan(a) | np.isnan(b)).astype(np.uint32)


def flushed(values: np.ndarray) -> np.ndarray:
    return np.where(np.abs(values) < np.finfo(F32).tiny, np.copysign(F32(0), values), values)


def nearest_bf16(values: np.ndarray) -> np.ndarray:
    """The nearer of the two neighbours, the even one at a tie: from exact distances."""
    words = []
    for value in values:
        bits = int(value.view(np.uint32))
        low = bits >> 16
        if np.isnan(value):
            words.append(0x7FFF)
            continue
        rest = bits & 0xFFFF
        words.append(low + (rest > 0x8000 or (rest == 0x8000 and low & 1)))
    return np.array(words, np.uint16)


def clamped(values: np.ndarray, kind: str, of_nan: int = 0) -> np.ndarray:
    info = np.iinfo(TYPES[kind].dtype)
    return np.array(
        [
            of_nan
            if np.isnan(v)
            else max(info.min, min(info.max, int(v) if np.isfinite(v) else int(np.sign(v)) << 70))
            for v in values
        ],
        TYPES[kind].dtype,
    )


def towards_zero(values: np.ndarray) -> np.ndarray:
    near = values.astype(F32)
    over = np.isfinite(values) & (np.abs(near.astype(F64)) > np.abs(values))
    return np.where(over, np.nextafter(near, F32(0)), near)


@pytest.mark.parametrize(
    ("text", "result", "kinds", "expected"), FLOAT, ids=lambda v: v if isinstance(v, str) else ""
)
def test_float_opcode(text, result, kinds, expected):
    operands = {f"{k}:{n}": shuffled(k) if n else values(k) for n, k in enumerate(kinds)}
    actual = run(text, result, operands)
    with np.errstate(all="ignore"):
        wanted = np.asarray(expected(*operands.values()))
    if result == "bf16":
        actual, wanted = bf16_to_f32(actual), bf16_to_f32(wanted)
    np.testing.assert_array_equal(actual, wanted)


APPROXIMATE = [
    ("ex2.approx.ftz.f32 d, a", np.exp2),
    ("lg2.approx.f32 d, a", np.log2),
    ("rsqrt.approx.f32 d, a", lambda a: 1 / np.sqrt(a)),
]


def test_tanh_is_as_wrong_as_the_hardwares():
    a = np.linspace(-9, 9, 801, dtype=np.float32)
    actual, exact = run("tanh.approx.f32 d, a", "f32", {"f32": a}), np.tanh(a.astype(F64))
    wrong = np.abs(actual / np.where(exact == 0, 1, exact) - 1)[exact != 0]
    assert 2**-12 < wrong.max() <= 2**-11 and np.abs(actual).max() <= 1
    assert (actual == -actual[::-1]).all()
    ends = run("tanh.approx.f32 d, a", "f32", {"f32": np.array([np.inf, -np.inf, np.nan, -0.0], np.float32)})
    np.testing.assert_array_equal(ends, np.array([1, -1, np.nan, -0.0], np.float32))


def test_doubles_are_flushed_below_their_own_smallest_normal_number():
    roots = run("rsqrt.approx.ftz.f64 d, a", "f64", {"f64": np.array([2.0**1000, 2.0**-400, 2.0**-1030])})
    assert roots.tolist() == [2.0**-500, 2.0**200, np.inf]


@pytest.mark.parametrize(("text", "expected"), APPROXIMATE, ids=lambda v: v if isinstance(v, str) else "")
def test_approximate_function_is_within_the_hardwares_error(text, expected):
    a = np.linspace(0.01, 20, 200, dtype=F32)
    np.testing.assert_allclose(
        run(text, "f32", {"f32": a}), expected(a.astype(F64)), rtol=2**-20, atol=2**-22
    )


@pytest.mark.parametrize(("name", "expected"), [("sin", np.sin), ("cos", np.cos)])
def test_the_error_of_sines_grows_with_the_angle_as_the_isa_says(name, expected):
    a = np.linspace(-314, 314, 1001, dtype=F32)
    error = np.abs(run(f"{name}.approx.f32 d, a", "f32", {"f32": a}) - expected(a.astype(F64)))
    assert error[np.abs(a) <= np.pi].max() < 2**-20.5
    assert 2**-17 < error.max() < 2**-14.7


def test_packed_halves_work_on_both():
    low, high = values("f16"), shuffled("f16")
    packed = low.view(np.uint16).astype(np.uint32) | high.view(np.uint16).astype(np.uint32) << 16
    words = run("add.f16x2 d, a, a", "f16x2", {"f16x2": packed})
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal((words & 0xFFFF).astype(np.uint16).view(F16), low + low)
        np.testing.assert_array_equal((words >> 16).astype(np.uint16).view(F16), high + high)


def test_two_floats_are_packed_with_the_first_on_top():
    a, b = values("f32"), shuffled("f32")
    with np.errstate(all="ignore"):
        words = run("cvt.rn.f16x2.f32 d, a, b", "f16x2", {"f32:0": a, "f32:1": b})
        np.testing.assert_array_equal((words >> 16).astype(np.uint16).view(F16), a.astype(F16))
        np.testing.assert_array_equal((words & 0xFFFF).astype(np.uint16).view(F16), b.astype(F16))


@pytest.mark.parametrize(
    "text",
    [
        "add.f32 d, a, b",
        "add.ftz.f32 d, a, b",
        "sub.f32 d, a, b",
        "mul.f32 d, a, b",
        "fma.rn.f32 d, a, b, b",
        "add.rz.f32 d, a, b",
        "max.NaN.f32 d, a, b",
        "min.f32 d, a, b",
    ],
)
def test_the_hosts_nan_becomes_the_hardwares_own(text):
    bits = np.array([0x7FC00000, 0xFFC00000], np.uint32).repeat(8)
    a = bits.view(F32)
    result = run(text, "f32", {"f32": a, "f32:1": a[::-1].copy()})
    assert set(result.view(np.uint32)) == {0x7FFFFFFF}


def test_what_is_no_number_for_the_host_is_the_hardwares_nan():
    infinite = np.array([np.inf, -np.inf] * 4, F32)
    result = run("sub.f32 d, a, b", "f32", {"f32": infinite, "f32:1": infinite.copy()})
    assert set(result.view(np.uint32)) == {0x7FFFFFFF}
