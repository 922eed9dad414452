"""A block of offsets or addresses of a Triton kernel, without a word on how they lie to each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched_in
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of, triton_syntax
from kernel_lineage.kernels.units import of_kernel

ID = "triton_unhinted_offsets"


def _find(kernel: Kernel) -> Iterator[Anchor]:
    syntax = triton_syntax(kernel)
    if syntax is None or any(True for _ in syntax.calls("max_contiguous", "multiple_of")):
        return
    unit = syntax.entry
    addressed = {
        name for call in (*unit.loads(), *unit.stores()) for name in unit.names_in(call.node.args[0])
    }
    for name, values in unit.assignments.items():
        for _, value in values:
            size = _size(unit, value)
            if name in addressed and size and len(values) == 1 and _is_hidden(unit, value):
                pointer = pointer_of(unit.form(value))
                names = {"x": pointer, "C": step_of(unit, value), "size": size, "offsets": name}
                yield matched_in(ID, unit, value, f"nothing is said of {name}", names)


def _is_hidden(unit: TritonUnit, value: ast.expr) -> bool:
    """Whether the compiler cannot see how the block lies: after a remainder, or from a start that was loaded."""
    remainder = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mod)
    return remainder or any("?" in str(c) for axis, c in unit.form(value).items() if axis != "arange")


def _size(unit: TritonUnit, value: ast.expr) -> str:
    """How many elements a block has: the end of the one `tl.arange(0, size)` that it is made of; else ""."""
    form = unit.form(value)
    if "arange" not in form or "arange0" in form or "arange1" in form:
        return ""
    ends = {
        ast.unparse(n.args[1])
        for part in (value, *(v for name in unit.names_in(value) for _, v in unit.assignments.get(name, ())))
        for n in ast.walk(part)
        if isinstance(n, ast.Call) and dotted(n.func).endswith("arange") and len(n.args) == 2
    }
    return ends.pop() if len(ends) == 1 else ""


def step_of(unit: TritonUnit, value: ast.expr) -> str:
    """What the block's first element is a multiple of: the period of `… % C`, or `C` of `row * C + …`."""
    form = unit.form(value)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mod) and isinstance(value.right, ast.Name):
        return value.right.id
    moving = {c for axis, c in form.items() if axis != "arange" and not axis.startswith("pointer:")}
    only = moving.pop() if len(moving) == 1 else ""
    # Whatever is multiplied by a pitch gives a multiple of it.
    only = only.removeprefix("?*") if isinstance(only, str) else ""
    return only if only.isidentifier() else ""


PATTERN = AnchorPattern(
    id=ID,
    title="Offsets without a hint",
    names={
        "x": "the pointer parameter, of a block of addresses",
        "C": "what the block's first element is a multiple of",
        "size": "how many elements the block has",
        "offsets": "the block's name",
    },
    find=of_kernel(_find, Language.TRITON),
)
