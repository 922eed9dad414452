"""Cases and inputs: hidden shapes, variations, and values as declared."""

import numpy as np
import pytest

from gate.programs import workload
from kernel_gate.cases import (
    Case,
    constant_integers,
    float_scalars,
    needed_of_scalars,
    parse_dims,
    plan,
    repeat_options,
    special_at_callers_sizes,
    the_case,
)
from kernel_gate.inputs import make_inputs, perturbed
from kernel_gate.shapes import hidden_shapes, next_prime
from kernel_gate.variations import OF_ALL, OF_CONSTANTS, OF_RANGE, Variation
from kernel_gate.workload import WorkloadError

DIMS = {"N": 3, "C": 70}

OTHERS = {
    *(Variation.LOWEST, Variation.HIGHEST, Variation.UPPER),
    *(Variation.ENDS, Variation.FEW, Variation.NAN_AT_ENDS),
    *(Variation.CRITICAL, Variation.SCALED, *OF_CONSTANTS),
}
"""Variations of inputs with limits, of constants that a case names, and of values that it places."""


def with_values(values: str, dtype: str = "float32"):
    text = 'name = "x"\nkind = "input"\ndtype = "'
    return workload(**{f'{text}float32"': f'{text}{dtype}"\nvalues = "{values}"'})


def drawn(values: str, dtype: str = "float32", **rest) -> np.ndarray:
    return make_inputs(with_values(values, dtype), Case(DIMS, 91, **rest))["x"]


def test_hidden_shapes_are_one_drawn_neighbours_and_primes():
    shapes = hidden_shapes(workload(), 91)
    extents = {s["C"] for s in shapes} - {32}
    assert 1 in extents
    assert any(27 <= e < 32 for e in extents) and any(32 < e <= 37 for e in extents)
    assert any(e > 32 and all(e % d for d in range(2, e)) for e in extents)
    assert shapes == hidden_shapes(workload(), 91)
    assert len({str(hidden_shapes(workload(), seed)) for seed in range(20)}) > 10


def test_hidden_shapes_keep_promises():
    promised = workload(**{"[dims]": 'promises = ["C % 32 == 0"]\n[dims]', "C = [32, 70]": "C = [32, 64]"})
    shapes = hidden_shapes(promised, 91)
    assert shapes
    assert all(s["C"] % 32 == 0 for s in shapes)


def test_hidden_shapes_leave_a_number_in_each_range():
    index = '[[args]]\nname = "at"\nkind = "input"\ndtype = "int64"\nshape = ["N"]\nvalues = "integers(17, C)"\n\n'
    ranged = workload(**{"[launch]": f"{index}[launch]"})
    shapes = hidden_shapes(ranged, 91)
    assert shapes
    assert min(s["C"] for s in shapes) == 18


def test_hidden_shapes_give_each_number_of_the_launch_a_value():
    number = '[[args]]\nname = "s"\nkind = "scalar"\ndtype = "float32"\nvalue = "1.0 / (C // 30)"\n\n'
    divided = workload(**{"[launch]": f"{number}[launch]"})
    assert hidden_shapes(divided, 91)
    assert all(s["C"] >= 30 for seed in range(20) for s in hidden_shapes(divided, seed))
    assert any(s["C"] < 30 for seed in range(20) for s in hidden_shapes(workload(), seed))


def test_the_plan_starts_with_the_named_shapes_cheapest_first():
    cases = plan(workload(), 91)
    assert [dict(c.dims) for c in cases[:4]] == [
        {"N": n, "C": c} for n, c in ((1, 32), (1, 70), (3, 32), (3, 70))
    ]
    assert {c.variation for c in cases} == set(Variation) - OTHERS - (OF_ALL - OF_RANGE) - {Variation.MIXED}
    assert len({(str(c.dims), c.seed) for c in cases}) == len(cases)
    assert all(c.required == (c.origin == "named" and c.variation is Variation.DECLARED) for c in cases)


