"""Sums down a column of each thread's own, of which each lane takes several columns of every so-manieth row.

`for (int t = 0; t < n; t++) { sum += w[t] * v[t * D + column]; }`: of 32 columns a lane reads those of 16 bytes, so
that a warp reads several rows at a time; then lanes exchange what they have.
"""

from __future__ import annotations

from functools import partial

from tree_sitter import Node

from kernel_gate.expr.polynomials import coefficient_of, polynomial, term_of
from kernel_gate.expr.terms import ONE, Var, variables
from kernel_gate.program import WARP
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.cuda_forms import Loop, bare, changed_by, is_function, operator_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import Edit
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.counting_loops import counter_type, declares
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    dedented,
    descendants,
    indent_unit,
    newline_of,
    replace_between,
    statements_of,
    taken_name,
    with_pragmas,
)
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.shared_sums import (
    NoSuchLoop,
    exchanged,
    parts_for,
    sums_of,
    written_at,
)
from kernel_lineage.rewrite.assists.vector_body import VectorBody, vector_body
from kernel_lineage.rewrite.assists.warp_values import WarpValues
from kernel_lineage.rewrite.assists.written import in_brackets

_UNROLLED = 4
_THREAD = Var("threadIdx.x")


def column_sums(kernel: Kernel, syntax: CudaSyntax, loop: Loop, taken: set[str]) -> list[Edit]:
    """The edits that share the sums of a loop down columns; new names are added to `taken`. Refused where it has none
    that lanes may share.
    """
    row = sums_of(syntax, loop)
    values = WarpValues(kernel, syntax, syntax.entry)
    columns = _columns(kernel, syntax)
    own = {v.name for v in syntax.entry.variables if loop.node.start_byte <= v.start < loop.node.end_byte}
    own |= {loop.counter, *(r.name for r in row.reductions)}
    apart: dict[str, Node] = {}
    for node in descendants(loop.node):
        name = text_of(node) if node.type == "identifier" else ""
        if name and name not in own and not is_function(node) and not values.name_is_same(name, node):
            apart.setdefault(name, node)
    if not apart:
        raise NoSuchLoop(f"the sum in line {loop.node.start_point.row + 1} is the same for all lanes")
    column = next(iter(apart))
    if len(apart) > 1 or column not in columns:
        raise Refusal(
            f"`{next((n for n in apart if n not in columns), column)}` may differ from lane to lane in any way"
        )
    needs = values.needs_together(loop.node, {*columns, "threadIdx.x"})
    body = vector_body(kernel, syntax, statements_of(row.loop.body), column, in_order=True)
    _check_rows_even(kernel, row.loop, body)
    if not declares(row.loop):
        raise Refusal(f"`{loop.counter}` is declared outside of its loop")
    for part in (row.loop.start, row.loop.bound):
        if part is None or not values.is_same(part):
            raise Refusal(f"`{text_of(part)}` may differ from lane to lane")
    if operator_of(bare(loop.condition) or loop.node) not in ("<", "<="):
        raise Refusal("the loop does not count up to a bound")

    data, step = data_of(kernel), indent_unit(kernel)

    named = partial(taken_name, taken=taken)

    def moved(lines: list[str], by: int = 1) -> list[str]:
        return [step * by + line if line.strip() else "" for line in lines]

    lane, wide, group, place = map(named, ("lane", "wide", body.group, "place"))
    parts = {r.name: named(f"{r.name}_parts") for r in row.reductions}
    count, across = body.lanes, WARP // body.lanes
    kind, counter = counter_type(syntax, row.loop), loop.counter
    start = text_of(row.loop.start)
    first = _plus(start, f"{lane} / {across}")
    own_parts = parts_for(row, parts, place)
    conditions = [f"({column} - {lane}) % {WARP} == 0", *(f"{in_brackets(n)} % {WARP} == 0" for n in needs)]
    old = dedented(data, [loop.node], [])
    lines = [
        f"const int {lane} = threadIdx.x % {WARP};",
        f"bool {wide} = {' && '.join(conditions)};",
        f"for ({kind} {counter} = {start}; {counter} < {_plus(start, '2')}; {counter}++) {{",
        f"{step}{wide} = {wide} && {body.aligned()};",
        "}",
        f"if ({wide}) {{",
        *moved(
            [
                f"// A lane takes {count} columns of every {count}th row; shuffles hand each one the sum of its own.",
                f"const {_index_type(syntax, column)} {group} = ({column} - {lane}) / {count} + {lane} % {across};",
                *(f"{r.type} {parts[r.name]}[{count}] = {{}};" for r in row.reductions),
                f"#pragma unroll {_UNROLLED}",
                f"for ({kind} {counter} = {first}; {text_of(loop.condition)}; {counter} += {count}) {{",
                *moved(body.lines(data, _index_type(syntax, column), group, place, step, own_parts)),
                "}",
                *exchanged(row.reductions, parts, count, lane, across),
                *(
                    f"{r.name} += __shfl_sync(0xffffffff, {parts[r.name]}[0], "
                    f"{lane} % {count} * {across} + {lane} / {count});"
                    for r in row.reductions
                ),
            ]
        ),
        "} else {",
        *moved(old),
        "}",
    ]
    begin = with_pragmas(loop.node)
    text = written_at(data, begin, ["{", *moved(lines), "}"], newline_of(data))
    return [replace_between(kernel, begin.start_byte, loop.node.end_byte, text)]


def _columns(kernel: Kernel, syntax: CudaSyntax) -> dict[str, str]:
    """Names that number neighbouring lanes by neighbouring numbers, which nothing changes."""
    model = read_open(kernel)
    listed: dict[str, str] = {}
    for variable in syntax.entry.variables:
        value = variable.value
        term = model.values.get((value.start_byte, value.end_byte)) if value is not None else None
        split = coefficient_of(polynomial(term), _THREAD) if term is not None else None
        if split is not None and split[0] == polynomial(ONE):
            listed[variable.name] = variable.type
    nodes = list(descendants(syntax.entry.node))
    changed = {changed_by(n, addressed=True) for n in nodes}
    changed |= {n for n in listed if sum(v.name == n for v in syntax.entry.variables) > 1}
    return {n: t for n, t in listed.items() if n not in changed}


def _index_type(syntax: CudaSyntax, column: str) -> str:
    kind = next(v.type for v in syntax.entry.variables if v.name == column)
    return "unsigned" if kind == "auto" else kind


def _check_rows_even(kernel: Kernel, loop: Loop, body: VectorBody) -> None:
    """Refuse rows that do not lie at one distance: two of them tell whether all are aligned."""
    model = read_open(kernel)
    at = (loop.node.start_byte, loop.node.end_byte)
    rounds = [r.round for r in model.loops.values() if r.at == at]
    for node in (n for a in body.accesses for n in a.nodes):
        met = [a for a in model.accesses if a.at == (node.start_byte, node.end_byte)]
        for access in met:
            split = (
                coefficient_of(polynomial(access.offset), Var(rounds[0]))
                if rounds and access.offset
                else None
            )
            if split is None or any(_follows(model, n, rounds[0]) for n in variables(term_of(split[1]))):
                met = []
        if not met:
            raise Refusal(f"rows of `{text_of(node)}` are not known to lie at one distance")


def _follows(model: Model, name: str, round_: str) -> bool:
    """Whether what stands for data may differ from round to round."""
    return any(n == round_ or model.depends.get(n, ()) is None for n in model.sources([name]))


def _plus(start: str, more: str) -> str:
    return more if start == "0" else f"{start if start.isalnum() else in_brackets(start)} + {more}"
