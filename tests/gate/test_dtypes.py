"""Element types: exact conversions, correct rounding, and poison that no kernel computes."""

import numpy as np
import pytest

from kernel_gate.dtype_names import EXACT_NAMES, FLOAT_NAMES, NAMES
from kernel_gate.dtypes import DTYPES
from kernel_gate.small_floats import E4M3, E5M2

CODES = np.arange(256, dtype=np.uint8)


def test_every_named_type_is_there():
    assert list(DTYPES) == list(NAMES)
    assert all(DTYPES[n].is_float for n in FLOAT_NAMES) and not any(DTYPES[n].is_float for n in EXACT_NAMES)


def by_definition(code: int, exponent_bits: int, mantissa_bits: int) -> float:
    """The value of a code as the paper on FP8 formats defines it."""
    sign = -1.0 if code & 0x80 else 1.0
    exponent = (code & 0x7F) >> mantissa_bits
    mantissa = code & (2**mantissa_bits - 1)
    bias = 2 ** (exponent_bits - 1) - 1
    if exponent_bits == 5 and exponent == 31:
        return sign * np.inf if mantissa == 0 else np.nan
    if exponent_bits == 4 and code & 0x7F == 0x7F:
        return np.nan
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return sign * (1 + mantissa / 2**mantissa_bits) * 2.0 ** (exponent - bias)


@pytest.mark.parametrize(("form", "bits"), [(E4M3, (4, 3)), (E5M2, (5, 2))])
def test_all_256_patterns_decode_to_their_value_and_encode_to_themselves(form, bits):
    values = form.decode(CODES)
    np.testing.assert_array_equal(values, [by_definition(int(c), *bits) for c in CODES])
    assert (np.signbit(values) == (CODES >= 128))[~np.isnan(values)].all()
    back = form.encode(values)
    np.testing.assert_array_equal(back[~np.isnan(values)], CODES[~np.isnan(values)])
    assert np.isnan(form.decode(back[np.isnan(values)])).all()


@pytest.mark.parametrize("form", [E4M3, E5M2])
def test_values_between_two_patterns_go_to_the_nearer_and_ties_to_the_even_one(form):
    finite = CODES[:128][np.isfinite(form.values[:128])]
    below, above = form.values[finite[:-1]], form.values[finite[1:]]
    middle = (below + above) / 2
    np.testing.assert_array_equal(form.encode(middle), finite[:-1] + finite[:-1] % 2)
    np.testing.assert_array_equal(form.encode(np.nextafter(middle, 0)), finite[:-1])
    np.testing.assert_array_equal(form.encode(-np.nextafter(middle, np.inf)), finite[1:] | 0x80)


@pytest.mark.parametrize(("form", "largest"), [(E4M3, 0x7E), (E5M2, 0x7B)])
def test_a_saturating_conversion_stays_at_the_largest_value_and_has_one_nan(form, largest):
    beyond = np.array([1e9, -1e9, np.inf, -np.inf, np.nan, -np.nan, form.values[largest], -0.0])
    wanted = [largest, largest | 0x80, largest, largest | 0x80, 0x7F, 0x7F, largest, 0x80]
    np.testing.assert_array_equal(form.encode_saturated(beyond), wanted)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("float8_e4m3fn", 464.0, 0x7E), ("float8_e4m3fn", 464.1, 0x7F), ("float8_e4m3fn", -np.inf, 0xFF),
        ("float8_e5m2", 61439.0, 0x7B), ("float8_e5m2", 61440.0, 0x7C), ("float8_e5m2", -1e9, 0xFC),
    ],
)  # fmt: skip
def test_beyond_the_largest_value_a_format_overflows(name, value, code):
    assert DTYPES[name].narrow(np.array([value]))[0] == code


@pytest.mark.parametrize("name", FLOAT_NAMES)
def test_the_figures_of_a_float_are_its_own(name):
    dtype = DTYPES[name]
    assert dtype.wide(dtype.narrow(np.array([dtype.largest, dtype.quantum]))).tolist() == [
        dtype.largest,
        dtype.quantum,
    ]
    assert dtype.wide(dtype.narrow(np.array([dtype.quantum * 0.49]))) == 0
    step = dtype.wide(dtype.narrow(np.array([1 + 2 * dtype.epsilon])))
    assert step == 1 + 2 * dtype.epsilon
    assert dtype.wide(dtype.narrow(np.array([1 + 0.99 * dtype.epsilon]))) == 1
    assert dtype.smallest_normal == 2 ** np.log2(dtype.quantum) / (2 * dtype.epsilon)


@pytest.mark.parametrize("name", FLOAT_NAMES)
def test_the_poison_of_a_float_is_two_kinds_of_nan(name):
    dtype = DTYPES[name]
    first, second = (dtype.poison(3, pattern) for pattern in (0, 1))
    assert np.isnan(dtype.wide(first)).all() and np.isnan(dtype.wide(second)).all()
    assert dtype.poisoned(first, 0).all() and not dtype.poisoned(first, 1).any()
    if dtype.itemsize > 1:
        assert not dtype.poisoned(dtype.narrow(np.array([np.nan])), 0).any(), "a computed NaN is not poison"


@pytest.mark.parametrize("name", EXACT_NAMES)
def test_the_two_poisons_of_an_exact_type_share_no_bit(name):
    dtype = DTYPES[name]
    assert dtype.poison_bits[0] & dtype.poison_bits[1] == 0


@pytest.mark.parametrize(
    ("name", "value"), [("int8", 128), ("uint8", -1), ("int32", 2**31), ("bool", 2), ("int32", 0.5)]
)
def test_a_scalar_that_its_type_does_not_hold_is_refused(name, value):
    with pytest.raises(OverflowError, match=f"does not fit into {name}"):
        DTYPES[name].scalar(value)
