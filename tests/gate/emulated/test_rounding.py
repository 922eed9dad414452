"""Every rounding of arithmetic and conversion against exact rationals; 8-bit floats against their definition."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from gate.emulated.single_opcode import run, shuffled, values
from kernel_gate.emulated.types import TYPES, bf16_to_f32

F32, F64 = np.float32, np.float64
Exact = Callable[..., Fraction]


def rounded(exact: Fraction, dtype: type, direction: str) -> float:
    """A rational in float32 or float64, by bisecting on the bits of positive numbers."""
    size = abs(exact)
    raw = np.uint32 if dtype is F32 else np.uint64
    largest = int(dtype(np.inf).view(raw)) - 1
    low, high = 0, largest + 1  # codes: value(low) <= size < value(high), with infinity on top
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if Fraction(float(raw(middle).view(dtype))) <= size else (low, middle)
    below = Fraction(float(raw(low).view(dtype)))
    above = (
        Fraction(2) ** (1024 if dtype is F64 else 128)
        if high > largest
        else Fraction(float(raw(high).view(dtype)))
    )
    away = {"rz": False, "rm": exact < 0, "rp": exact > 0}.get(direction)
    if away is None:
        middle_value = (below + above) / 2
        away = size > middle_value or (size == middle_value and low % 2 == 1)
    code = high if away and size != below else low
    value = float(raw(code).view(dtype))
    return -value if exact < 0 else value


def reference(compute: Exact, dtype: type, direction: str, *operands: np.ndarray) -> np.ndarray:
    """Element by element; what is no finite non-zero rational is left to IEEE arithmetic and skipped."""
    roundings = []
    for case in zip(*(o.astype(F64) for o in operands), strict=True):
        exact = (
            compute(*(Fraction(float(v)) for v in case)) if np.isfinite(case).all() and all(case) else None
        )
        roundings.append(rounded(exact, dtype, direction) if exact else np.nan)
    return np.array(roundings, dtype)


OPERATIONS: list[tuple[str, int, Exact]] = [
    ("add", 2, lambda a, b: a + b),
    ("sub", 2, lambda a, b: a - b),
    ("mul", 2, lambda a, b: a * b),
    ("div", 2, lambda a, b: a / b),
    ("rcp", 1, lambda a: 1 / a),
    ("fma", 3, lambda a, b, c: a * b + c),
]
WIDE = {
    "f32": [1e-45, 3e-39, 1.5e38, 3e38, 1 + 2**-23, 1 - 2**-24, 2.0**-126],
    "f64": [5e-324, 1e-310, 1.7e308, 9e307, 1 + 2**-52, 1 - 2**-53, 2.0**-1022, 1e-160],
}


def operands(kind: str, count: int) -> list[np.ndarray]:
    """Values around one, and around the limits of the type."""
    drawn = []
    for number in range(count):
        ends = np.array(WIDE[kind], TYPES[kind].dtype)
        drawn.append(
            np.concatenate([values(kind, 60) if not number else shuffled(kind, 60), np.roll(ends, number)])
        )
    return drawn


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("direction", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(
    ("name", "count", "compute"), OPERATIONS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_arithmetic_is_rounded_once_in_every_direction(name, count, compute, direction, kind):
    inputs = operands(kind, count)
    text = f"{name}.{direction}.{kind} d, " + ", ".join("abc"[:count])
    actual = run(text, kind, {f"{kind}:{n}": v for n, v in enumerate(inputs)})
    wanted = reference(compute, TYPES[kind].dtype.type, direction, *inputs)
    defined = ~np.isnan(wanted)
    assert defined.sum() > 40
    np.testing.assert_array_equal(actual[defined], wanted[defined])


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("direction", ["rn", "rz", "rm", "rp"])
def test_a_root_is_rounded_once_in_every_direction(direction, kind):
    squares = np.abs(operands(kind, 1)[0])
    roots = run(f"sqrt.{direction}.{kind} d, a", kind, {kind: squares})
    for root, square in zip(roots, squares, strict=True):
        if np.isfinite(square) and square:
            over = Fraction(float(root)) ** 2 - Fraction(float(square))
            next_up, next_down = (
                Fraction(float(np.nextafter(root, root.dtype.type(e)))) for e in (np.inf, 0)
            )
            exact = Fraction(float(square))
            if direction == "rp":
                assert over >= 0 and next_down**2 < exact
            elif direction == "rn":
                near = Fraction(float(root))
                assert ((next_down + near) / 2) ** 2 <= exact <= ((next_up + near) / 2) ** 2
            else:
                assert over <= 0 and next_up**2 > exact


def test_a_sum_that_cancels_is_minus_zero_only_downwards():
    a, b = np.array([1.5, 0.0, -0.0, 0.0], F32), np.array([-1.5, 0.0, 0.0, -0.0], F32)
    for direction, signs in (("rn", [0, 0, 0, 0]), ("rm", [1, 0, 1, 1]), ("rp", [0, 0, 0, 0])):
        sums = run(f"add.{direction}.f32 d, a, b", "f32", {"f32:0": a, "f32:1": b})
        assert np.signbit(sums).astype(int).tolist() == signs


def test_fma_does_not_round_twice():
    # In float64 the sum is a tie between two float32; what was lost decides.
    a, b = F32(1 + 2**-12), F32(1 + 2**-12)
    exact = Fraction(float(a)) * Fraction(float(b))
    for c in (F32(2.0**-60), F32(-(2.0**-60))):
        actual = run(
            "fma.rn.f32 d, a, b, c",
            "f32",
            {"f32:0": np.array([a]), "f32:1": np.array([b]), "f32:2": np.array([c])},
        )
        assert actual[0] == rounded(exact + Fraction(float(c)), F32, "rn")


def bits_of(kind: str, words: np.ndarray) -> np.ndarray:
    return (bf16_to_f32(words) if kind == "bf16" else words).astype(F64)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("direction", ["rz", "rm", "rp"])
def test_narrowing_goes_in_its_direction_to_a_neighbour(kind, direction):
    inputs = values("f32")
    narrowed = bits_of(kind, run(f"cvt.{direction}.{kind}.f32 d, a", kind, {"f32": inputs}))
    nearest = bits_of(kind, run(f"cvt.rn.{kind}.f32 d, a", kind, {"f32": inputs}))
    wide = inputs.astype(F64)
    finite = np.isfinite(wide) & np.isfinite(nearest)
    upwards = (direction == "rp") | ((direction == "rz") & np.signbit(wide))
    assert np.all(np.where(upwards, narrowed >= wide, narrowed <= wide)[finite])
    right = np.where(upwards, nearest >= wide, nearest <= wide) & finite
    np.testing.assert_array_equal(narrowed[right], nearest[right])
    apart = np.abs(
        bits_of(
            kind,
            run(
                f"sub.{kind} d, a, b",
                kind,
                {f"{kind}:0": as_bits(kind, narrowed), f"{kind}:1": as_bits(kind, nearest)},
            ),
        )
    )
    assert np.all(apart[finite] <= np.maximum(np.abs(wide[finite]) * 2.0**-6, 2.0**-23))


def as_bits(kind: str, wide: np.ndarray) -> np.ndarray:
    return (
        (wide.astype(F32).view(np.uint32) >> 16).astype(np.uint16)
        if kind == "bf16"
        else wide.astype(np.float16)
    )


def fp8_value(code: int, fraction_bits: int, bias: int) -> Fraction:
    """The value of a positive code, by the definition of the format."""
    exponent, fraction = code >> fraction_bits, code & ((1 << fraction_bits) - 1)
    if exponent == 0:
        return Fraction(fraction, 1 << fraction_bits) * Fraction(2) ** (1 - bias)
    return (1 + Fraction(fraction, 1 << fraction_bits)) * Fraction(2) ** (exponent - bias)


FP8 = [("e4m3", 3, 7, 0x7E), ("e5m2", 2, 15, 0x7B)]


@pytest.mark.parametrize(("name", "fraction_bits", "bias", "largest"), FP8, ids=lambda v: str(v))
def test_every_8_bit_float_is_widened_exactly(name, fraction_bits, bias, largest):
    codes = np.arange(largest + 1, dtype=np.uint16)
    pairs = codes | ((codes | 0x80) << 8).astype(np.uint16)
    words = run(f"cvt.rn.f16x2.{name}x2 d, a", "f16x2", {"b16": pairs})
    wanted = np.array([float(fp8_value(int(c), fraction_bits, bias)) for c in codes])
    np.testing.assert_array_equal((words & 0xFFFF).astype(np.uint16).view(np.float16), wanted)
    np.testing.assert_array_equal((words >> 16).astype(np.uint16).view(np.float16), -wanted)


@pytest.mark.parametrize(("name", "fraction_bits", "bias", "largest"), FP8, ids=lambda v: str(v))
def test_narrowing_to_8_bits_takes_the_nearest_and_the_even_at_a_tie(name, fraction_bits, bias, largest):
    table = [fp8_value(code, fraction_bits, bias) for code in range(largest + 1)]
    ties = [float((x + y) / 2) for x, y in itertools.pairwise(table)]
    inputs = np.array([*ties[:90], *values("f32", 100)], F32)
    words = run(f"cvt.rn.satfinite.{name}x2.f32 d, a, b", "b16", {"f32:0": inputs, "f32:1": -inputs})
    for value, word in zip(inputs, words, strict=True):
        if np.isnan(value):
            assert (int(word) & 0xFF, int(word) >> 8) == (0x7F, 0x7F)
            continue
        size = min(abs(Fraction(float(value))), table[-1]) if np.isfinite(value) else table[-1]
        best = min(range(largest + 1), key=lambda code: (abs(table[code] - size), code % 2))
        sign = 0x80 if np.signbit(value) else 0
        assert (int(word) >> 8, int(word) & 0xFF) == (best | sign, best | (sign ^ 0x80))


def test_tf32_drops_13_bits_and_ties_go_away_from_zero():
    bits = np.array([0x3F800000, 0x3F800FFF, 0x3F801000, 0xBF803000, 0x7F800000, 0x00001000], np.uint32)
    words = run("cvt.rna.tf32.f32 d, a", "b32", {"f32": bits.view(F32)})
    assert [hex(v) for v in words] == [
        "0x3f800000",
        "0x3f800000",
        "0x3f802000",
        "0xbf804000",
        "0x7f800000",
        "0x2000",
    ]
