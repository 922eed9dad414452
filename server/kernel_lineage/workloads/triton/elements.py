"""The elements of small tensors that host code writes out: `torch.tensor([0, 100, 300])`, and what is made of them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from kernel_gate.value_kinds import MOST_LISTED
from kernel_lineage.workloads.triton.values import Size, Tensor, called, size_of, text_of, tree_of, value_at

Number = int | Size
_LISTED = "listed("
_FLOAT = 0.5
"""A floating-point number that is drawn at random: neither 0 nor 1, which would hide a factor."""


def listed(numbers: Sequence[object]) -> str:
    """How a workload draws these elements, in this order; "" for too many."""
    return f"{_LISTED}{', '.join(map(text_of, numbers))})" if 0 < len(numbers) <= MOST_LISTED else ""


def elements_of(tensor: Tensor) -> list[Number] | None:
    """The elements of a tensor in the order of its memory; None where they are not known."""
    if not tensor.values.startswith(_LISTED) or tensor.strides is not None:
        return None
    inner = ast.parse(tensor.values, mode="eval").body
    numbers: list[Any] = [size_of(a) for a in inner.args] if isinstance(inner, ast.Call) else []
    extents = [e for e in tensor.shape or () if isinstance(e, int)]
    count = 1
    for extent in extents:
        count *= extent
    return numbers if len(extents) == len(tensor.shape or ()) and count == len(numbers) else None


def element_of(tensor: Tensor) -> Number | None:
    """The one element of a tensor; None for one that is not known, and for several."""
    elements = elements_of(tensor)
    return elements[0] if elements is not None and len(elements) == 1 else None


def drawn_between(tensor: Tensor) -> tuple[ast.expr, ast.expr] | None:
    """The least whole number of which a tensor's elements are drawn, and the one above the largest."""
    if not tensor.values.startswith("integers("):
        return None
    inner = ast.parse(tensor.values, mode="eval").body
    return (inner.args[0], inner.args[1]) if isinstance(inner, ast.Call) else None


def drawn_number(tensor: Tensor, sizes: Mapping[str, float]) -> float | None:
    """A number that a tensor's elements may be: the least, but for 0; None where nothing tells how they are drawn."""
    if "float" in (tensor.dtype or ""):
        return _FLOAT
    drawn = drawn_between(tensor)
    if drawn is None:
        return None
    low, high = (value_at(size_of(end), sizes) for end in drawn)
    if not isinstance(low, int) or not isinstance(high, int) or high <= low:
        return None
    return low if low > 0 else min(max(low, 1), high - 1)


def _extreme(name: str, tensor: Tensor) -> str:
    """How the largest or the smallest of elements is drawn that are drawn between two limits: the limit itself."""
    drawn = drawn_between(tensor)
    if drawn is None or name not in ("max", "min", "amax", "amin"):
        return ""
    low, high = map(ast.unparse, drawn)
    return f"integers({high} - 1, {high})" if "max" in name else f"integers({low}, {low} + 1)"


def reduced_elements(name: str, tensor: Tensor) -> str:
    """How the one element of a sum, a largest or a smallest is drawn; "" where it is not known."""
    elements = elements_of(tensor)
    if elements is None:
        return _extreme(name, tensor)
    if not elements or name not in ("sum", "max", "min", "amax", "amin"):
        return ""
    if name == "sum":
        return listed(list(accumulate(elements))[-1:])
    if all(isinstance(n, int) for n in elements):
        numbers = [n for n in elements if isinstance(n, int)]
        return listed([max(numbers) if "max" in name else min(numbers)])
    return listed(
        [called(name.removeprefix("a"), *dict.fromkeys(elements)) if len(set(elements)) > 1 else elements[0]]
    )


def running_sums(tensor: Tensor) -> str:
    """How the elements of `cumsum` of a row are drawn."""
    elements = elements_of(tensor)
    sums: list[Number] = list(accumulate(elements or []))
    return listed(sums) if len(tensor.shape or ()) == 1 else ""


def padded_elements(tensor: Tensor, before: object, behind: object, value: object) -> str:
    """How the elements of a row are drawn that gets more at its ends."""
    elements = elements_of(tensor)
    if (
        not elements
        or len(tensor.shape or ()) != 1
        or not isinstance(before, int)
        or not isinstance(behind, int)
    ):
        return ""
    return listed([*[value] * before, *elements, *[value] * behind])


