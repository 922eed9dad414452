"""A Triton program that walks over its row block by block, more than once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched_in
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.triton_loops import range_arguments, read_again
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_entry


def passes(unit: TritonUnit, constants: set[str]) -> list[ast.For]:
    """The loops `for start in range(0, n, BLOCK)` of a function's own body, all over the same `n` and `BLOCK`."""
    by_range: dict[tuple[str, str], list[ast.For]] = {}
    for statement in unit.function.body:
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name) and not statement.orelse:
            start, stop, step = range_arguments(statement)
            begins = isinstance(start, ast.Constant) and start.value == 0
            if begins and isinstance(stop, ast.Name) and isinstance(step, ast.Name) and step.id in constants:
                by_range.setdefault((stop.id, step.id), []).append(statement)
    return max(by_range.values(), key=len, default=[])


def length_of(unit: TritonUnit, length: ast.expr) -> str:
    """A row's length as a parameter, or as the sum or product of parameters that its name stands for; "" for others."""
    parameters = {p.name for p in unit.kernel.parameters}
    stored = [
        n.id for n in ast.walk(unit.function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]
    for statement in unit.function.body:
        match statement, length:
            case ast.Assign(targets=[ast.Name(id=name)], value=value), ast.Name(id=wanted) if name == wanted:
                length = value if stored.count(name) == 1 else length
    nodes = list(ast.walk(length))
    plain = all(isinstance(n, ast.BinOp | ast.Mult | ast.Add | ast.expr_context | ast.Name) for n in nodes)
    names = {n.id for n in nodes if isinstance(n, ast.Name)}
    return ast.unparse(length) if plain and names <= parameters and not names & {*stored} else ""


def _find(unit: TritonUnit) -> Iterator[Anchor]:
    loops = passes(unit, {p.name for p in unit.kernel.parameters if p.constexpr})
    if (again := read_again(unit, loops)) is not None:
        pointer, loop = again
        _, stop, step = range_arguments(loop)
        names = {
            "x": pointer,
            "C": length_of(unit, stop) or ast.unparse(stop) if stop else "",
            "block": ast.unparse(step) if step else "",
        }
        yield matched_in(unit, loop, f"{pointer} is read again in another pass", names)


PATTERN = AnchorPattern(
    title="Row read in several passes",
    names={
        "x": "the pointer parameter that is read again",
        "C": "the row's length",
        "block": "the constant that a pass moves on by",
    },
    find=in_entry(in_triton=_find),
)
