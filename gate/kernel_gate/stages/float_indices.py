"""Shapes at which whole numbers that are computed in floats are others, for candidates that do so where their baseline
does not.

The quotient of two floats is rounded: `(int)(x * ((float)a / b))` is one less than `x * a / b` at few sizes, of which
drawn shapes meet one in two hundred.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping

from kernel_gate.built import Built
from kernel_gate.cases import Case
from kernel_gate.shapes import elements, is_valid
from kernel_gate.workload import Workload

_CONVERTS = re.compile(r"\bcvt\.r[nzmp]i\.[su](?:32|64)\.f(?:32|64)\b")
_SCALED = (14, 46)
"""23 * float32(14 / 46) is below 7."""
_INVERTED = 41
"""41 * float32(1 / 41) is below 1."""
_MOST_ELEMENTS = 1 << 18
_MOST_CASES = 40


def float_index_cases(
    baseline: Built, candidate: Built, workload: Workload, usual: Mapping[str, int], seed: int
) -> list[Case]:
    """Cases of such shapes; none where the candidate converts no float to an integer, or the baseline does as well."""
    if baseline.uses(_CONVERTS) or not candidate.uses(_CONVERTS):
        return []
    shapes = (d for d in _shapes(usual) if is_valid(workload, d) and elements(workload, d) <= _MOST_ELEMENTS)
    return [
        Case(dims, seed + i, origin="hidden") for i, dims in enumerate(itertools.islice(shapes, _MOST_CASES))
    ]


def _shapes(usual: Mapping[str, int]) -> Iterator[dict[str, int]]:
    for name in usual:
        yield {**usual, name: _INVERTED}
    for pair in itertools.permutations(usual, 2):
        yield {**usual, **dict(zip(pair, _SCALED, strict=True))}
