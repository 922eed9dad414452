"""Keep the elements that a thread reads again in a later pass over the row in registers.

Before:
    for (int i = threadIdx.x; i < C; i += blockDim.x) { sum += x[i]; }
    for (int i = threadIdx.x; i < C; i += blockDim.x) { out[i] = x[i] / sum; }
After: the first pass keeps a thread's first eight elements in an array of constant size, and the later ones take them
from there. What a longer row has beyond that is read again by the old loops, in the same order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from tree_sitter import Node

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_forms import Loop, bare, contains, field_of, operator_of, text_of
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
    identifiers_in,
    indent_at,
    indent_unit,
    newline_of,
    statements_of,
    syntax_of,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_between, is_of_the_language, written_by_calls
from kernel_lineage.rewrite.assists.loop_heads import counted_header
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt, with_alternatives
from kernel_lineage.rewrite.assists.thread_order import ThreadOrder
from kernel_lineage.rewrite.assists.vector_body import TOGETHER
from kernel_lineage.rewrite.assists.ways_through import is_under_a_condition
from kernel_lineage.rewrite.assists.written import dense, header_of
from kernel_lineage.rewrite.candidate import Candidate, Edit

_ROUNDS = (8, 16, 32)
"""Elements that a thread keeps, each choice a candidate: 8 are a row of 2,048 for a block of 256 threads."""
_LEAVES = frozenset({"return_statement", "break_statement", "continue_statement", "goto_statement"})


@dataclass(frozen=True, slots=True)
class _Pass:
    """One loop over the row, and where it reads the element."""

    loop: Loop
    reads: tuple[Node, ...]


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
    passes = _passes(kernel, syntax, access)
    return with_alternatives(_ROUNDS, lambda rounds: _with_rounds(kernel, syntax, access, passes, rounds))


def _with_rounds(
    kernel: Kernel, syntax: CudaSyntax, access: Access, passes: list[_Pass], rounds: int
) -> Candidate:
    edits = _edits(kernel, syntax, access, passes, rounds)
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"A thread's first {rounds} elements of the row are read once; they take as many registers.",
    )


def _passes(kernel: Kernel, syntax: CudaSyntax, access: Access) -> list[_Pass]:
    """The loops that read the element one after the other, while nothing of its place or its value changes."""
    unit, element, text = syntax.entry, dense(access.node), text_of(access.node)
    around = unit.loops_around(access.node)
    own = around[-1] if around else None
    if own is None:
        raise Refusal(f"`{text}` is not read in a loop")
    alike = [x for x in unit.loops if x.node.parent == own.node.parent and header_of(x) == header_of(own)]
    passes: list[_Pass] = []
    for loop in alike:
        reads = [
            n for n in descendants(loop.node) if n.type == "subscript_expression" and dense(n) == element
        ]
        if reads:
            passes.append(_Pass(loop, tuple(reads)))
    names = (identifiers_in(access.node) | _head_names(own)) - {own.counter}
    start = passes[0].loop.node.start_byte
    still = [p for p in passes if not names & changed_between(syntax, start, p.loop.node.end_byte)]
    if len(still) < 2:
        raise Refusal(f"`{text}` is not read again at the same places in a later loop of the same kind")
    end = still[-1].loop.node.end_byte
    for other in indexing(unit).accesses:
        if other.root == access.root and other.writes and start <= other.node.start_byte < end:
            raise Refusal(f"`{text_of(other.node)}` is written between the passes")
    called = written_by_calls(syntax, start, end).get(access.root)
    if called is not None:
        raise Refusal(f"`{called}` may write the row between the passes")
    for one in still:
        _check_counted(kernel, syntax, one.loop)
    for read in (n for one in still for n in one.reads):
        if _handed_on(read):
            raise Refusal(f"`{text_of(read.parent)}` hands the element on by its address or by reference")
    first = statements_of(still[0].loop.body)
    if not any(contains(s, n) and not is_under_a_condition(s, n) for s in first for n in still[0].reads):
        raise Refusal(f"`{text}` is read only under a condition in the first pass")
    return still


def _handed_on(read: Node) -> bool:
    """Whether not the value is read but the place: `&x[i]`, or an argument that may be taken by reference."""
    parent = read.parent
    if parent is None or (parent.type == "pointer_expression" and operator_of(parent) == "&"):
        return True
    call = parent.parent if parent.type == "argument_list" else None
    return call is not None and not is_of_the_language(text_of(call.child_by_field_name("function")))


def _head_names(loop: Loop) -> set[str]:
    header = loop.node.child_by_field_name("initializer")
    parts = [header, loop.condition, loop.update]
    names = {name for part in parts if part is not None for name in identifiers_in(part)}
    return names - {"threadIdx", "blockIdx", "blockDim", "gridDim"}


def _check_counted(kernel: Kernel, syntax: CudaSyntax, loop: Loop) -> None:
    """Refuse a loop that cannot be taken apart into its first rounds and the rest."""
    line = loop.node.start_point.row + 1
    counted_header(loop)
    assert loop.body is not None
    if ThreadOrder(kernel, syntax).covers_all(loop) not in ("block", "group"):
        raise Refusal(
            f"the loop in line {line} does not deal the row out to the threads of a block or a warp"
        )
    before = loop.node.prev_named_sibling
    if before is not None and before.type == "preproc_call":
        raise Refusal(f"the loop in line {line} has a pragma of its own")
    for node in descendants(loop.body):
        if node.type in _LEAVES or node.type in ("for_statement", "while_statement", "do_statement"):
            raise Refusal(f"the loop in line {line} has a way out or a loop of its own")
    if TOGETHER.search(text_of(loop.body)):
        raise Refusal(f"the threads work together in the loop in line {line}")
    if loop.counter in changed_between(syntax, loop.body.start_byte, loop.body.end_byte) or not statements_of(
        loop.body
    ):
        raise Refusal(f"`{loop.counter}` is changed in the loop in line {line}, or the loop does nothing")


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
    kernel: Kernel, syntax: CudaSyntax, access: Access, passes: list[_Pass], rounds: int
) -> tuple[Edit, ...]:
    data = data_of(kernel)
    base = field_of(access.node, "argument")
    pointer = text_of(base)
    kind = _element_type(kernel, syntax, pointer) if base is not None and base.type == "identifier" else None
    if kind is None:
        raise Refusal(f"the type of the elements of `{pointer}` is not known here")
    taken = identifiers_in(syntax.entry.node)
    kept, number = fresh_name(f"{pointer}_kept", taken), fresh_name("kept_round", taken)
    edits: list[Edit] = []
    for one in passes:
        loop = one.loop
        if not begins_line(data, loop.node.start_byte):
            raise Refusal(f"the loop in line {loop.node.start_point.row + 1} is not on a line of its own")
        lines = [f"{kind} {kept}[{rounds}];"] if one is passes[0] else []
        fill = [f"{kept}[{number}] = {text_of(access.node)};"] if one is passes[0] else []
        lines += _unrolled(kernel, one, f"{kept}[{number}]", number, fill, rounds)
        gap = newline_of(data) + indent_at(data, loop.node.start_byte)
        edits.append(replace_node(loop.node, gap.join(lines)))
    return tuple(edits)


def _unrolled(kernel: Kernel, one: _Pass, kept: str, number: str, fill: list[str], rounds: int) -> list[str]:
    """The first rounds with the element in registers, and the loop over the rest; without outer indentation."""
    loop, data, unit = one.loop, data_of(kernel), indent_unit(kernel)
    header = loop.node.child_by_field_name("initializer")
    assert header is not None and loop.body is not None
    start = text_of(loop.start)
    start = f"({start})" if any(c in start for c in "?<>|&^") else start
    step = loop.step if re.fullmatch(r"[\w.]+(?:\(\))?", loop.step) else f"({loop.step})"
    declared = f"{text_of(header.child_by_field_name('type'))} {loop.counter} = {start}"
    indent = indent_at(data, loop.node.start_byte)
    old = text_of(loop.node).replace(text_of(header), f"{declared} + {rounds} * {step};", 1).splitlines()
    return [
        "#pragma unroll",
        f"for (int {number} = 0; {number} < {rounds}; {number}++) {{",
        f"{unit}{declared} + {number} * {step};",
        f"{unit}if ({text_of(bare(loop.condition))}) {{",
        *(unit * 2 + line for line in fill),
        *(unit * 2 + line if line else "" for line in _body(data, one, kept)),
        f"{unit}}}",
        "}",
        "// What the registers do not hold, as before.",
        old[0],
        *(line.removeprefix(indent) for line in old[1:]),
    ]


def _body(data: bytes, one: _Pass, kept: str) -> list[str]:
    """The loop's own statements, the element taken from registers."""
    body = one.loop.body
    assert body is not None
    return dedented(data, statements_of(body), [(n, kept) for n in one.reads if contains(body, n)])


ASSIST = Assist(
    id="keep_row_in_registers",
    title="Keep a row in registers between passes",
    skill="register-cached-row",
    pattern="repeated_global_read",
    make=_rewrite,
)
