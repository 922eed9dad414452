"""A Triton kernel that is launched with one program for each row or tile."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched_in
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton_syntax import triton_syntax
from kernel_lineage.kernels.units import of_kernel


def _find(kernel: Kernel) -> Iterator[Anchor]:
    syntax = triton_syntax(kernel)
    if syntax is None or any(True for _ in syntax.calls("num_programs")):
        return
    programs = [(unit, call) for unit, call in syntax.calls("program_id") if call.of_language]
    # A second axis, or one that a function asks for, is walked by no loop of the kernel's own.
    if not programs or any(not unit.entry or not _is_first(call.node) for unit, call in programs):
        return
    entry = syntax.entry
    if any("program" in entry.form(c.node.args[0]) for c in (*entry.loads(), *entry.stores())):
        node = programs[0][1].node
        named = [
            name for name, values in entry.assignments.items() if any(value is node for _, value in values)
        ]
        row = named[0] if named else ""
        yield matched_in(entry, node, f"{kernel.name} runs one program for each row", {"row": row})


def _is_first(call: ast.Call) -> bool:
    axis = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "axis"), None)
    return isinstance(axis, ast.Constant) and axis.value == 0


PATTERN = AnchorPattern(
    title="One program per row",
    names={"row": "the variable that holds the program's number"},
    find=of_kernel(_find, Language.TRITON),
)
