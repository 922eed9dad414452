"""Linear forms of index expressions: what `cuda_indexing.py` and `triton_syntax.py` calculate with.

A form maps an axis (`x`, `lane`, `block`, `program`, `loop@120`, …) to a coefficient: a number, the text of a symbol
(`C`), `/n` for what moves once in n steps, or `?` when the expression is not linear. The axis `?` is any axis:
what moves there is not known. Constants are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Coefficient: TypeAlias = int | str
Linear: TypeAlias = Mapping[str, Coefficient]

UNIFORM: Linear = {}
"""The same for all threads and in every round."""
UNKNOWN: Linear = {"?": "?"}
_WARP_SIZES = frozenset({"32", "WARP_SIZE", "warpSize", "WARPSIZE", "warp_size", "kWarpSize", "WarpSize"})


def add(left: Linear, right: Linear) -> Linear:
    """The sum of two forms."""
    if not right:
        return left
    total = dict(left)
    for axis, coefficient in right.items():
        before = total.get(axis, 0)
        if isinstance(before, int) and isinstance(coefficient, int):
            total[axis] = before + coefficient
        elif before == 0 or (isinstance(before, str) and before.startswith("/")):
            total[axis] = coefficient  # beside the remainder, the quotient of one index moves slowly
        elif not (isinstance(coefficient, str) and coefficient.startswith("/")):
            total[axis] = "?"
    return total


def scale(form: Linear, factor: Coefficient) -> Linear:
    """The form times a number or a symbol."""
    return {axis: _times(coefficient, factor) for axis, coefficient in form.items()}


def _times(coefficient: Coefficient, factor: Coefficient) -> Coefficient:
    if "?" in (coefficient, factor):
        return "?"
    if isinstance(coefficient, int) and isinstance(factor, int):
        return coefficient * factor
    if 1 in (coefficient, factor):
        return factor if coefficient == 1 else coefficient
    return f"{coefficient}*{factor}"


def lane_stride(form: Linear) -> Coefficient:
    """How far apart two neighbouring threads of a warp are: 0 for the same element, 1 for neighbours, else a stride."""
    x, lane = form.get("x", 0), form.get("lane", 0)
    if "?" in form or (x != 0 and lane != 0):
        return "?"
    return x if x != 0 else lane


def is_of_a_warp(elements: Coefficient, each: Coefficient) -> bool:
    """Whether so many elements are those of a warp's threads, `each` for one thread."""
    if isinstance(elements, int) or (isinstance(each, int) and each != 1):
        return elements == scale({"x": each}, 32)["x"]
    own = [] if each == 1 else str(each).split("*")
    return any(sorted(elements.split("*")) == sorted([*own, size]) for size in _WARP_SIZES)


def divided(form: Linear, by: str) -> Linear:
    """The form of `form / by`: of a thread's index divided by the warp size, the warp."""
    result: dict[str, Coefficient] = {}
    for axis, coefficient in form.items():
        if isinstance(coefficient, str) and (coefficient == by or coefficient.endswith("*" + by)):
            result[axis] = coefficient[: -len(by) - 1] or 1  # (k * size) / size
        elif axis == "x" and by in _WARP_SIZES:
            result["warp"] = coefficient
        elif axis == "x" and (not by.isdigit() or int(by) >= 32):
            result["slow"] = "?"  # changes less than once per warp
        elif axis != "lane" or by not in _WARP_SIZES:
            result[axis] = "/" + by
    return result


def remainder(form: Linear, by: str) -> Linear:
    """The form of `form % by`: of a thread's index by the warp size, the lane."""
    lanes = by in _WARP_SIZES
    return {
        "lane" if axis == "x" and lanes else axis: coefficient
        for axis, coefficient in form.items()
        if axis == "x" or not lanes
    }
