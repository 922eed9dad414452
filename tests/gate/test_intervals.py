"""Rank intervals hold the truth as often as they say, whatever the errors' distribution."""

import itertools
import math

import numpy as np
import pytest

from kernel_gate.timing.intervals import signed_rank


def by_enumeration(values: list[float], level: float) -> tuple[float, float]:
    """The exact interval from all signs of the ranks (Hollander, Wolfe and Chicken, §3.3)."""
    n = len(values)
    sums = sorted(
        sum(rank for rank, sign in zip(range(1, n + 1), signs, strict=True) if sign)
        for signs in itertools.product((0, 1), repeat=n)
    )
    means = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])
    outside = max(
        (k for k in range(len(means)) if sum(s <= k for s in sums) / 2**n <= (1 - level) / 2), default=-1
    )
    return (means[outside], means[-1 - outside]) if outside >= 0 else (-math.inf, math.inf)


@pytest.mark.parametrize(("n", "level"), [(6, 0.9), (8, 0.95), (10, 0.99), (12, 0.999), (5, 0.99)])
def test_small_samples_are_exact(n, level):
    values = np.random.default_rng(n).normal(size=n).tolist()
    interval = signed_rank(values, level)
    assert (interval.low, interval.high) == pytest.approx(by_enumeration(values, level))


@pytest.mark.parametrize("n", [20, 21, 60, 1000])
@pytest.mark.parametrize("shape", ["normal", "heavy tails", "two clock states"])
def test_the_interval_holds_the_truth_as_often_as_it_says(n, shape):
    generator = np.random.default_rng(n)
    draw = {
        "normal": lambda: generator.normal(size=n),
        "heavy tails": lambda: generator.standard_t(2, size=n),
        "two clock states": lambda: generator.choice([-1.0, 1.0], size=n) + 0.1 * generator.normal(size=n),
    }[shape]
    runs = 300
    holds = sum(
        interval.low <= 0.01 <= interval.high
        for interval in (signed_rank(0.01 + draw(), 0.95) for _ in range(runs))
    )
    assert 0.92 * runs <= holds <= runs


def test_a_sample_too_small_for_the_level_says_nothing():
    interval = signed_rank([0.1, 0.2, 0.3], 0.99)
    assert (interval.median, interval.low, interval.high) == (pytest.approx(0.2), -math.inf, math.inf)


def test_outliers_do_not_move_it():
    values = np.random.default_rng(3).normal(size=100)
    spoilt = values.copy()
    spoilt[:3] = 1000.0
    assert signed_rank(spoilt, 0.99).high < signed_rank(values, 0.99).high + 0.3
