"""Every simplification keeps the promise of its own examples, and takes away the mechanism that it names."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.mechanisms.registry import mechanisms, mechanisms_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.rewrite.simplifications.model import Simplification, SimplifiedExample
from kernel_lineage.rewrite.simplifications.registry import all_simplifications, simplified

EXAMPLES = [(s, e) for s in all_simplifications() for e in s.examples]


@pytest.mark.parametrize(("simplification", "example"), EXAMPLES, ids=[s.id for s, _ in EXAMPLES])
def test_it_makes_of_a_kernel_what_its_example_shows(
    simplification: Simplification, example: SimplifiedExample
) -> None:
    kernel = read(example.before.encode(), example.language).kernels[0]
    made = simplified(simplification, kernel)
    assert (made.decode() if made is not None else None) == example.after
    if made is not None:
        after = read(made, example.language)
        assert after.problems == ()
        assert len(mechanisms_of(after.kernels[0])) <= len(mechanisms_of(kernel))


@pytest.mark.parametrize("simplification", all_simplifications(), ids=lambda s: s.id)
def test_it_names_a_mechanism_and_shows_both_sides(simplification: Simplification) -> None:
    assert simplification.weakens in mechanisms()
    assert {example.after is None for example in simplification.examples} == {True, False}
