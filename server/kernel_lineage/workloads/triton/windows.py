"""Shapes that a kernel says itself: of the tensors on which it makes block pointers and tensor descriptors.

A window that begins inside its tensor, as one of a batch does, says less than the whole shape, and is left out.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence

from kernel_gate.expressions import Number
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import triton_syntax
from kernel_lineage.workloads.triton.values import Size, Stride, is_number, size_of, tree_of, value_at

WINDOWS = frozenset({"make_block_ptr", "make_tensor_descriptor", "_experimental_make_tensor_descriptor"})
Shape = tuple[int | Size, ...]


def shapes_by_windows(
    kernel: Kernel, arguments: Mapping[str, object], sizes: Mapping[str, Number]
) -> dict[str, Shape]:
    """Pointer parameter → its shape, where the kernel makes a window on all of its tensor.

    `arguments` is what the launch gives to each parameter, `sizes` what the dims are.
    """
    syntax = triton_syntax(kernel)
    shapes: dict[str, Shape] = {}
    for call in syntax.entry.calls if syntax is not None else ():
        if call.of_language and call.name in WINDOWS:
            base, shape, strides = _parts(call.node)
            extents, steps = (_numbers(e, arguments) for e in (shape, strides))
            if isinstance(base, ast.Name) and extents and steps and len(extents) == len(steps):
                order = _order(steps, sizes)
                if order is not None:
                    shapes.setdefault(base.id, tuple(extents[axis] for axis in order))
    return shapes


def _parts(call: ast.Call) -> Iterator[ast.expr | None]:
    """The base of a window, the shape of its tensor, and the strides."""
    named = {k.arg: k.value for k in call.keywords}
    for place, name in enumerate(("base", "shape", "strides")):
        yield call.args[place] if place < len(call.args) else named.get(name)


def _numbers(listed: ast.expr | None, arguments: Mapping[str, object]) -> list[int | Size] | None:
    parts = listed.elts if isinstance(listed, (ast.Tuple, ast.List)) else []
    numbers = [_number(part, arguments) for part in parts]
    sizes = [f for f in numbers if isinstance(f, (int, Size))]
    return sizes if len(sizes) == len(numbers) else None


def _number(part: ast.expr, arguments: Mapping[str, object]) -> int | float | Size | None:
    """An extent or a stride, as an expression over dims; a stride of a tensor of unknown shape stays what it is."""
    if isinstance(part, ast.Name) and isinstance(value := arguments.get(part.id), Stride):
        return value
    names = [n for n in ast.walk(part) if isinstance(n, ast.Name)]
    if not all(is_number(arguments.get(n.id)) for n in names):
        return None

    class Values(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return tree_of(arguments[node.id])

    try:
        return size_of(Values().visit(copy.deepcopy(part)))
    except OverflowError:
        return None


def _order(strides: Sequence[int | Size], sizes: Mapping[str, Number]) -> list[int] | None:
    """The axes of a window in the order in which its tensor has them: those of large strides first."""
    axes = range(len(strides))
    if len(axes) == 1:
        return [0]
    if all(isinstance(s, Stride) and s.text == "" for s in strides):
        places = {s.axis % len(axes): at for at, s in enumerate(strides) if isinstance(s, Stride)}
        return [places[at] for at in axes] if len(places) == len(axes) else None
    steps = {at: value_at(s, sizes) for at, s in enumerate(strides) if not isinstance(s, Stride) or s.text}
    unknown = [at for at in axes if steps.get(at) is None]
    if len(unknown) > 1 or (unknown and 1 not in steps.values()):
        return None
    return [*unknown, *sorted((at for at in axes if at not in unknown), key=lambda at: -(steps[at] or 0))]
