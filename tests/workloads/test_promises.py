"""Sizes that keep what host code asks for."""

from __future__ import annotations

import pytest

from kernel_lineage.workloads.promises import broken, fitted_sizes, with_room_to_grow


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


def test_a_dim_that_is_too_large_is_as_large_as_the_promise_allows() -> None:
    assert fitted_sizes({"D": 768}, ("D <= 128",)) == {"D": 128}


def test_sizes_have_room_to_grow_where_a_promise_leaves_it() -> None:
    sizes = {"rows": 12, "D": 96, "edge": 16}
    promises = ("D <= 128", "D % 8 == 0", "edge == 16")
    assert with_room_to_grow(sizes, promises, 3) == {"rows": 12, "D": 24, "edge": 16}