def test_values_far_from_zero_stand_beside_the_rest_of_a_tile_too():
    beside = [
        c for c in plan(workload(), 91) if c.origin == "hidden" and c.variation is not Variation.DECLARED
    ]
    assert {c.variation for c in beside} == {
        *(Variation.FAR_BELOW, Variation.FAR_FROM_ZERO, Variation.NEGATIVE, Variation.NON_FINITE)
    }
    assert all(extent % 2 for c in beside for extent in c.dims.values())
    tiles = workload(
        **{"[dims]": 'promises = ["C % 32 == 0", "N % 2 == 0"]\n[dims]', "N = [1, 3]": "N = [2]"}
    )
    assert all(c.variation is Variation.DECLARED for c in plan(tiles, 91) if c.origin == "hidden")


def test_values_that_promise_a_range_are_varied_within_it():
    ranged = with_values("uniform(0, 1)")
    cases = plan(ranged, 91)
    within = {Variation.SMALL, Variation.DYADIC, Variation.ENDS, Variation.FEW, Variation.LONE}
    within.add(Variation.ZEROS_AMONG)
    assert {c.variation for c in cases} == {Variation.DECLARED} | within
    drawn_values = {c.variation: make_inputs(ranged, c)["x"] for c in cases if c.dims != {"N": 1, "C": 32}}
    assert all(v.min() >= 0 and v.max() <= 1 for v in drawn_values.values())
    ends = drawn_values[Variation.ENDS]
    assert {0.0, 1.0} <= set(ends.flat) and np.signbit(ends[ends == 0]).any()
    assert len(set(drawn_values[Variation.FEW].flat)) <= 9
    zeros = drawn_values[Variation.ZEROS_AMONG]
    assert (zeros == 0).mean() > 0.1 and (zeros == 0).all(axis=-1).sum() == 1
    assert not (
        make_inputs(with_values("uniform(1, 2)"), Case(DIMS, 91, Variation.ZEROS_AMONG))["x"] == 0
    ).any()


def test_whole_numbers_with_limits_are_at_their_ends_and_at_powers_of_two():
    x = drawn("integers(3, 1025)", "int32", variation=Variation.ENDS)
    assert {3, 1024} <= set(x.flat) and {31, 32, 33, 512} & set(x.flat) and x.min() >= 3 and x.max() <= 1024
    assert len(set(drawn("integers(3, 1025)", "int32", variation=Variation.FEW).flat)) <= 4
    offsets = drawn("offsets(50)", "int32", variation=Variation.ENDS)
    assert set(offsets.flat) == {0, 50}


def test_ascending_numbers_are_so_in_each_row_whatever_is_asked_of_them():
    plain = drawn("ascending(3, 90)", "int32")
    assert (np.diff(plain, axis=-1) >= 0).all() and plain.min() >= 3 and 3 < plain.max() < 90
    variations = (Variation.ENDS, Variation.FEW, Variation.UPPER, Variation.HIGHEST)
    varied = [drawn("ascending(3, 90)", "int32", variation=v) for v in variations]
    assert all((np.diff(x, axis=-1) >= 0).all() for x in varied) and (varied[-1] == 89).all()
    assert variations[0] in {c.variation for c in plan(with_values("ascending(0, 5)", "int32"), 91)}
    assert Variation.LONE not in {c.variation for c in plan(with_values("ascending(0, 5)", "int32"), 91)}


