"""Add up the values of neighbouring rows that go to one element, and make one atomic addition for each run of them.

Before:
    if (row < rows) { atomicAdd(&out[key[row] * C + c], x[row * C + c]); }
After: a thread takes 16 rows, four at a time, and keeps a sum as long as rows go to the same element. Rows that are
sorted by their keys need as many fewer additions as runs are long, others as many as before. Rows are what blocks or
threads along y or z count, so that neighbouring threads keep neighbouring columns.

Sums are rounded in another order, as atomic additions are in each run of the kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from kernel_gate.expr.polynomials import polynomial
from kernel_gate.expr.terms import Var, add, mul
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Variable, read_call, text_of, uses_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.blocks_at_launch import extent_changed
from kernel_lineage.rewrite.assists.element_work import (
    TYPE_NODES,
    check_alone,
    counted_in,
    only_declares,
)
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    dedented,
    descendants,
    fresh_name,
    indent_at,
    indent_unit,
    laid_out,
    newline_of,
    replace_between,
    statements_of,
    syntax_of,
)
from kernel_lineage.rewrite.assists.loop_changes import is_of_the_language
from kernel_lineage.rewrite.assists.model import Assist, Refusal, with_alternatives
from kernel_lineage.rewrite.assists.privatise_atomics import SUMMED_IN, element_added_to
from kernel_lineage.rewrite.assists.template_types import pointee_of, spelt
from kernel_lineage.rewrite.assists.vectorise_row_access import guarded
from kernel_lineage.rewrite.candidate import Candidate, Edit

_ROWS = (16, 64)
"""Rows of a thread."""
_AHEAD = 4
"""Rows that are read before the first of them is added."""


@dataclass(frozen=True, slots=True)
class _Task:
    """What a thread adds, where, and for which row."""

    row: Variable
    kind: str
    """The type of the row's number, as declared."""
    axis: str
    """The axis of the grid that counts rows."""
    guard: Node
    bound: Node
    also: str
    """What else is asked, with `&&` behind it."""
    before: list[Node]
    """Declarations of a row."""
    last: Node
    pointer: str
    place: Node
    value: Node
    type: str


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    check_alone(kernel, syntax)
    task = _task(kernel, syntax)
    return with_alternatives(_ROWS, lambda rows: _added_up(kernel, syntax, task, rows))


def _task(kernel: Kernel, syntax: CudaSyntax) -> _Task:
    row, axis = _row_of(kernel, syntax)
    statements = statements_of(syntax.entry.node.child_by_field_name("body"))
    if row.node not in statements or len(row.node.children_by_field_name("declarator")) != 1:
        raise Refusal(f"`{row.name}` is not declared in a statement of its own")
    kind = " ".join(text_of(n) for n in row.node.children if n.type in TYPE_NODES)
    if not counted_in(kernel, kind):
        raise Refusal(f"`{row.name}` is declared as `{kind}`, which is not known to be a whole number")
    guard, bound, inner, others = guarded(statements[statements.index(row.node) + 1 :], row.name)
    once = [s for s in statements if s != row.node and s.end_byte <= guard.start_byte]
    unlike = [s for s in once if not only_declares(s) or row.name in identifiers_in(s)]
    if unlike or row.name in set().union(*(identifiers_in(o.node) for o in others), identifiers_in(bound)):
        raise Refusal(f"something besides the work of a row depends on `{row.name}`")
    *before, last = inner
    call = read_call(last.named_children[0]) if _is_call(last) else None
    target = element_added_to(call) if call is not None and call.name == "atomicAdd" else None
    if call is None or target is None or len(call.arguments) != 2 or not all(map(only_declares, before)):
        raise Refusal(f"the work of `{row.name}` is not to add a value to an element atomically")
    pointer, place = target
    type_ = spelt(kernel, pointee_of(kernel.parameter(pointer)), SUMMED_IN)
    if not type_:
        raise Refusal(f"`{pointer}` is not known to point to a type that is added to atomically")
    used = uses_of(syntax.entry.node, pointer)
    if len(used) > 2:
        raise Refusal(f"`{pointer}` is used at another place as well; the addition comes later than before")
    _check_pure([*before, place, call.arguments[1]])
    _check_runs(syntax, row.name, before, place)
    also = "".join(f"{o.text} && " for o in others)
    return _Task(row, kind, axis, guard, bound, also, before, last, pointer, place, call.arguments[1], type_)


def _row_of(kernel: Kernel, syntax: CudaSyntax) -> tuple[Variable, str]:
    """The number of a thread's row, and the axis of the grid that counts it together with threads along y or z."""
    values, text = read_open(kernel).values, text_of(syntax.entry.node)
    for variable in syntax.entry.variables:
        value = variable.value
        term = values.get((value.start_byte, value.end_byte)) if value is not None else None
        for axis in "xyz" if term is not None else "":
            block = Var(f"blockIdx.{axis}")
            for thread in ("y", "z", ""):
                counted = (
                    add(mul(block, Var(f"blockDim.{thread}")), Var(f"threadIdx.{thread}"))
                    if thread
                    else block
                )
                if term is None or polynomial(term) != polynomial(counted):
                    continue
                places = [
                    rf"\bblockIdx\s*\.\s*{axis}\b",
                    *([rf"\bthreadIdx\s*\.\s*{thread}\b"] if thread else []),
                ]
                if "gridDim" in text or any(len(re.findall(place, text)) != 1 for place in places):
                    raise Refusal(f"{kernel.name} uses its block or its thread beside `{variable.name}`")
                return variable, axis
    raise Refusal(f"{kernel.name} has no row that blocks, or threads along y or z, count")


