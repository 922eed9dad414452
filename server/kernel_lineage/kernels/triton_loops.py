"""What the loops of a Triton kernel step over."""

from __future__ import annotations

import ast

from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of


def range_arguments(loop: ast.For) -> tuple[ast.expr | None, ast.expr | None, ast.expr | None]:
    """Start, stop and step of a loop over `range`, `tl.range` or `tl.static_range`; None for what is not given."""
    if not isinstance(loop.iter, ast.Call) or dotted(loop.iter.func).rpartition(".")[2] not in (
        "range",
        "static_range",
    ):
        return None, None, None
    match loop.iter.args:
        case [stop]:
            return None, stop, None
        case [start, stop]:
            return start, stop, None
        case [start, stop, step, *_]:
            return start, stop, step
    return None, None, None


def stepped_over(function: ast.FunctionDef) -> tuple[tuple[str, str], ...]:
    """What loops go over, and in steps of what, where both are names: (`K`, `BLOCK`) of `range(0, K, BLOCK)` and of
    `range(tl.cdiv(K, BLOCK))`.
    """
    pairs: list[tuple[str, str]] = []
    for loop in (n for n in ast.walk(function) if isinstance(n, ast.For)):
        _, stop, step = range_arguments(loop)
        if step is None and isinstance(stop, ast.Call) and dotted(stop.func).rpartition(".")[2] == "cdiv":
            stop, step = (*stop.args, None, None)[:2]
        if isinstance(stop, ast.Name) and isinstance(step, ast.Name):
            pairs.append((stop.id, step.id))
    return tuple(dict.fromkeys(pairs))


def read_again(unit: TritonUnit, loops: list[ast.For]) -> tuple[str, ast.For] | None:
    """The first pointer parameter that is read in two of some loops, and the later one of these."""
    read: dict[str, ast.For] = {}
    for loop in loops:
        for call in unit.loads():
            pointer = pointer_of(unit.form(call.node.args[0]))
            if (
                pointer
                and loop in unit.loops_around(call.node)
                and read.setdefault(pointer, loop) is not loop
            ):
                return pointer, loop
    return None


def program_step(unit: TritonUnit, loop: ast.For) -> str:
    """`programs` for a loop that steps by the number of programs, `elements` for that times a block, else ``."""
    start, _, step = range_arguments(loop)
    if start is None or step is None or "program" not in unit.form(start):
        return ""
    value = unit.value_of(step.id, loop.lineno) if isinstance(step, ast.Name) else None
    if value is not None and isinstance(value[1], ast.BinOp):
        step = value[1]
    named = [n for n in ast.walk(step) if isinstance(n, ast.Name | ast.Call)]
    counts = False
    for node in named:
        value = unit.value_of(node.id, loop.lineno) if isinstance(node, ast.Name) else None
        counts = counts or any(
            isinstance(n, ast.Call) and dotted(n.func).endswith("num_programs")
            for n in ast.walk(value[1] if value is not None else node)
        )
    if isinstance(step, ast.Name | ast.Call):
        return "programs" if counts or unit.form(start).get("program") == 1 else ""
    return "elements" if counts else ""
