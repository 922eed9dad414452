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
from dataclasses import dataclass
from functools import partial

from tree_sitter import Node

from kernel_gate.expr.polynomials import polynomial
from kernel_gate.expr.terms import ONE, Num, Var, sub, substituted
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_forms import Loop, bare, contains, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing, loop_axis
from kernel_lineage.kernels.cuda_mapping import is_row_pitch
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.counting_loops import counter_type
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
from kernel_lineage.rewrite.assists.row_loops import COUNTERS
from kernel_lineage.rewrite.assists.thread_order import ThreadOrder
from kernel_lineage.rewrite.assists.vector_body import TOGETHER
from kernel_lineage.rewrite.assists.ways_through import is_under_a_condition
from kernel_lineage.rewrite.assists.written import dense, header_of
from kernel_lineage.rewrite.candidate import Candidate, Edit

_ROUNDS = (8, 16, 32)
"""Elements that a thread keeps, each choice a candidate: 8 are a row of 2,048 for a block of 256 threads."""
_COLUMN_ROUNDS = (64, 128, 32)
"""Elements of a column that a thread keeps by itself, which has at most 255 registers."""
_PLACE = Var("place")
_LEAVES = frozenset({"return_statement", "break_statement", "continue_statement", "goto_statement"})


@dataclass(frozen=True, slots=True)
class _Pass:
    """One loop over the row, and where it reads the element."""

    loop: Loop
    reads: tuple[Node, ...]
    first: int | None
    """The counter's first value where each thread goes down a column of its own; None where threads share a row."""


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
    choices = _ROUNDS if passes[0].first is None else _COLUMN_ROUNDS
    return with_alternatives(choices, lambda rounds: _with_rounds(kernel, syntax, access, passes, rounds))


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
    unit, text = syntax.entry, text_of(access.node)
    around = unit.loops_around(access.node)
    own = around[-1] if around else None
    if own is None:
        raise Refusal(f"`{text}` is not read in a loop")
    column = access.index.get("x") == 1 and is_row_pitch(access.index.get(loop_axis(own), 0))
    column = column and _first_of_own(syntax, own) is not None
    names, passes = _head_names(own), list[_Pass]()
    for loop in unit.loops:
        first = _first_of_own(syntax, loop) if column else None
        if loop.node.parent != own.node.parent or not _is_alike(loop, own, first):
            continue
        inside = [n for n in descendants(loop.node) if n.type == "subscript_expression" and not _is_target(n)]
        reads = [n for n in inside if _same_place(syntax, (loop, n), (own, access.node))]
        if reads:
            passes.append(_Pass(loop, tuple(reads), first))
            names |= {name for n in reads for name in _names_of_place(loop, n)}
    names -= {own.counter}
    start = passes[0].loop.node.start_byte
    still = [p for p in passes if not names & changed_between(syntax, start, p.loop.node.end_byte)]
    if len(still) < 2:
        raise Refusal(f"`{text}` is not read again at the same places in a later loop of the same kind")
    end = still[-1].loop.node.end_byte
    for other in indexing(unit).accesses:
        writes = other.root == access.root and other.writes and start <= other.node.start_byte < end
        if writes and not _ends_round(syntax, still[-1], other.node, (own, access.node)):
            raise Refusal(f"`{text_of(other.node)}` is written between the passes")
    called = written_by_calls(syntax, start, end).get(access.root)
    if called is not None:
        raise Refusal(f"`{called}` may write the row between the passes")
    for one in still:
        _check_counted(kernel, syntax, one)
    for read in (n for one in still for n in one.reads):
        if _handed_on(read):
            raise Refusal(f"`{text_of(read.parent)}` hands the element on by its address or by reference")
    whole = min(still, key=lambda one: one.first or 0)
    between = [n for n in descendants(unit.node) if start <= n.start_byte < whole.loop.node.start_byte]
    left = next((n for n in between if n.type in _LEAVES), None)
    if left is not None:
        raise Refusal(f"`{text_of(left)}` may leave before the pass that reads the whole column")
    statements = statements_of(whole.loop.body)
    if not any(contains(s, n) and not is_under_a_condition(s, n) for s in statements for n in whole.reads):
        raise Refusal(f"`{text}` is read only under a condition in the first pass")
    return still


def _is_target(node: Node) -> bool:
    """Whether an element is what an assignment gives a value."""
    parent = node.parent
    return parent is not None and parent.type == "assignment_expression" and field_of(parent, "left") == node


def _ends_round(syntax: CudaSyntax, last: _Pass, target: Node, element: tuple[Loop, Node]) -> bool:
    """Whether an element is written in place by the last pass, where none of its reads comes later in the round."""
    assignment = target.parent
    inside = contains(last.loop.node, target) and _is_target(target)
    if not inside or assignment is None or not _same_place(syntax, (last.loop, target), element):
        return False
    return all(n.end_byte <= assignment.end_byte for n in last.reads)