def test_each_free_input_has_nans_and_moderate_values_in_turn():
    another = 'name = "w"\nkind = "input"\ndtype = "float32"\nshape = ["N", "C"]\n'
    third = another.replace('"w"', '"u"') + 'values = "uniform"\n'
    three = workload(**{'[[args]]\nname = "x"': f'[[args]]\n{another}[[args]]\n{third}[[args]]\nname = "x"'})
    for variation in (Variation.NOT_A_NUMBER, Variation.NAN_AT_ENDS, Variation.INFINITE):
        cases = [c for c in plan(three, 91) if c.variation is variation]
        inputs = [make_inputs(three, c) for c in cases if c.dims == cases[0].dims]
        assert [sorted(n for n, v in one.items() if not np.isfinite(v).all()) for one in inputs] in (
            [["w"], ["x"]],
            [["x"], ["w"]],
        )
    assert {0.0, 1.0} <= set(make_inputs(three, Case(DIMS, 91, Variation.NAN_AT_ENDS))["u"].flat)
    saturated = make_inputs(three, Case(DIMS, 91, Variation.SATURATED))
    spreads = sorted((np.abs(saturated[n]).max(), n) for n in "wx")
    assert 11 <= spreads[0][0] <= 17 and spreads[1][0] > 500


def test_constants_and_scalars_stand_in_inputs_that_may_have_them():
    x = drawn("uniform(0, 1)", variation=Variation.AROUND, around=(0.3, 7.0))
    assert np.float32(0.3) in x and x.max() <= 1
    scaled = workload(**{'dtype = "int32"': 'dtype = "float32"', 'value = "N * C"': 'value = "0.25"'})
    assert float_scalars(scaled, DIMS) == [0.25]


def test_placed_values_stand_where_the_case_says_and_are_repeated_from_its_text():
    case = Case(DIMS, 91, Variation.CRITICAL, "hidden", placed=(("x", 71, 0.125), ("x", 3, -2.0)))
    x = make_inputs(workload(), case)["x"]
    assert (x[1, 1], x[0, 3]) == (0.125, -2.0) and not case.required
    assert the_case(workload(), DIMS, 91, case.inputs, "").placed == case.placed
    assert str(case).endswith("inputs critical values in 2 places of x")


def test_what_only_a_scalar_beyond_its_kind_needs_is_a_condition_of_it():
    scaled = workload(**{'dtype = "int32"': 'dtype = "float32"', 'value = "N * C"': 'value = "0.25"'})
    assert needed_of_scalars(scaled, Case(DIMS, 91, scalars=(("n", -1),))) == "n >= 0"
    assert needed_of_scalars(scaled, Case(DIMS, 91, scalars=(("n", 0),))) is None
    assert needed_of_scalars(scaled, Case(DIMS, 91, scalars=(("n", 1),))) is None
    assert needed_of_scalars(scaled, Case(DIMS, 91, scalars=(("n", 2),))) == "n <= 1"
    beside = Case(DIMS, 91, Variation.NOT_A_NUMBER, scalars=(("n", 0),))
    assert needed_of_scalars(scaled, beside) == "n != 0" and beside.inputs in [
        c.inputs for c in plan(scaled, 91) if c.scalars == beside.scalars
    ]


def test_infinities_come_alone_and_below_zero_in_whole_rows_and_in_parts_of_rows():
    x = drawn("normal", variation=Variation.INFINITE)
    assert np.isposinf(x[0]).sum() == 1 and np.isneginf(x[1]).all()
    below, half = np.isneginf(x[2:]), x.shape[1] // 2
    parts = [[*range(half)], [*range(half, x.shape[1])], [*range(x.shape[1] - 1)], [*range(1, x.shape[1])]]
    assert len(below) and all(np.flatnonzero(row).tolist() in parts for row in below)


def test_several_inputs_are_scaled_together_and_positive_ones_stay_positive():
    another = 'name = "w"\nkind = "input"\ndtype = "float32"\nshape = ["C"]\nvalues = "positive"\n'
    both = workload(**{'[[args]]\nname = "x"': f'[[args]]\n{another}[[args]]\nname = "x"'})
    cases = [c for c in plan(both, 91) if c.variation in OF_ALL]
    assert {c.variation for c in cases} == OF_ALL
    tiny = make_inputs(both, next(c for c in cases if c.variation is Variation.ALL_TINY))
    assert tiny["w"].min() > 0 and tiny["w"].max() < 1e-9 and np.abs(tiny["x"]).max() < 1e-9


