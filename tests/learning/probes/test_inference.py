"""From labelled points to a predicate, without a device."""

import pytest

from kernel_lineage.learning.probes.hints import Hints
from kernel_lineage.learning.probes.inference import explain
from kernel_lineage.learning.probes.predicates import atoms
from kernel_lineage.skills.conditions.evaluate import judge
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource
from kernel_lineage.skills.conditions.truth import Truth

NO_HINTS = Hints()
SIZES = (1, 2, 3, 4, 5, 8, 12, 16, 31, 32, 33, 48, 64, 65, 96, 100, 128, 255, 256, 257, 260, 1024)


def learned(right, points, hints=NO_HINTS):
    """The conjunction that parts the points at which `right` holds from the others."""
    kept = [p for p in points if right(p)]
    broken = [p for p in points if not right(p)]
    explanation = explain(kept, broken, hints)
    return explanation and [part.expr for part in explanation.parts]


def rows(**fixed):
    return [{"N": n, "C": c, **fixed} for n in (1, 3, 4, 8) for c in SIZES]


@pytest.mark.parametrize(
    ("expected", "right", "hints"),
    [
        (["C % 4 == 0"], lambda p: p["C"] % 4 == 0, Hints((4,))),
        (["C % 4 == 0"], lambda p: p["C"] % 4 == 0, Hints()),
        (["C % 64 == 0"], lambda p: p["C"] % 64 == 0, Hints((64, 4))),
        (["is_power_of_2(C)"], lambda p: p["C"] & (p["C"] - 1) == 0, Hints()),
        (["C <= 256"], lambda p: p["C"] <= 256, Hints((256,))),
        (["C >= 32"], lambda p: p["C"] >= 32, Hints((32,))),
    ],
)
def test_one_dimension(expected, right, hints):
    assert learned(right, rows(), hints) == expected


def test_two_reasons_are_two_conditions():
    assert learned(lambda p: p["C"] % 4 == 0 and p["N"] <= 3, rows(), Hints((4,))) == ["C % 4 == 0", "N <= 3"]


def test_a_relation_between_a_dimension_and_the_block():
    points = [{"C": c, "launch.block.x": b} for c in SIZES for b in (32, 64, 128, 256)]
    assert learned(lambda p: p["C"] <= p["launch.block.x"], points) == ["C <= launch.block.x"]
    assert learned(lambda p: p["C"] % p["launch.block.x"] == 0, points) == ["C % launch.block.x == 0"]


def test_there_is_but_one_of_something_whatever_follows_from_it():
    points = [{"G": g, "S": s, "launch.grid.x": s * g} for g in (1, 2, 3, 5) for s in (1, 2, 3, 8)]
    assert learned(lambda p: p["G"] == 1, points) == ["G == 1"]


def test_there_is_none_of_something_whatever_is_larger_than_it():
    points = [{"O": o, "T": t, "stride": (t + o) * 8} for o in (0, 1, 2, 3, 5, 7, 8, 16) for t in (1, 12)]
    assert learned(lambda p: p["O"] == 0, points) == ["O == 0"]


def test_positions_from_an_offset_on_end_within_a_table():
    points = [
        {"T": t, "S": s, "L": n} for t in (1, 5, 12, 18) for s in (0, 2, 3, 8) for n in (11, 15, 20, 21)
    ]
    assert learned(lambda p: p["T"] + p["S"] <= p["L"], points) == ["T + S <= L"]


def test_a_product_that_is_even():
    points = [{"B": b, "T": t} for b in (1, 2, 3, 5) for t in (1, 4, 5, 6, 7, 9)]
    assert learned(lambda p: p["B"] * p["T"] % 2 == 0, points) == ["B * T % 2 == 0"]


def test_a_number_of_blocks_that_was_divided_after_rounding():
    points = [
        {"N": n, "launch.block.x": 128}
        for n in (1, 100, 128, 500, 512, 513, 900, 1000, 1024, 1025, 1500, 2048)
    ]
    expected = ["ceil_div(N, launch.block.x) % 8 == 0"]
    assert learned(lambda p: -(-p["N"] // 128) % 8 == 0, points) == expected


def test_a_path_that_is_right_for_another_reason():
    condition = learned(lambda p: p["C"] % 4 == 0 or p["N"] == 1, rows(), Hints((4,)))
    assert condition in (["C % 4 == 0 or N <= 1"], ["C % 4 == 0 or N == 1"], ["N <= 1 or C % 4 == 0"])


def test_truths_and_texts():
    memory = [{"noalias(out, x)": True}, {"noalias(out, x)": False}]
    assert learned(lambda p: p["noalias(out, x)"], memory) == ["noalias(out, x)"]
    types = [{"dtype(x)": d} for d in ("float32", "float16", "bfloat16")]
    assert learned(lambda p: p["dtype(x)"] == "float32", types) == ["dtype(x) == float32"]
    assert learned(lambda p: p["dtype(x)"] != "float32", types) == ["dtype(x) in (bfloat16, float16)"]


def test_bounds_of_all_values():
    points = [{"range(x)": (-top, top)} for top in (0.001, 1.0, 4.0, 40.0, 120.0, 900.0)]
    assert learned(lambda p: p["range(x)"][1] <= 40, points) == ["range(x) <= 40"]


def test_a_bound_beyond_which_both_states_saturate_is_a_bound_all_the_same():
    tops = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 20.0, 40.0, 90.0)
    points = [{"row_lead(x)": (0.1, top), "range(x)": (-top, top)} for top in tops]
    kept = [p for p in points if p["row_lead(x)"][1] <= 4 or p["row_lead(x)"][1] >= 20]
    explanation = explain(kept, [p for p in points if p not in kept], NO_HINTS)
    assert explanation is not None
    (bound,) = explanation.parts
    assert bound.expr in ("row_lead(x) <= 4", "range(x) <= 4") and bound.until == 16
    assert [bound.is_past(dict.fromkeys(points[0], (0, top))) for top in (3, 10, 30)] == [False, False, True]


def test_two_failures_among_what_agrees_are_no_span():
    tops = (0.5, 1.0, 2.0, 4.0, 6.0, 20.0, 40.0, 90.0)
    points = [{"range(x)": (-top, top)} for top in tops]
    assert learned(lambda p: p["range(x)"][1] not in (4.0, 6.0), points) is None


def test_nothing_is_said_where_nothing_parts_them():
    same = {"C": 4}
    assert explain([same], [same], Hints()) is None
    assert explain([], [same], Hints()) is None


def test_every_atom_means_what_its_text_says():
    points = [
        {
            "C": c,
            "N": n,
            "BLOCK": 8,
            "noalias(out, x)": c > 2,
            "dtype(x)": t,
            "range(x)": (-float(c), float(n)),
        }
        for c, n, t in ((1, 3, "float16"), (4, 4, "float32"), (12, 2, "float32"), (33, 8, "bfloat16"))
    ]
    for atom in atoms(points, Hints((4, 8))):
        for point in points:
            facts = {n: Fact((v,), n, FactSource.WORKLOAD) for n, v in point.items()}
            assert (judge(atom.expr, Facts(facts)).truth is Truth.HOLDS) is atom.test(point), (
                atom.expr,
                point,
            )
