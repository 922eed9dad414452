"""Delta debugging over sets of edits: which parts are found when it is known which sets work."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from kernel_lineage.learning.attribution.search import OutOfTrialsError, parts


def free(chosen: Collection[int]) -> frozenset[int]:
    """Edits of which none needs another."""
    return frozenset(chosen)


@pytest.mark.parametrize(
    ("together", "expected"),
    [
        pytest.param([], [{0}, {1}, {2}, {3}], id="each works alone"),
        pytest.param([{1, 3}], [{0}, {2}, {1, 3}], id="two only work together"),
        pytest.param([{0, 1}, {2, 3}], [{0, 1}, {2, 3}], id="two pairs"),
        pytest.param([{0, 1, 2, 3}], [{0, 1, 2, 3}], id="nothing can be left out"),
    ],
)
def test_edits_that_only_work_together_are_one_part(together, expected):
    def works(chosen: frozenset[int]) -> bool:
        return all(not chosen & group or group <= chosen for group in together)

    groups = list(parts(frozenset(range(4)), free, works))
    assert sorted(map(sorted, groups)) == sorted(map(sorted, expected))


def test_an_edit_that_works_only_after_another_comes_after_it():
    def works(chosen: frozenset[int]) -> bool:
        return 0 not in chosen or 2 in chosen

    assert list(parts(frozenset(range(3)), free, works)) == [{1}, {2}, {0}]


def test_an_edit_comes_with_what_it_needs():
    def with_needs(chosen: Collection[int]) -> frozenset[int]:
        return frozenset(chosen) | ({0} if 1 in chosen else set())

    tried = []

    def works(chosen: frozenset[int]) -> bool:
        tried.append(chosen)
        return chosen != {0}

    assert list(parts(frozenset(range(3)), with_needs, works)) == [{2}, {0, 1}]
    assert frozenset({1}) not in tried


def test_what_only_declares_is_tried_with_those_that_use_it():
    def with_needs(chosen: Collection[int]) -> frozenset[int]:
        return frozenset(chosen) | ({0} if 1 in chosen else set())

    tried = []

    def works(chosen: frozenset[int]) -> bool:
        tried.append(chosen)
        return True

    assert list(parts(frozenset(range(3)), with_needs, works, idle={0})) == [{2}, {0, 1}]
    assert frozenset({0}) not in tried


def test_when_no_more_may_be_tried_the_rest_is_one_part():
    left = [2]

    def works(chosen: frozenset[int]) -> bool:
        if not left[0]:
            raise OutOfTrialsError
        left[0] -= 1
        return True

    assert list(parts(frozenset(range(5)), free, works)) == [{0}, {1}, {2, 3, 4}]
