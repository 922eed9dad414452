"""Whether the rounds of a loop touch elements of their own, so that they may be done in any order, or at once."""

from __future__ import annotations

from itertools import combinations

from tree_sitter import Node

from kernel_gate.expr.polynomials import polynomial
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Loop, bare, contains, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing, loop_axis
from kernel_lineage.kernels.cuda_parameters import dtype_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.rewrite.assists.counting_loops import counts
from kernel_lineage.rewrite.assists.layout import descendants
from kernel_lineage.rewrite.assists.loop_changes import changed_between, promised_apart
from kernel_lineage.rewrite.assists.model import MayOverlap, Refusal
from kernel_lineage.rewrite.assists.ranges_of_rounds import never_meet, writes_its_own
from kernel_lineage.rewrite.assists.written import dense

_ROW_AXES = frozenset({"x", "y", "block", "lane", "warp", "slow"})


def check_rounds_apart(syntax: CudaSyntax, loop: Loop, changed: set[str], pitch: str) -> None:
    """Refuse a loop of which two rounds may touch one element that one of them writes. `changed` are the names that its
    body changes; `pitch` as `row_loop` takes it.
    """
    assert loop.body is not None
    reach, axis = indexing(syntax.entry), loop_axis(loop)
    accesses = [a for a in reach.accesses if contains(loop.body, a.node)]
    for node in descendants(loop.body):
        if node.type == "pointer_expression" and operator_of(node) == "*":
            raise Refusal(f"`{text_of(node)}` may be one element for all rounds")
    inside = {v.name for v in syntax.entry.variables if contains(loop.body, v.node)}
    written = [a for a in accesses if a.writes and not (a.space == "local" and a.root in inside)]
    for access in written:
        subscript = access.node.type == "subscript_expression"
        base = access.node.child_by_field_name("argument") if subscript else None
        own = (
            access.space == "global"
            and len(access.indices) == 1
            and base is not None
            and not identifiers_in(base) & changed
            and (
                (
                    _moves(_named_value(syntax, loop, access.indices[0]), loop.counter, changed, pitch)
                    and (access.index.get(axis) in (1, -1) or pitch)
                )
                or writes_its_own(syntax, loop, access)
            )
        )
        if not own:
            raise Refusal(
                f"it is not known that each round writes another element of `{text_of(access.node)}`"
            )
    if written:
        _check_handed(syntax, loop, written)
        _check_written(syntax, loop, written)
    places = {dense(a.indices[0]) for a in written}
    for access in accesses:
        if not written or access.space == "local" or access.writes:
            continue
        same = len(places) == 1 and len(access.indices) == 1 and dense(access.indices[0]) in places
        same = same or all(_at_one_offset(syntax, access.node, w.node) for w in written)
        if same or not _ROW_AXES & set(access.index):
            continue
        other = next((w for w in written if not promised_apart(syntax, access.root, w.root)), None)
        if other is not None:
            kind = Refusal if access.root == other.root else MayOverlap
            raise kind(
                f"`{text_of(access.node)}` is read while other lanes write `{text_of(other.node)}`, "
                "and both may lie in one buffer; read it before the loop, or promise by __restrict__ that they do not"
            )


def _check_written(syntax: CudaSyntax, loop: Loop, written: list[Access]) -> None:
    """Refuse a loop of which two rounds may write one element: which of them is last would be left to chance."""
    for one, other in combinations(written, 2):
        same = one.root == other.root
        if same and (
            [dense(i) for i in one.indices] == [dense(i) for i in other.indices]
            or _at_one_offset(syntax, one.node, other.node)
            or never_meet(syntax, loop, one, other)
        ):
            continue
        if same or not promised_apart(syntax, one.root, other.root):
            kind = Refusal if same else MayOverlap
            raise kind(
                f"`{text_of(one.node)}` and `{text_of(other.node)}` are written, and one round may write what "
                "another one does"
            )


def _check_handed(syntax: CudaSyntax, loop: Loop, written: list[Access]) -> None:
    """Refuse a loop of which a function of the file's own may read what another round writes."""
    assert loop.body is not None
    reach, own = indexing(syntax.entry), {unit.name for unit in syntax.units[1:]}
    for call in syntax.entry.calls:
        if call.name not in own or not contains(loop.body, call.node):
            continue
        roots = [reach.place(a).root for a in call.arguments if a.type != "subscript_expression"]
        for root in filter(None, roots):
            other = next((w for w in written if not promised_apart(syntax, root, w.root)), None)
            if other is not None:
                kind = Refusal if root == other.root else MayOverlap
                raise kind(
                    f"{call.name} may read of `{root}` what other lanes write to `{text_of(other.node)}`; "
                    "promise by __restrict__ that they do not overlap"
                )


def _named_value(syntax: CudaSyntax, loop: Loop, index: Node | None) -> Node | None:
    """What an index is made of that the loop's body declares and that stays as it is; else the index itself."""
    name = text_of(bare(index))
    declared = [v for v in syntax.entry.variables if v.name == name and contains(loop.node, v.node)]
    if (
        len(declared) != 1
        or declared[0].node.parent != loop.body
        or not counts(syntax.kernel, declared[0].type)
    ):
        return index
    (one,) = declared
    changed = changed_between(syntax, one.node.end_byte, loop.node.end_byte)
    return one.value if one.value is not None and not one.sizes and name not in changed else index


def _moves(index: Node | None, counter: str, changed: set[str], pitch: str) -> bool:
    """Whether an index is the counter, or the counter plus what stays the same; with a pitch, a multiple of it."""
    index = bare(index)
    if index is None:
        return False
    if not pitch and index.type == "identifier":
        return text_of(index) == counter
    if index.type != "binary_expression":
        return False
    sides = [index.child_by_field_name("left"), index.child_by_field_name("right")]
    if pitch and operator_of(index) == "*":
        return sorted(_unconverted(s) for s in sides) == sorted([counter, pitch]) and pitch not in changed
    if operator_of(index) != "+":
        return False
    moving = [s for s in sides if s is not None and counter in identifiers_in(s)]
    still = [s for s in sides if s is not None and s not in moving]
    steady = all(
        not identifiers_in(s) & changed
        and not any(n.type in ("call_expression", "subscript_expression") for n in descendants(s))
        for s in still
    )
    return len(moving) == 1 and steady and _moves(moving[0], counter, changed, pitch)


def _unconverted(value: Node | None) -> str:
    """An expression without a conversion to another whole number around it, as written."""
    inner = bare(value)
    while (
        inner is not None
        and inner.type == "cast_expression"
        and (dtype_of(text_of(inner.child_by_field_name("type")), {}) or "").startswith(("int", "uint"))
    ):
        inner = bare(inner.child_by_field_name("value"))
    return text_of(inner)


def _at_one_offset(syntax: CudaSyntax, one: Node, other: Node) -> bool:
    """Whether two accesses reach equal offsets of their buffers in every round, by elements of one size."""
    offsets = []
    for node in (one, other):
        at = (node.start_byte, node.end_byte)
        met = [a for a in read_open(syntax.kernel).accesses if a.at == at]
        if not met or any(a.offset is None for a in met):
            return False
        offsets.append(
            {(a.nbytes, frozenset(polynomial(a.offset).items())) for a in met if a.offset is not None}
        )
    return len(offsets[0]) == 1 and offsets[0] == offsets[1]
