"""Comparison and tolerance: every element, exact masks, errors held to the type and to the baseline."""

import numpy as np
import pytest

from gate.programs import workload
from kernel_gate.compare import compare, less_precise, measure, notices_constants, truncated, unwritten
from kernel_gate.dtypes import DTYPES
from kernel_gate.tolerance import Allowed, Errors, coarsest_arithmetic, coarsest_rounding, derive, scale_of

F32, F64, I32 = DTYPES["float32"], DTYPES["float64"], DTYPES["int32"]
TIGHT = Allowed(1e-5, 1e-6, "")
EXPECTED = np.array([[1.0, -2.0, 3.0], [0.5, 0.0, -0.25]])


def mismatch_of(change, dtype=F32, expected=EXPECTED, allowed=TIGHT):
    got = dtype.narrow(expected)
    change(got)
    return compare("y", got, expected, dtype, allowed)


def test_equal_outputs_have_no_mismatch():
    assert mismatch_of(lambda got: None) is None


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [
        ((1, 2), -0.26, "y[1, 2] = -0.26 (relative error"),
        ((0, 1), np.nan, "y[0, 1] = NaN, expected -2"),
        ((1, 1), np.inf, "y[1, 1] = inf, expected 0"),
        ((1, 1), 1e-4, "y[1, 1] = 0.0001 (relative error"),
    ],
)
def test_one_wrong_element_is_named(index, value, message):
    mismatch = mismatch_of(lambda got: got.__setitem__(index, value))
    assert mismatch is not None
    assert str(mismatch).startswith(message)
    assert (mismatch.count, mismatch.total) == (1, 6)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_masks_match_exactly(special):
    expected = EXPECTED.copy()
    expected[0, 2] = special
    assert mismatch_of(lambda got: None, expected=expected) is None
    for other in {0.0, np.nan, np.inf, -np.inf} - {special}:
        if not (np.isnan(special) and np.isnan(other)):
            assert (
                mismatch_of(lambda got, other=other: got.__setitem__((0, 2), other), expected=expected)
                is not None
            )


def test_what_overflows_its_type_is_expected_to_be_infinite():
    expected = np.array([[1e39, 1.0]])
    assert compare("y", F32.narrow(expected), expected, F32, TIGHT) is None


def test_a_small_row_is_not_hidden_by_a_large_one():
    expected = np.array([[1e6, 2e6], [1e-3, 2e-3]])
    assert mismatch_of(lambda got: got.__setitem__((1, 0), 0.0), expected=expected) is not None


def test_integers_are_exact():
    expected = np.array([1, 2, 3])
    mismatch = compare("n", np.array([1, 2, 4], np.int32), expected, I32, Allowed(0, 0, ""))
    assert mismatch is not None and str(mismatch) == "n[2] = 4, expected 3"


@pytest.mark.parametrize("name", DTYPES)
def test_poison_that_stayed_through_both_launches_is_not_written(name):
    dtype = DTYPES[name]
    first, second = (dtype.poison(6, pattern).reshape(2, 3) for pattern in (0, 1))
    assert unwritten("y", first, second, dtype, first) is not None
    for held in (first, second):
        held.reshape(-1)[:4] = dtype.narrow(np.ones(4))
    mismatch = unwritten("y", first, second, dtype, dtype.narrow(np.zeros((2, 3))))
    assert mismatch is not None and (mismatch.index, mismatch.count) == ((1, 1), 2)
    assert str(mismatch).endswith("(not written), expected 0")
    second.reshape(-1)[4:] = first.reshape(-1)[4:]
    assert unwritten("y", first, second, dtype, first) is None, "a value that equals one pattern was written"


def test_a_lower_precision_shows_in_all_errors_together():
    generator = np.random.default_rng(1)
    expected = generator.standard_normal((4, 256))
    rounded = expected.astype(np.float16).astype(np.float32)
    loose = Allowed(1e-2, 1e-6, "")
    assert compare("y", rounded, expected, F32, loose) is None
    assert "less precise than its type" in (less_precise("y", measure(rounded, expected, F32), loose) or "")
    assert less_precise("y", measure(F32.narrow(expected), expected, F32), loose) is None


def test_constants_are_noticed_by_construction():
    varied = np.random.default_rng(1).standard_normal((3, 8))
    allowed = derive(workload(), workload().args[0], 8, Errors(1e-7, 1e-8))
    assert notices_constants(varied, F32, allowed)
    assert not notices_constants(np.zeros((3, 8)), F32, allowed)
    assert not notices_constants(np.full((3, 8), 2.0), F32, allowed)
    assert not notices_constants(np.zeros((0, 8)), F32, allowed)


def test_the_tolerance_follows_type_depth_baseline_and_condition():
    w, depth = workload(), 70
    y = w.args[0]
    floor = derive(w, y, depth, Errors(0.0, 0.0))
    assert 1e-6 < floor.worst < 1e-5
    assert "float32, sums of up to 70 terms" in floor.why
    assert derive(w, y, depth, None).worst == pytest.approx(2 * floor.worst)
    assert derive(w, y, depth, Errors(1e-4, 1e-5)).worst == pytest.approx(4e-4)
    assert (
        "√70 × what an error of 6.0e-08 in the inputs"
        in derive(w, y, depth, Errors(0, 0), Errors(1e-3, 1e-4)).why
    )
    half = y.model_copy(update={"dtype": "float16"})
    assert derive(w, half, depth, Errors(0, 0)).worst > 100 * floor.worst
    assert derive(w, y.model_copy(update={"dtype": "int32"}), depth, None).worst == 0
    tolerances = workload("[tolerance]\nrelative = 0.25\n")
    assert derive(tolerances, y, depth, None).worst == 0.25


