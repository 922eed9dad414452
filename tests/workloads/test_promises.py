"""Sizes that keep what host code asks for."""

from __future__ import annotations

import pytest

from kernel_lineage.workloads.promises import broken, fitted_sizes


@pytest.mark.parametrize(
    "promises",
    [
        ("rows * 8 == K",),
        ("K == rows * 8", "K % 12 == 0"),
        ("K == N + 1",),
    ],
)
def test_a_dim_that_stands_alone_on_a_side_of_an_equality_is_what_the_other_side_gives(
    promises: tuple[str, ...],
) -> None:
    sizes = fitted_sizes({"K": 2, "rows": 12, "N": 50}, promises)
    assert not broken(sizes, promises), sizes