def test_what_a_varied_input_is_scaled_by_are_powers_of_two_that_the_workload_allows():
    scales = '[[args]]\nname = "{}"\nkind = "input"\ndtype = "float32"\nshape = ["C"]\nvalues = "{}"\n'
    both = scales.format("w", "positive") + scales.format("u", "uniform(0.02, 0.1)")
    declared = workload(**{'[[args]]\nname = "x"': f'{both}[[args]]\nname = "x"'})
    case = next(c for c in plan(declared, 91) if c.variation is Variation.DYADIC)
    inputs = make_inputs(declared, case)
    assert (np.frexp(inputs["w"])[0] == 0.5).all() and (inputs["w"] > 0).all()
    assert (np.frexp(inputs["u"])[0] == 0.5).mean() > 0.5
    assert inputs["u"].min() >= 0.02 and inputs["u"].max() <= 0.1
    assert (inputs["x"] * 2 % 1 == 0).all()


def test_an_input_without_elements_can_be_varied():
    assert make_inputs(workload(), Case({"N": 0, "C": 32}, 91, Variation.DYADIC))["x"].shape == (0, 32)
    assert make_inputs(workload(), Case({"N": 3, "C": 0}, 91, Variation.DYADIC))["x"].shape == (3, 0)


def test_several_inputs_are_varied_each_in_its_own_way():
    another = 'name = "w"\nkind = "input"\ndtype = "float32"\nshape = ["N", "C"]\n'
    both = workload(**{'[[args]]\nname = "x"': f'[[args]]\n{another}[[args]]\nname = "x"'})
    spreads = []
    for seed in range(30):
        cases = [c for c in plan(both, 50 * seed) if c.variation is Variation.MIXED]
        assert len(cases) == 3
        spreads += [tuple(float(v.std()) for v in make_inputs(both, c).values()) for c in cases]
    assert any(a > 300 and b < 2 for a, b in spreads) and any(b > 300 and a < 2 for a, b in spreads)


def test_indices_and_peaks_are_at_the_ends_of_the_largest_shape_too():
    cases = plan(workload(), 91)
    largest = {c.variation for c in cases if c.dims == {"N": 3, "C": 70} and not c.required}
    assert {Variation.FIRST_PEAK, Variation.LAST_PEAK} <= largest


def test_an_input_without_elements_is_drawn_around_constants_too():
    case = Case({"N": 3, "C": 0}, 91, Variation.AROUND, around=(2.0,))
    assert make_inputs(workload(), case)["x"].shape == (3, 0)


def test_all_of_an_input_lies_above_or_below_the_constants_of_the_code():
    above, below = (
        drawn("normal", variation=v, around=(-50.0, 3.0)) for v in (Variation.ABOVE, Variation.BELOW)
    )
    assert above.min() > 3.0 and below.max() < -50.0
    case = Case(DIMS, 91, Variation.BELOW, around=(-50.0, 3.0))
    assert the_case(workload(), DIMS, 91, case.inputs, "").inputs == case.inputs


def test_integers_that_the_workload_gives_as_numbers_get_others():
    seeded = workload(**{'value = "N * C"': 'value = "7"', 'dtype = "int32"': 'dtype = "int64"'})
    assert constant_integers(seeded) == {"n": 7}
    cases = [c for c in plan(seeded, 91) if c.scalars]
    around = 2 * max(cases[0].dims.values()) + 1
    others = [8, -1, 7 + (1 << 32), 0, around]
    assert [c.scalars for c in cases] == [(("n", value),) for value in others]
    assert (
        the_case(seeded, {**cases[2].dims, "n": 7 + (1 << 32)}, 91, "as declared", "").scalars
        == cases[2].scalars
    )
    assert needed_of_scalars(seeded, cases[0]) == "n == 7" and needed_of_scalars(seeded, cases[1]) == "n >= 0"
    assert not [c for c in plan(workload(), 91) if c.scalars]


