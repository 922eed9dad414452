"""Rank intervals of paired differences: no distribution is assumed but that their errors are symmetric.

Baseline and candidate take turns in one block and their order is drawn, so that swapping the two changes the sign of a
block's error and nothing else: that is the symmetry which Wilcoxon's signed-rank statistic needs (Hollander, Wolfe and
Chicken, Nonparametric Statistical Methods, §3.1–3.3: estimator of Hodges and Lehmann, interval of Tukey).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_MOST = 400
"""Differences that are compared pair by pair; of more, neighbours are drawn together first."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the interval that holds the truth at the level that was asked for."""

    median: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2

    def map(self, function: Callable[[float], float]) -> Interval:
        """The same on another, rising scale."""
        return Interval(function(self.median), function(self.low), function(self.high))


def midmean(values: npt.ArrayLike) -> float:
    """The mean of the middle half: it does not jump between the steps of a coarse timer, as a median does."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    cut = ordered.size // 4
    return float(ordered[cut : ordered.size - cut].mean())


def signed_rank(differences: npt.ArrayLike, level: float) -> Interval:
    """The median of all pairwise means (Hodges and Lehmann) of n differences, and its interval at `level`.

    An interval is exact for n ≤ 20 up to the discreteness of ranks, and from the normal approximation beyond. With
    fewer differences than the level needs, it is unbounded.
    """
    values = _thinned(np.asarray(differences, dtype=np.float64))
    n = values.size
    first, second = np.triu_indices(n)
    means = (values[first] + values[second]) / 2
    outside = _outside(n, level)
    lower, upper = (means.size - 1) // 2, means.size // 2
    means.partition(sorted({lower, upper, max(outside, 0), means.size - 1 - max(outside, 0)}))
    estimate = float(means[lower] + means[upper]) / 2
    if outside < 0:
        return Interval(estimate, -math.inf, math.inf)
    return Interval(estimate, float(means[outside]), float(means[-1 - outside]))


def _thinned(values: Floats) -> Floats:
    """At most `_MOST` values: of neighbours the mean of the middle half, which one late launch does not move."""
    share = -(-values.size // _MOST)
    if share == 1:
        return values
    whole = values.size // share * share
    groups = np.sort(values[:whole].reshape(-1, share), axis=1)
    cut = share // 4
    means: Floats = groups[:, cut : share - cut].mean(axis=1)
    return means


def _outside(n: int, level: float) -> int:
    """How many pairwise means lie below the interval; −1 when n is too small for the level."""
    tail = (1 - level) / 2
    if n <= 20:
        return int(np.searchsorted(np.cumsum(_null_distribution(n)), tail, side="right")) - 1
    spread = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return math.floor(n * (n + 1) / 4 - NormalDist().inv_cdf(1 - tail) * spread) - 1


def _null_distribution(n: int) -> Floats:
    """Probability of each value 0 … n(n+1)/2 of the signed-rank statistic of differences symmetric about 0."""
    counts = np.ones(1)
    for rank in range(1, n + 1):
        grown = np.zeros(counts.size + rank)
        grown[: counts.size] += counts
        grown[rank:] += counts
        counts = grown
    return counts / 2.0**n