def _first_of_own(syntax: CudaSyntax, loop: Loop) -> int | None:
    """The first value of a counter that goes up by one from a small number: no threads share its rounds."""
    if counter_type(syntax, loop) not in COUNTERS:
        return None
    match indexing(syntax.entry).counted(loop, loop.counter):
        case Num(first), Num(1) if 0 <= first < min(_COLUMN_ROUNDS):
            return first
    return None


def _is_alike(loop: Loop, own: Loop, first: int | None) -> bool:
    """Whether two loops count to the same bound, and from the same value where that is no number."""
    if first is None or loop.counter != own.counter:
        return header_of(loop) == header_of(own)
    return (dense(loop.condition), dense(loop.update)) == (dense(own.condition), dense(own.update))


def _same_place(syntax: CudaSyntax, *reads: tuple[Loop, Node]) -> bool:
    """Whether two reads are of one element, for each value of their loops' counters."""
    reach = indexing(syntax.entry)
    places = []
    for loop, node in reads:
        address = reach.model.addresses.get((node.start_byte, node.end_byte))
        at = (loop.node.start_byte, loop.node.end_byte)
        counted = next((one for one in reach.model.loops.values() if one.at == at), None)
        if address is None or counted is None or counted.counters.get(loop.counter) is None:
            return dense(reads[0][1]) == dense(reads[1][1])
        first, step = counted.counters[loop.counter]
        rounds = sub(_PLACE, first) if step == ONE else _PLACE
        place = polynomial(substituted(address.offset, {counted.round: rounds}))
        places.append((address.root, address.element, address.nbytes, place))
    return places[0] == places[1]


def _names_of_place(loop: Loop, read: Node) -> set[str]:
    """The names that an element's place depends on, beside those that the loop's body declares for it."""
    declared = _declared_for(loop, read)
    own = {name for _, names in declared for name in names}
    return {n for node in (read, *(d for d, _ in declared)) for n in identifiers_in(node)} - own


def _declared_for(loop: Loop, read: Node) -> list[tuple[Node, set[str]]]:
    """The declarations of a loop's body that an element's place is worked out from, and the names in each."""
    wanted, needed = identifiers_in(read), list[tuple[Node, set[str]]]()
    for statement in reversed(statements_of(loop.body)):
        if statement.type != "declaration" or statement.start_byte >= read.start_byte:
            continue
        names = {text_of(field_of(d, "declarator")) for d in statement.children_by_field_name("declarator")}
        if names & wanted and not contains(statement, read):
            needed.append((statement, names))
            wanted |= identifiers_in(statement)
    return needed[::-1]


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


def _check_counted(kernel: Kernel, syntax: CudaSyntax, one: _Pass) -> None:
    """Refuse a loop that cannot be taken apart into its first rounds and the rest."""
    loop, line = one.loop, one.loop.node.start_point.row + 1
    counted_header(loop)
    assert loop.body is not None
    if one.first is None and ThreadOrder(kernel, syntax).covers_all(loop) not in ("block", "group"):
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


def _loaded(kernel: Kernel, syntax: CudaSyntax, passes: list[_Pass]) -> tuple[list[str], str]:
    """The element as one of the passes reads it, and the declarations that this needs: of the fewest."""
    reads = [(one.loop, read) for one in passes for read in one.reads]
    loop, read = min(reads, key=lambda pair: len(_declared_for(*pair)))
    lines: list[str] = []
    for statement, names in _declared_for(loop, read):
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


def _counter(one: _Pass) -> str:
    """The counter's type and name."""
    header = one.loop.node.child_by_field_name("initializer")
    assert header is not None
    return f"{text_of(header.child_by_field_name('type'))} {one.loop.counter}"


def _start(one: _Pass) -> str:
    start = text_of(one.loop.start)
    return f"({start})" if any(c in start for c in "?<>|&^") else start


def _step(one: _Pass) -> str:
    step = one.loop.step
    return step if re.fullmatch(r"[\w.]+(?:\(\))?", step) else f"({step})"


def _unrolled(kernel: Kernel, one: _Pass, number: str, body: list[str], rounds: int) -> list[str]:
    """The first rounds of a thread's part of a row; without outer indentation."""
    unit = indent_unit(kernel)
    return [
        "#pragma unroll",
        f"for (int {number} = 0; {number} < {rounds}; {number}++) {{",
        f"{unit}{_counter(one)} = {_start(one)} + {number} * {_step(one)};",
        *_where_counted(one, body, unit),
        "}",
    ]


def _column(kernel: Kernel, one: _Pass, first: int, body: list[str], end: int) -> list[str]:
    """The first rounds of a column; without outer indentation."""
    unit, counter = indent_unit(kernel), one.loop.counter
    head = f"for ({_counter(one)} = {first}; {counter} < {end}; {text_of(one.loop.update)}) {{"
    return ["#pragma unroll", head, *_where_counted(one, body, unit), "}"]


def _where_counted(one: _Pass, body: list[str], unit: str) -> list[str]:
    inner = [unit * 2 + line if line else "" for line in body]
    return [f"{unit}if ({text_of(bare(one.loop.condition))}) {{", *inner, f"{unit}}}"]


def _rest(data: bytes, one: _Pass, begin: str) -> list[str]:
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