def test_the_same_case_gives_the_same_bytes_and_another_seed_others():
    first, again = drawn("normal"), drawn("normal")
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != make_inputs(workload(), Case(DIMS, 92))["x"].tobytes()


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ("uniform", 0, 1),
        ("uniform(-2, C)", -2, 70),
        ("positive", 0, np.inf),
        ("one_hot", 0, 1),
        ("boundary", -1e4, 1e4),
    ],
)
def test_declared_values_stay_in_their_range(values, low, high):
    x = drawn(values)
    assert x.shape == (3, 70) and x.dtype == np.float32
    assert low <= x.min() and x.max() <= high
    assert x.std() > 0


def test_peaked_rows_have_one_element_far_above_the_others():
    rows = np.sort(drawn("peaked(60)"), axis=-1)
    assert (rows[:, -1] - rows[:, -2] > 50).all() and (np.abs(rows[:, :-1]) < 6).all()


def test_masked_rows_are_whole_then_in_part_and_then_all_minus_infinity():
    gone = np.isneginf(drawn("masked"))
    assert not gone[0].any() and 0 < gone[1].sum() < 70 and gone[2].all()


@pytest.mark.parametrize("values", ["peaked(3)", "masked"])
def test_integers_have_neither_peaks_nor_masks(values):
    with pytest.raises(WorkloadError, match="int32 inputs need values"):
        with_values(values, "int32")


def test_integers_are_drawn_below_an_expression_over_dims():
    x = drawn("integers(0, C)", "int32")
    assert x.dtype == np.int32 and x.min() >= 0 and 32 < x.max() < 70


def test_a_constant_scalar_is_taken_at_zero_one_and_minus_one_and_a_share_above_one():
    scaled = workload(
        '[[args]]\nname = "a"\nkind = "scalar"\ndtype = "float32"\nvalue = "1e-5"\n',
    )
    cases = [c for c in plan(scaled, 91) if c.scalars]
    assert [c.scalars for c in cases] == [(("a", value),) for value in (0, 1, -1, 1, 2, 0)]
    assert cases[3].variation is Variation.DYADIC
    again = the_case(scaled, parse_dims("N=3,C=32,a=-1"), cases[2].seed, "as declared", "")
    assert (again.scalars, again.applied(scaled).scalars(DIMS)["a"]) == ((("a", -1),), -1)
    assert repeat_options(cases[2]).startswith("--case N=3,C=32,a=-1 ")


def test_indices_are_taken_at_both_ends_of_their_range():
    indexed = with_values("integers(0, C)", "int32")
    ends = {c.variation: make_inputs(indexed, c)["x"] for c in plan(indexed, 91)}
    assert (ends[Variation.LOWEST] == 0).all()
    assert len(set(ends[Variation.HIGHEST].flat)) == 1 and ends[Variation.HIGHEST].flat[0] >= 31


def test_integers_near_their_highest_are_not_all_alike():
    x = drawn("integers(-127, 127)", "int32", variation=Variation.UPPER)
    assert x.min() >= 111 and x.max() <= 126 and len(set(x.flat)) > 8


def test_crowded_keys_come_to_one_place_of_a_table():
    case = the_case(with_values("integers(0, 100000)", "int32"), DIMS, 5, "crowded 2654435761", "")
    assert (case.variation, case.around) == (Variation.CROWDED, (2654435761.0,))
    keys = drawn("integers(0, 100000)", "int32", variation=case.variation, around=case.around).astype(
        np.uint32
    )
    assert len(set(keys.flat)) > 16 and not (keys * np.uint32(2654435761) >> np.uint32(25)).any()


