"""What a call changes in place: `x.zero_()`, `starts[1:].copy_(ends)`, `torch.cumsum(lengths, 0, out=starts[1:])`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from kernel_lineage.workloads.triton.objects import Frame
from kernel_lineage.workloads.triton.tensor_methods import DRAWN
from kernel_lineage.workloads.triton.values import Tensor

_SAME = frozenset(
    {"detach_", "requires_grad_", "share_memory_", "squeeze_", "unsqueeze_", "t_", "transpose_"}
)
"""Methods that change no element."""
_WHOLE = frozenset({"data", "detach", "cuda", "contiguous"})
"""Attributes and methods that give all of a tensor."""


def change_in_place(frame: Frame, node: ast.Call, answer: object) -> None:
    """Let a variable hold no longer what it held before a call that writes to its tensor; `answer` is what it gives."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    for target in _written(node):
        place, is_whole = _root(target)
        tensor = frame.names.get(place.id) if place is not None else None
        if place is None or not isinstance(tensor, Tensor):
            continue
        after = answer if is_whole and name in DRAWN and isinstance(answer, Tensor) else _changed(tensor)
        frame.names[place.id] = replace(tensor, values=after.values, cleared=after.cleared)


def _changed(tensor: Tensor) -> Tensor:
    """A tensor that is worked on in place: floats that are drawn in some way still are, whole numbers may be any."""
    is_drawn = "float" in (tensor.dtype or "float") and not tensor.cleared
    return tensor if is_drawn else replace(tensor, values="", cleared=False)


def _written(node: ast.Call) -> Iterator[ast.expr]:
    """The tensors that a call writes to, as they are written."""
    match node.func:
        case ast.Attribute(value=of, attr=name) if (
            name.endswith("_") and name not in _SAME and name[-2:] != "__"
        ):
            yield of
    for keyword in node.keywords:
        if keyword.arg == "out":
            yield from keyword.value.elts if isinstance(keyword.value, ast.Tuple) else [keyword.value]


def _root(target: ast.expr) -> tuple[ast.Name | None, bool]:
    """The variable whose tensor an expression is, or is a part of; and whether it is all of it."""
    is_whole = True
    while not isinstance(target, ast.Name):
        match target:
            case ast.Attribute(value=of, attr=name) | ast.Call(func=ast.Attribute(value=of, attr=name)):
                is_whole &= name in _WHOLE
                target = of
            case ast.Subscript(value=of):
                is_whole, target = False, of
            case _:
                return None, False
    return target, is_whole