def _is_call(statement: Node) -> bool:
    inner = statement.named_children[0] if statement.named_children else None
    return statement.type == "expression_statement" and inner is not None and inner.type == "call_expression"


def _check_pure(nodes: list[Node]) -> None:
    for node in (n for outer in nodes for n in descendants(outer)):
        called = text_of(node.child_by_field_name("function")) if node.type == "call_expression" else ""
        changes = node.type in ("update_expression", "assignment_expression", "lambda_expression")
        if changes or (called and not is_of_the_language(called)):
            raise Refusal(f"`{text_of(node)}` may do more than to compute a value")


def _check_runs(syntax: CudaSyntax, row: str, before: list[Node], place: Node) -> None:
    """Refuse rows that go to elements of their own."""
    values = {v.name: v.value for v in syntax.entry.variables if v.node in before and v.value is not None}
    parts = [place]
    for part in parts:
        parts += [
            values[name]
            for name in sorted(identifiers_in(part))
            if name in values and values[name] not in parts
        ]
    reads = any(n.type == "subscript_expression" for part in parts for n in descendants(part))
    if not reads and any(row in identifiers_in(part) for part in parts):
        raise Refusal(f"each `{row}` goes to an element of its own: there are no runs to add up")


def _added_up(kernel: Kernel, syntax: CudaSyntax, task: _Task, rows: int) -> Candidate:
    data, unit = data_of(kernel), indent_unit(kernel)
    taken = identifiers_in(syntax.entry.node)
    names = (f"first_{task.row.name}", f"{task.row.name}_0", "total", "at", "place", "value", "j")
    first, group, total, at, place, value, j = (fresh_name(n, taken) for n in names)
    counted, row, bound = counted_in(kernel, task.kind), task.row.name, text_of(task.bound)
    flush = f"atomicAdd(&{task.pointer}[{place}], {total});"
    inside = f"{task.also}{group} < {bound} && {group} - {first} < {rows}"
    lines = [
        f"// Of {rows} rows, one atomic addition for each run of those that go to one element.",
        f"{task.type} {total} = 0;",
        f"long long {place} = 0;",
        f"for ({counted} {group} = {first}; {inside}; {group} += {_AHEAD}) {{",
        f"\tlong long {at}[{_AHEAD}];",
        f"\t{task.type} {value}[{_AHEAD}];",
        "\t#pragma unroll",
        f"\tfor (int {j} = 0; {j} < {_AHEAD}; {j}++) {{",
        f"\t\tconst {counted} {row} = {group} + {j};",
        f"\t\tif ({row} >= {bound}) continue;",
        *("\t\t" + line for s in task.before for line in dedented(data, [s], ())),
        f"\t\t{at}[{j}] = {text_of(task.place)};",
        f"\t\t{value}[{j}] = {text_of(task.value)};",
        "\t}",
        "\t#pragma unroll",
        f"\tfor (int {j} = 0; {j} < {_AHEAD}; {j}++) {{",
        f"\t\tif ({group} + {j} >= {bound}) continue;",
        f"\t\tif ({group} + {j} != {first} && {at}[{j}] == {place}) {{",
        f"\t\t\t{total} += {value}[{j}];",
        "\t\t\tcontinue;",
        "\t\t}",
        f"\t\tif ({group} + {j} != {first}) {flush}",
        f"\t\t{place} = {at}[{j}];",
        f"\t\t{total} = {value}[{j}];",
        "\t}",
        "}",
        f"if ({task.also}{first} < {bound}) {flush}",
    ]
    margin, newline = indent_at(data, task.guard.start_byte), newline_of(data)
    text = laid_out(lines, margin, unit, newline)
    start, end = task.guard.start_byte, max(task.guard.end_byte, task.last.end_byte)
    declared = f"const {counted} {first} = ({counted})({text_of(task.row.value)}) * {rows};"
    edits: list[Edit] = [replace_node(task.row.node, declared), replace_between(kernel, start, end, text)]
    grids = [
        extent_changed(
            kernel, launch, "grid", "xyz".index(task.axis), lambda blocks: f"({blocks} + {rows - 1}) / {rows}"
        )
        for launch in kernel.launches
    ]
    written = [e for e in grids if e is not None]
    note = (
        "" if written and len(written) == len(grids) else f" 1 of {rows} blocks along {task.axis} is enough."
    )
    return ASSIST.candidate(
        kernel,
        [*edits, *dict.fromkeys(written)],
        explanation=f"A thread takes {rows} rows and adds once for each run of them, in another order.{note}",
    )


ASSIST = Assist(
    title="Add up runs of rows before an atomic addition",
    skill="sums-of-runs",
    pattern="launch_configuration",
    make=_rewrite,
)