@pytest.mark.parametrize("variation", [v for v in Variation if v not in OTHERS | {Variation.MIXED}])
def test_variations_change_what_they_say(variation):
    x = drawn("normal", variation=variation).astype(np.float64)
    checks = {
        Variation.DECLARED: lambda: 0.5 < x.std() < 1.5,
        Variation.SMALL: lambda: x.std() < 2e-3,
        Variation.LARGE: lambda: x.std() > 500,
        Variation.HEAVY_TAILED: lambda: np.abs(x).max() > 20 * np.median(np.abs(x)),
        Variation.ONE_HOT: lambda: (np.count_nonzero(x, axis=-1) == 1).all(),
        Variation.CONSTANT: lambda: (x == x[:, :1]).all(),
        Variation.CANCELLING: lambda: (np.abs(x.sum(axis=-1)) < 0.01 * np.abs(x).sum(axis=-1)).all(),
        Variation.BOUNDARY: lambda: np.abs(x).max() > 50 and (x == 0).any(),
        Variation.NON_FINITE: lambda: (
            np.isnan(x).sum() == 1 and np.isposinf(x).any() and np.isneginf(x).any()
        ),
        Variation.NOT_A_NUMBER: lambda: (
            np.isnan(x[0]).sum() == 1 and 8 < np.isnan(x[1]).sum() < 62 and not np.isnan(x[2:]).any()
        ),
        Variation.INFINITE: lambda: np.isposinf(x).sum() == 1,
        Variation.FAR_FROM_ZERO: lambda: x.mean() > 500 * x.std(),
        Variation.FAR_BELOW: lambda: x.max() < -900,
        Variation.NEGATIVE: lambda: x.max() < 0,
        Variation.SORTED: lambda: len(set(np.sign(np.diff(x, axis=-1)).flat)) == 1,
        Variation.ALIKE: lambda: (
            ((x != x[0]).sum(axis=-1) <= 2).all() and (x[1:] != x[:-1]).any(axis=-1).all()
        ),
        Variation.TIES: lambda: len(set(x.flat)) < 0.7 * x.size and (x * 16 % 1 == 0.5).any(),
        Variation.DYADIC: lambda: (x * 2 % 1 == 0).all() and {7, 127, 448} & set(np.abs(x).max(axis=-1)),
        Variation.SIGNED_ZEROS: lambda: (
            not x.any()
            and (np.signbit(x[:, 0]) != np.signbit(x[:, 1])).all()
            and (np.signbit(x[1:, 0]) != np.signbit(x[:-1, 0])).all()
        ),
        Variation.FIRST_PEAK: lambda: (x[:, 0] > x[:, 1:].max() + 88).all() and (x[:, -1] < -88).all(),
        Variation.LAST_PEAK: lambda: (x[:, -1] > x[:, :-1].max() + 88).all() and (x[:, 0] < -88).all(),
        Variation.ALL_TINY: lambda: 0 < np.abs(x).max() < 1e-9,
        Variation.ALL_LARGE: lambda: x.std() > 500,
        Variation.TOWARDS_LARGEST: lambda: 1e11 < x.std() < 1e14,
        Variation.NEARER_LARGEST: lambda: 1e24 < x.std() < 1e27,
        Variation.AT_LARGEST: lambda: np.isfinite(x).all() and 1e37 < x.std() < 1e39,
        Variation.TOWARDS_SMALLEST: lambda: 1e-14 < x.std() < 1e-11,
        Variation.NEARER_SMALLEST: lambda: 1e-27 < x.std() < 1e-24,
        Variation.LONE: lambda: sorted(np.unique(x, return_counts=True)[1]) == [1, x.size - 1],
        Variation.ZEROS_AMONG: lambda: (x == 0).any() and np.signbit(x[x == 0]).any() and (x != 0).any(),
        Variation.SATURATED: lambda: np.abs(x).min() >= 11 and np.abs(x).max() <= 17,
        Variation.TAIL: lambda: x.min() >= -12 and x.max() <= -5,
        Variation.SUBNORMAL: lambda: 0 < np.abs(x).max() < np.finfo(np.float32).tiny,
    }
    assert checks[variation]()


