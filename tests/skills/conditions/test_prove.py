"""Promises that imply a condition: proved, refuted with values, or not decided with the reason."""

import sys

import pytest

from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.prove import implies
from kernel_lineage.skills.conditions.truth import Truth


def proof(*promises: str, claim: str):
    return implies(tuple(map(parse, promises)), parse(claim))


PLAIN = [
    ("C % 8 == 0", "C % 4 == 0"),
    ("C >= 1024", "C >= 512"),
    ("C < 4", "C < 5"),
    ("C % 4 == 0", "C % 4 == 0"),
]
NEEDS_Z3 = [
    ("C == 4 * N", "C % 4 == 0"),
    ("C % 4 == 0 and C > 0", "C >= 4"),
    ("dtype(x) in (float16, bfloat16)", "dtype(x) != float32"),
    ("C // 4 >= 2", "C >= 8"),
    ("min(C, N) > 3", "C > 3 and N > 3"),
    ("ceil_div(C, 4) == 2", "C in (5, 6, 7, 8)"),
    ("HAS_BIAS == 1 or C > 2", "not (HAS_BIAS != 1 and C <= 2)"),
    ("C ** 2 == 49 and C > 0", "C == 7"),
    ("C <= 2 ** 31", "C <= 2147483648"),
    ("-C % 4 == 0", "C % 4 == 0"),
    ("C == 3 * N and N > 0", "C % N == 0"),
    ("C in (64, 128, 256)", "is_power_of_2(C)"),
    ("dtype(x) in (float16, bfloat16)", "itemsize(dtype(x)) == 2"),
]


@pytest.mark.parametrize(("promise", "claim"), PLAIN + NEEDS_Z3)
def test_what_follows_is_proved(promise: str, claim: str) -> None:
    assert proof(promise, claim=claim).truth is Truth.HOLDS


@pytest.mark.parametrize(
    ("promise", "claim", "values"),
    [
        ("C % 2 == 0 and C > 0 and C < 4", "C % 4 == 0", "C = 2"),
        ("C >= 4 and C <= 4", "C > 4", "C = 4"),
        ("dtype(x) == float16", "dtype(x) == float32", "dtype(x) = float16"),
        ("C % 2 == 0", "C % 8 == 0", "C = 2"),
        ("C > 4 * N and N >= 1", "C >= 6", "C = 5"),
        ("C == 7 and N > 1 and N < 5", "C % N == 0", "C = 7, N = 2"),
    ],
)
def test_what_does_not_follow_is_refuted_with_values(promise: str, claim: str, values: str) -> None:
    refuted = proof(promise, claim=claim)
    assert (refuted.truth, refuted.counterexample) == (Truth.FAILS, values)


@pytest.mark.parametrize("claim", ["device.compute_capability >= (8, 0)", "C > 1.5", "range(x) > 0"])
def test_what_has_no_translation_is_not_decided(claim: str) -> None:
    undecided = proof("C > 1", claim=claim)
    assert undecided.truth is Truth.UNKNOWN and "not translated" in undecided.reason


def test_values_that_python_has_no_result_for_are_no_counterexample() -> None:
    undecided = proof("C == 5 and N == 0", claim="C % N == 0")
    assert undecided.truth is Truth.UNKNOWN and "no counterexample" in undecided.reason


def test_without_z3_plain_cases_are_seen_and_the_rest_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    implies.cache_clear()
    for promise, claim in PLAIN:
        assert proof(promise, claim=claim).truth is Truth.HOLDS
    undecided = proof("C == 4 * Z", claim="C % 4 == 0")
    assert undecided.truth is Truth.UNKNOWN and "kernel-lineage[prove]" in undecided.reason
    implies.cache_clear()
