"""Keep the elements that a thread reads again in a later pass over the row in registers.

Before:
    for (int i = threadIdx.x; i < C; i += blockDim.x) { sum += x[i]; }
    for (int i = threadIdx.x; i < C; i += blockDim.x) { out[i] = x[i] / sum; }
After: the first pass keeps a thread's first eight elements in an array of constant size, and the later ones take them
from there. What a longer row has beyond that is read again by the old loops, in the same order.

Where each thread goes down a column of its own (the channels of an image, say) and its neighbours go down those beside
it, up to 128 elements are loaded before the first pass, so that they are all under way together. The last pass may
write the row in place.
"""

from __future__ import annotations

import re
from functools import partial

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import bare, contains, field_of, text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import (
    begins_line,
    data_of,
    dedented,
    descendants,
    fresh_name,
    indent_at,
    indent_unit,
    newline_of,
    statements_of,
    syntax_of,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_between, is_of_the_language
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt, with_alternatives
from kernel_lineage.rewrite.assists.row_passes import COLUMN_ROUNDS, RowPass, declared_for, passes_of
from kernel_lineage.rewrite.candidate import Candidate, Edit

_ROUNDS = (8, 16, 32)
"""Elements that a thread keeps, each choice a candidate: 8 are a row of 2,048 for a block of 256 threads."""


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    refusal = Refusal(f"{kernel.name} reads no element in two loops over the same row")
    accesses = indexing(syntax.entry).accesses
    # The pattern names one place for each array, which may be another one than that in the loops.
    roots = {
        a.root
        for a in accesses
        if a.node.start_byte < anchor.span.end and anchor.span.start < a.node.end_byte
    }
    for access in accesses:
        plain = access.space == "global" and not access.writes and access.node.type == "subscript_expression"
        if not plain or access.root not in roots or not syntax.entry.loops_around(access.node):
            continue
        made = attempt(partial(_keeping, kernel, syntax, access))
        if isinstance(made, Candidate):
            return made
        refusal = made
    raise refusal


def _keeping(kernel: Kernel, syntax: CudaSyntax, access: Access) -> Candidate:
    passes = passes_of(kernel, syntax, access)
    choices = _ROUNDS if passes[0].first is None else COLUMN_ROUNDS
    return with_alternatives(choices, lambda rounds: _with_rounds(kernel, syntax, access, passes, rounds))


def _with_rounds(
    kernel: Kernel, syntax: CudaSyntax, access: Access, passes: list[RowPass], rounds: int
) -> Candidate:
    edits = _edits(kernel, syntax, access, passes, rounds)
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"A thread's first {rounds} elements of the row are read once; they take as many registers.",
    )


def _element_type(kernel: Kernel, syntax: CudaSyntax, pointer: str) -> str | None:
    for variable in syntax.entry.variables:
        if variable.name == pointer:
            plain = variable.pointer and not variable.sizes and variable.type != "auto"
            return variable.type if plain and "volatile" not in text_of(variable.node) else None
    parameter = kernel.parameter(pointer)
    if parameter is None or "volatile" in parameter.type or parameter.type.count("*") != 1:
        return None
    return " ".join(re.sub(r"\b(?:const|__restrict__|__restrict)\b|\*", " ", parameter.type).split())


def _edits(
    kernel: Kernel, syntax: CudaSyntax, access: Access, passes: list[RowPass], rounds: int
) -> tuple[Edit, ...]:
    data = data_of(kernel)
    base = field_of(access.node, "argument")
    pointer = text_of(base)
    kind = _element_type(kernel, syntax, pointer) if base is not None and base.type == "identifier" else None
    if kind is None:
        raise Refusal(f"the type of the elements of `{pointer}` is not known here")
    taken = identifiers_in(syntax.entry.node)
    kept, number = fresh_name(f"{pointer}_kept", taken), fresh_name("kept_round", taken)
    array, column = f"{kind} {kept}[{rounds}];", passes[0].first is not None
    least = min(one.first or 0 for one in passes)
    if column:
        counter = passes[0].loop.counter
        number = f"{counter} - {least}" if least else counter
    declared, value = _loaded(kernel, syntax, passes)
    fill = f"{kept}[{number}] = {value};"
    if declared and not column:
        raise Refusal(f"where `{value}` lies is worked out in each round")
    edits: list[Edit] = []
    for one in passes:
        loop, head = one.loop, list[str]()
        if not begins_line(data, loop.node.start_byte):
            raise Refusal(f"the loop in line {loop.node.start_point.row + 1} is not on a line of its own")
        body = _body(data, one, f"{kept}[{number}]")
        if one is passes[0]:
            head = [
                array,
                *(_column(kernel, one, least, [*declared, fill], least + rounds) if column else ()),
            ]
            body = body if column else [fill, *body]
        if one.first is not None:
            lines = [*head, *_column(kernel, one, one.first, body, least + rounds)]
            rest = f"{_counter(one)} = {max(one.first, least + rounds)}"
        else:
            lines = [*head, *_unrolled(kernel, one, number, body, rounds)]
            rest = f"{_counter(one)} = {_start(one)} + {rounds} * {_step(one)}"
        lines += _rest(data, one, rest)
        gap = newline_of(data) + indent_at(data, loop.node.start_byte)
        edits.append(replace_node(loop.node, gap.join(lines)))
    return tuple(edits)


