"""Learned conditions beside labelled ones are compared by what they mean."""

import pytest
from tests.benchmarks.condition_scores import SETS, compared, labels

from longer import first_now


@pytest.mark.parametrize(
    ("label", "learned", "meaning"),
    [
        ("C % 4 == 0", ["not (C % 4 != 0)"], "same"),
        (
            "elements(a) <= 2**31 and elements(b) <= 2**31",
            [f"elements({x}) <= {2**31}" for x in "ab"],
            "same",
        ),
        (
            "s <= 4 or device.compute_capability < (9, 0)",
            ["not (s > 4 and device.compute_capability >= (9, 0))"],
            "same",
        ),
        ("C % 4 == 0", ["C % 8 == 0"], "stricter"),
        ("C == B and C > 0", ["C % B == 0"], "looser"),
        ("range(x) >= 0", ["range(x) <= 0"], "other"),
        ("C % 4 == 0", [], "none"),
    ],
)
def test_the_best_comparison_counts(label: str, learned: list[str], meaning: str) -> None:
    assert compared((label,), learned) == meaning


@pytest.mark.parametrize("name", first_now(sorted(SETS, reverse=True)))
def test_every_label_means_the_same_as_itself(name: str) -> None:
    rows = {row.alternatives: row for row in labels(name)}.values()
    assert all(compared(row.alternatives, [text]) == "same" for row in rows for text in row.alternatives)
