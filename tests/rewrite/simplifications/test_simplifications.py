"""Every simplification keeps the promise of its own examples, and takes away the mechanism that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from example_files import Part, parts_in
from kernel_lineage.kernels.mechanisms.registry import mechanisms, mechanisms_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.rewrite.simplifications.model import Simplification
from kernel_lineage.rewrite.simplifications.registry import all_simplifications, simplified

PARTS = parts_in(Path(__file__).parent / "examples")
EXAMPLES = [
    (part, PARTS[n + 1].code if part.title == "applies" else None)
    for n, part in enumerate(PARTS)
    if part.title in ("applies", "stays")
]
"""A kernel and what becomes of it; None where there is nothing to take back."""
BY_ID = {s.id: s for s in all_simplifications()}


@pytest.mark.parametrize(
    ("before", "expected"), EXAMPLES, ids=[f"{part.owner}-{part.number}" for part, _ in EXAMPLES]
)
def test_it_makes_of_a_kernel_what_its_example_shows(before: Part, expected: str | None) -> None:
    kernel = read(before.code.encode(), before.language).kernels[0]
    made = simplified(BY_ID[before.owner], kernel)
    assert (made.decode() if made is not None else None) == expected
    if made is not None:
        after = read(made, before.language)
        assert after.problems == ()
        assert len(mechanisms_of(after.kernels[0])) <= len(mechanisms_of(kernel))


@pytest.mark.parametrize("simplification", all_simplifications(), ids=lambda s: s.id)
def test_it_names_a_mechanism_and_shows_both_sides(simplification: Simplification) -> None:
    assert simplification.weakens in mechanisms()
    assert {part.title for part in PARTS if part.owner == simplification.id} == {
        "applies",
        "becomes",
        "stays",
    }