def _loaded(kernel: Kernel, syntax: CudaSyntax, passes: list[RowPass]) -> tuple[list[str], str]:
    """The element as one of the passes reads it, and the declarations that this needs: of the fewest."""
    reads = [(one.loop, read) for one in passes for read in one.reads]
    loop, read = min(reads, key=lambda pair: len(declared_for(*pair)))
    lines: list[str] = []
    for statement, names in declared_for(loop, read):
        assert loop.body is not None
        calls = [
            text_of(n.child_by_field_name("function"))
            for n in descendants(statement)
            if n.type == "call_expression"
        ]
        changed = names & changed_between(syntax, statement.end_byte, loop.body.end_byte)
        if changed or not all(map(is_of_the_language, calls)):
            raise Refusal(f"`{text_of(statement)}` may be another one where `{text_of(read)}` is read")
        lines += dedented(data_of(kernel), [statement], ())
    return lines, text_of(read)


def _counter(one: RowPass) -> str:
    """The counter's type and name."""
    header = one.loop.node.child_by_field_name("initializer")
    assert header is not None
    return f"{text_of(header.child_by_field_name('type'))} {one.loop.counter}"


def _start(one: RowPass) -> str:
    start = text_of(one.loop.start)
    return f"({start})" if any(c in start for c in "?<>|&^") else start


def _step(one: RowPass) -> str:
    step = one.loop.step
    return step if re.fullmatch(r"[\w.]+(?:\(\))?", step) else f"({step})"


def _unrolled(kernel: Kernel, one: RowPass, number: str, body: list[str], rounds: int) -> list[str]:
    """The first rounds of a thread's part of a row; without outer indentation."""
    unit = indent_unit(kernel)
    return [
        "#pragma unroll",
        f"for (int {number} = 0; {number} < {rounds}; {number}++) {{",
        f"{unit}{_counter(one)} = {_start(one)} + {number} * {_step(one)};",
        *_where_counted(one, body, unit),
        "}",
    ]


def _column(kernel: Kernel, one: RowPass, first: int, body: list[str], end: int) -> list[str]:
    """The first rounds of a column; without outer indentation."""
    unit, counter = indent_unit(kernel), one.loop.counter
    head = f"for ({_counter(one)} = {first}; {counter} < {end}; {text_of(one.loop.update)}) {{"
    return ["#pragma unroll", head, *_where_counted(one, body, unit), "}"]


def _where_counted(one: RowPass, body: list[str], unit: str) -> list[str]:
    inner = [unit * 2 + line if line else "" for line in body]
    return [f"{unit}if ({text_of(bare(one.loop.condition))}) {{", *inner, f"{unit}}}"]


def _rest(data: bytes, one: RowPass, begin: str) -> list[str]:
    """The loop as it is, beginning with the first round that the registers do not hold."""
    node = one.loop.node
    header = node.child_by_field_name("initializer")
    assert header is not None
    indent = indent_at(data, node.start_byte)
    old = text_of(node).replace(text_of(header), f"{begin};", 1).splitlines()
    return [
        "// What the registers do not hold, as before.",
        old[0],
        *(line.removeprefix(indent) for line in old[1:]),
    ]


def _body(data: bytes, one: RowPass, kept: str) -> list[str]:
    """The loop's own statements, the element taken from registers."""
    body = one.loop.body
    assert body is not None
    return dedented(data, statements_of(body), [(n, kept) for n in one.reads if contains(body, n)])


ASSIST = Assist(
    title="Keep a row in registers between passes",
    skill="register-cached-row",
    pattern="repeated_global_read",
    make=_rewrite,
)