def joined_elements(tensors: Sequence[Tensor]) -> str:
    """How the elements of several tensors one after the other are drawn; equal ways of drawing stay."""
    elements = [_all_same(t) or elements_of(t) for t in tensors]
    rows = [f for f in elements if f is not None]
    if any(t.values.startswith(_LISTED) for t in tensors) and len(rows) == len(elements):
        return listed([n for row in rows for n in row])
    ways = {t.values for t in tensors}
    return ways.pop() if len(ways) == 1 and not any(t.values.startswith(_LISTED) for t in tensors) else ""


def sliced_elements(tensor: Tensor, start: object, extent: object) -> Tensor:
    """A part of a row whose elements are known: with those of the part."""
    if not tensor.values.startswith(_LISTED):
        return tensor
    elements = elements_of(tensor)
    if elements and isinstance(start, int) and isinstance(extent, int) and len(tensor.shape or ()) == 1:
        return replace(tensor, values=listed(elements[start : start + extent]))
    return replace(tensor, values="")


def with_element(tensor: Tensor, count: Number | None, at: object, value: object) -> Tensor:
    """A row of so many elements of which one was given a value: what was drawn before is no longer what it holds."""
    row: list[Number] | None = None
    if isinstance(count, int) and len(tensor.shape or ()) == 1:
        as_row = replace(tensor, shape=(count,))
        row = elements_of(as_row) or _all_same(as_row)
    if row and isinstance(at, int) and -len(row) <= at < len(row) and isinstance(value, (int, Size)):
        row[at] = value
        return replace(tensor, values=listed(row))
    if isinstance(at, Tensor) and isinstance(value, Tensor):
        return replace(tensor, values=value.values)
    drawn = drawn_between(tensor)
    if drawn is None or size_of(drawn[0]) + 1 == size_of(drawn[1]):
        return replace(tensor, values="")
    # Some elements of many that are drawn: the others say what they may be.
    return tensor


def _all_same(tensor: Tensor) -> list[Number] | None:
    """The elements of a small tensor of zeros or ones."""
    count = tensor.shape[0] if tensor.shape is not None and len(tensor.shape) == 1 else None
    for number in (0, 1):
        if tensor.values == f"integers({number}, {number + 1})" and isinstance(count, int):
            return [number] * count if count <= MOST_LISTED else None
    return None


def calculated_values(op: ast.operator, left: object, right: object, whole: Tensor) -> str:
    """How the elements of what an operator gives are drawn, `whole` as they are without it; "" where nothing tells.

    Numbers with a fraction stay as they are drawn: another factor is another scale. Whole numbers say where something
    lies, and are what the operator makes of them.
    """
    tensor, number = (left, right) if isinstance(left, Tensor) else (right, left)
    kind, _, _ = whole.values.partition("(")
    if kind not in ("integers", "listed", "permutation", "offsets", "steps") or "float" in (
        whole.dtype or ""
    ):
        return whole.values
    if isinstance(number, Tensor):
        same = isinstance(tensor, Tensor) and tensor.values == number.values
        return whole.values if same and isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor)) else ""
    if not isinstance(number, (int, Size)) or not isinstance(tensor, Tensor) or isinstance(number, bool):
        return ""
    is_first = tensor is left
    elements = elements_of(tensor)
    if elements is not None and isinstance(op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv)):
        pairs = ((e, number) if is_first else (number, e) for e in elements)
        return listed([size_of(ast.BinOp(tree_of(a), op, tree_of(b))) for a, b in pairs])
    parts = [size_of(a) for a in _operands(tensor.values)]
    ends: list[Any] = [0, 1] if kind == "permutation" else parts
    if isinstance(op, ast.Sub) and is_first:
        op, number = ast.Add(), 0 - number
    if isinstance(op, ast.Add):
        shifted = {"integers": [e + number for e in ends], "listed": [], "offsets": []}
        return _drawn(kind, shifted.get(kind, [ends[0] + number, ends[-1]]))
    if isinstance(op, ast.Mult) and kind in ("permutation", "steps"):
        return _drawn(kind, [e * number if e else 0 for e in ends])
    if isinstance(op, ast.Mod) and is_first and kind == "integers":
        return _drawn(kind, [0, number])
    return ""


def _operands(values: str) -> list[ast.expr]:
    inner = ast.parse(values, mode="eval").body
    return inner.args if isinstance(inner, ast.Call) else []


def _drawn(kind: str, operands: Sequence[object]) -> str:
    """Whole numbers between two limits, or in steps; "" for none."""
    name = "integers" if kind == "integers" else "steps"
    return f"{name}({', '.join(map(text_of, operands))})" if operands else ""