def test_errors_are_relative_to_element_and_row():
    assert measure(EXPECTED * (1 + 1e-3), EXPECTED, F64).worst < 1e-3
    assert measure(EXPECTED, EXPECTED, F64) == Errors(0.0, 0.0)


def test_an_output_of_many_blocks_is_compared_to_its_last_element():
    expected = np.ones((3000, 1000), np.float32)
    got = expected.copy()
    assert compare("y", got, expected, F32, TIGHT) is None
    got[2999, 7] = 2
    got[2999, 8] = 3
    mismatch = compare("y", got, expected, F32, TIGHT)
    assert mismatch is not None and (mismatch.index, mismatch.count) == ((2999, 7), 2)
    assert 0 < measure(got, expected, F32).rms < 1e-2


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_cutting_off_is_told_from_rounding(name):
    dtype = DTYPES[name]
    exact = np.random.default_rng(1).standard_normal((4, 256))
    rounded = dtype.narrow(exact)
    outwards = np.abs(dtype.wide(rounded)) > np.abs(exact)
    cut = (rounded.view(dtype.bits) - outwards.astype(dtype.bits)).view(dtype.storage)
    assert truncated(cut, exact, dtype)
    assert truncated(cut, rounded, dtype), "also when the baseline's rounded output is the oracle"
    assert not truncated(rounded, exact, dtype)
    assert not truncated(rounded, rounded, dtype)


def test_the_last_bit_of_a_narrow_input_is_not_taken_for_its_arithmetic():
    depth = 70
    wide = workload()
    args = tuple(a if a.kind == "scalar" else a.model_copy(update={"dtype": "bfloat16"}) for a in wide.args)
    narrow = wide.model_copy(update={"args": args})
    moved = Errors(0.1, 1e-2)
    assert derive(narrow, narrow.args[0], depth, Errors(0, 0), moved).worst < 2e-2
    assert derive(narrow, narrow.args[0], depth, None, moved, arithmetic=2.0**-8).worst > 0.5


def test_a_coarse_baseline_is_no_oracle_where_what_it_rounds_cancels():
    """A product in TF32 rounds floats by 2¹³ times their last place; an exact one may be as far from it as it errs."""
    w, depth, moved = workload(), 33, Errors(1e-5, 1e-6)
    exact = derive(w, w.args[0], depth, None, moved).worst
    assert derive(w, w.args[0], depth, None, moved, arithmetic=2.0**-11).worst > 1000 * exact


@pytest.mark.parametrize(
    ("instruction", "unit"),
    [
        ("fma.rn.f32 \t%f1, %f2, %f3, %f4;", None),
        ("fma.rn.f16x2 \t%r1, %r2, %r3, %r4;", 2.0**-11),
        ("add.f16 \t%rs1, %rs2, %rs3;", 2.0**-11),
        ("fma.rn.bf16 \t%rs1, %rs2, %rs3, %rs4;", 2.0**-8),
        ("cvt.f32.bf16 \t%f1, %rs1;", None),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 \t{%f1};", None),
        ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 \t{%r1};", 2.0**-11),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 \t{%f1};", 2.0**-11),
        ("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 \t{%f1};", None),
        ("wgmma.mma_async.sync.aligned.m64n128k16.f16.f16.f16 \t{%r1};", 2.0**-11),
    ],
)
def test_the_arithmetic_of_a_program_is_read_from_its_instructions(instruction, unit):
    assert coarsest_arithmetic(f"\tld.global.f16 %rs1, [%rd1];\n\t{instruction}\n") == unit


@pytest.mark.parametrize(
    ("instruction", "unit"),
    [
        ("fma.rn.f32 \t%f1, %f2, %f3, %f4;", 2.0**-24),
        ("cvt.f32.bf16 \t%f1, %rs1;", 2.0**-24),
        ("cvt.rn.bf16x2.f32 \t%r1, %f1, %f2;", 2.0**-8),
        ("cvt.rn.f16.f32 \t%rs1, %f1;", 2.0**-11),
        ("cvt.rna.tf32.f32 \t%r1, %f1;", 2.0**-11),
        ("cvt.rn.satfinite.e4m3x2.f32 \t%rs1, %f1, %f2;", 2.0**-3),
        ("cvt.f16x2.e4m3x2 \t%r1, %rs1;", 2.0**-24),
        ("add.f16 \t%rs1, %rs2, %rs3;", 2.0**-11),
    ],
)
def test_what_a_program_rounds_to_is_read_from_its_instructions(instruction, unit):
    assert coarsest_rounding(f"\tld.global.f16 %rs1, [%rd1];\n\t{instruction}\n") == unit


@pytest.mark.filterwarnings("error")
def test_rows_without_elements_have_the_least_scale():
    assert (scale_of(np.zeros((2, 0))) == 1e-30).all()