def test_a_single_row_has_nans_in_half_of_its_places():
    x = make_inputs(with_values("normal"), Case(DIMS | {"N": 1}, 91, Variation.NOT_A_NUMBER))["x"]
    assert 8 < np.isnan(x).sum() < 62


def test_values_around_a_constant_have_its_neighbours_in_their_own_type():
    two = with_values("normal", "float16").model_copy(update={"dims": {"N": 30, "C": 70}})
    x = make_inputs(two, Case({"N": 30, "C": 70}, 91, Variation.AROUND, around=(2.0,)))["x"]
    assert {2.0, 2.0 + 2**-9, 2.0 - 2**-9} <= set(x.astype(np.float64).flat)


def test_perturbed_inputs_move_by_one_unit_in_the_last_place():
    case = Case(DIMS, 91)
    inputs = make_inputs(workload(), case)
    moved = perturbed(workload(), case, inputs)["x"]
    steps = np.abs(moved.view(np.int32) - inputs["x"].view(np.int32))
    assert steps.max() <= 2 and (steps > 0).mean() > 0.9


def test_values_from_a_file(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(210.0).reshape(3, 70))
    from_file = with_values("file(x.npy)").model_copy(update={"folder": tmp_path})
    assert make_inputs(from_file, Case(DIMS, 1))["x"][2, 69] == 209
    with pytest.raises(WorkloadError, match=r"has shape \(3, 70\), the workload says \(1, 70\)"):
        make_inputs(from_file, Case({"N": 1, "C": 70}, 1))
    with pytest.raises(WorkloadError, match="cannot be read"):
        make_inputs(with_values("file(none.npy)"), Case(DIMS, 1))


def test_primes():
    assert [next_prime(n) for n in (0, 2, 7, 768)] == [2, 3, 11, 769]


def test_a_permutation_has_every_number_once_as_long_as_there_are_enough():
    places = drawn("permutation(N * C)", "int32")
    assert sorted(places.ravel().tolist()) == list(range(210))
    assert not np.array_equal(places.ravel(), np.arange(210))
    few = drawn("permutation(C)", "int32").ravel()
    assert all(sorted(few[i : i + 70].tolist()) == list(range(70)) for i in (0, 70, 140))
    assert np.array_equal(drawn("permutation(C)", "int32").ravel(), few)
    with pytest.raises(WorkloadError, match="permutation"):
        with_values("permutation", "int32")


def test_callers_sizes_have_infinities_in_each_input_of_floats_and_a_single_place_that_differs():
    callers = workload().model_copy(update={"profile_dims": ({"N": 64, "C": 4096},)})
    case, lone = special_at_callers_sizes(callers, 91)
    assert (case.dims, case.variation) == ({"N": 64, "C": 4096}, Variation.INFINITE)
    x = make_inputs(callers, case)["x"]
    assert any(np.isneginf(row[:2048]).all() and np.isfinite(row[2048:]).all() for row in x)
    assert lone.variation is Variation.LONE
    values, counts = np.unique(make_inputs(callers, lone)["x"], return_counts=True)
    assert sorted(counts) == [1, 64 * 4096 - 1] and len(values) == 2
    large = workload().model_copy(update={"profile_dims": ({"N": 1 << 15, "C": 1 << 15},)})
    assert special_at_callers_sizes(large, 91) == []


def test_steps_are_as_far_apart_as_they_say():
    table = drawn("steps(3, C)", "int32")
    assert table.shape == (3, 70)
    assert table.ravel().tolist() == [3 + 70 * at for at in range(210)]
    with pytest.raises(WorkloadError, match="steps"):
        with_values("steps(3)", "int32")
