"""Expressions over sizes from extents that were seen at some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from kernel_lineage.workloads.fit import NoFitError, Sizes, fitted, sizes_for_products, sizes_for_sums

BASE = {"B": 2, "T": 12, "C": 64}


def last(base: Sizes) -> Sizes:
    return sizes_for_products(base)[-1]


@pytest.mark.parametrize(
    ("extent", "shape"),
    [
        (lambda d: d["B"] * d["T"] * d["C"], ("B", "T", "C")),
        (lambda d: 3 * d["T"] * d["C"], ("T", "C", "3")),
        (lambda d: d["T"] * d["T"] * d["B"], ("B", "T", "T")),
        (lambda _: 7, ("7",)),
        (lambda d: -(-d["C"] // 32), ("ceil_div(C, 32)",)),
        (lambda d: (d["B"] * d["T"] - 1) * 80 + d["C"], ("B * T * 80 + C + -80",)),
        (lambda d: 4 * (2 * d["C"] + 1), ("C * 8 + 4",)),
    ],
)
def test_products_and_sums_of_products_are_found(
    extent: Callable[[Sizes], int], shape: tuple[str, ...]
) -> None:
    assert fitted(BASE, last(BASE), extent) == shape


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(NoFitError, match="no sum of products"):
        fitted(BASE, last(BASE), lambda d: d["C"] ** 3)


def test_what_is_not_reached_has_no_extent() -> None:
    with pytest.raises(NoFitError, match="nothing is reached"):
        fitted(BASE, last(BASE), lambda _: 0)


def test_dims_that_divide_others_are_as_they_were_in_the_last_sizes() -> None:
    base = {"NH": 4, "T": 8, "C": 32}
    assert sizes_for_products(base, {"NH"})[-1] == {"NH": 4, "T": 24, "C": 96}


def test_dims_by_which_nothing_changes_cost_a_sum_no_runs() -> None:
    many = {**BASE, **{f"other_{i}": 3 for i in range(6)}}

    def extent(d: Mapping[str, int]) -> int:
        return d["B"] * d["C"] + d["T"]

    sums = sizes_for_sums(many, extent)
    assert len(sums) == 8
    assert fitted(many, last(many), extent) == ("B * C + T",)
    with pytest.raises(NoFitError, match="a sum over 6 dims"):
        sizes_for_sums(many, lambda d: sum(d[f"other_{i}"] for i in range(6)))
