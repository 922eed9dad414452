"""The loops that go over the same elements of a row, or of a thread's own column, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from kernel_gate.expr.polynomials import polynomial
from kernel_gate.expr.terms import ONE, Num, Var, sub, substituted
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Loop, contains, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing, loop_axis
from kernel_lineage.kernels.cuda_mapping import is_row_pitch
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.counting_loops import counter_type, counts
from kernel_lineage.rewrite.assists.layout import descendants, statements_of
from kernel_lineage.rewrite.assists.loop_changes import changed_between, is_of_the_language, written_by_calls
from kernel_lineage.rewrite.assists.loop_heads import counted_header
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.thread_order import ThreadOrder
from kernel_lineage.rewrite.assists.vector_body import TOGETHER
from kernel_lineage.rewrite.assists.ways_through import is_under_a_condition
from kernel_lineage.rewrite.assists.written import dense, header_of

COLUMN_ROUNDS = (64, 128, 32)
"""Elements of a column that a thread keeps by itself, which has at most 255 registers."""
_PLACE = Var("place")
_LEAVES = frozenset({"return_statement", "break_statement", "continue_statement", "goto_statement"})


@dataclass(frozen=True, slots=True)
class RowPass:
    """One loop over the row, and where it reads the element."""

    loop: Loop
    reads: tuple[Node, ...]
    first: int | None
    """The counter's first value where each thread goes down a column of its own; None where threads share a row."""


def passes_of(kernel: Kernel, syntax: CudaSyntax, access: Access) -> list[RowPass]:
    """The loops that read the element one after the other, while nothing of its place or its value changes."""
    unit, text = syntax.entry, text_of(access.node)
    around = unit.loops_around(access.node)
    own = around[-1] if around else None
    if own is None:
        raise Refusal(f"`{text}` is not read in a loop")
    column = access.index.get("x") == 1 and is_row_pitch(access.index.get(loop_axis(own), 0))
    column = column and _first_of_own(syntax, own) is not None
    names, passes = _head_names(own), list[RowPass]()
    for loop in unit.loops:
        first = _first_of_own(syntax, loop) if column else None
        if loop.node.parent != own.node.parent or not _is_alike(loop, own, first):
            continue
        inside = [n for n in descendants(loop.node) if n.type == "subscript_expression" and not _is_target(n)]
        reads = [n for n in inside if _same_place(syntax, (loop, n), (own, access.node))]
        if reads:
            passes.append(RowPass(loop, tuple(reads), first))
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


def _ends_round(syntax: CudaSyntax, last: RowPass, target: Node, element: tuple[Loop, Node]) -> bool:
    """Whether an element is written in place by the last pass, where none of its reads comes later in the round."""
    assignment = target.parent
    inside = contains(last.loop.node, target) and _is_target(target)
    if not inside or assignment is None or not _same_place(syntax, (last.loop, target), element):
        return False
    return all(n.end_byte <= assignment.end_byte for n in last.reads)


def _first_of_own(syntax: CudaSyntax, loop: Loop) -> int | None:
    """The first value of a counter that goes up by one from a small number: no threads share its rounds."""
    if not counts(syntax.kernel, counter_type(syntax, loop)):
        return None
    match indexing(syntax.entry).counted(loop, loop.counter):
        case Num(first), Num(1) if 0 <= first < min(COLUMN_ROUNDS):
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
    declared = declared_for(loop, read)
    own = {name for _, names in declared for name in names}
    return {n for node in (read, *(d for d, _ in declared)) for n in identifiers_in(node)} - own


def declared_for(loop: Loop, read: Node) -> list[tuple[Node, set[str]]]:
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


def _check_counted(kernel: Kernel, syntax: CudaSyntax, one: RowPass) -> None:
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
