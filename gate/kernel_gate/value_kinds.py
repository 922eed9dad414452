"""How the values of an input are drawn: the words that `values` takes in a workload."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from kernel_gate.expressions import split_at_commas

_VALUES = re.compile(r"(?P<kind>[a-z_]+)(?:\((?P<arguments>.*)\))?")
MOST_LISTED = 64
"""Numbers that `listed(a, b, …)` takes."""
FLOATS_ONLY = frozenset({"normal", "positive", "uniform", "peaked", "masked"})
_ARGUMENT_COUNT: dict[str, Container[int]] = {
    "normal": (0,),
    "uniform": (0, 2),
    "integers": (0, 2),
    "ascending": (2,),
    "positive": (0,),
    "boundary": (0,),
    "one_hot": (0,),
    "peaked": (1,),
    "masked": (0,),
    "file": (1,),
    "listed": range(1, MOST_LISTED + 1),
    "offsets": (1,),
    "permutation": (1,),
    "steps": (2,),
}
FORMS: Mapping[str, str] = {
    "normal": "normally distributed numbers",
    "uniform": "numbers between 0 and 1",
    "uniform(lo, hi)": "numbers between two limits",
    "integers": "any value of an exact type",
    "integers(lo, hi)": "whole numbers from lo on, below hi",
    "ascending(lo, hi)": "whole numbers as integers(lo, hi), each row in ascending order",
    "positive": "numbers above 0",
    "boundary": "the largest, the smallest and the special values of the type",
    "one_hot": "one 1 in each row, 0 elsewhere",
    "peaked(height)": "normal, one element of each row raised by a height",
    "masked": "rows in turn as they are, half of −inf, and all −inf",
    "listed(a, b, …)": f"these numbers in turn, {MOST_LISTED} at most",
    "offsets(total)": "ascending from 0 to total, as where rows begin",
    "permutation(total)": "the numbers below total in any order",
    "steps(first, step)": "first, first + step, first + 2 * step and so on",
    "file(path)": "the array of a .npy file beside the workload",
}
"""What `values` may be → what is drawn."""


def values_kind(values: str) -> tuple[str, tuple[str, ...]]:
    """`integers(0, V)` as ("integers", ("0", "V")). Raises `ValueError`, which names the forms."""
    match = _VALUES.fullmatch(values.strip())
    kind = match["kind"] if match else ""
    inner = match["arguments"] if match else None
    arguments = tuple(split_at_commas(inner)) if inner else ()
    if len(arguments) not in _ARGUMENT_COUNT.get(kind, ()):
        raise ValueError(f"values = {values!r} is not one of {', '.join(FORMS)}")
    return kind, arguments
