"""What of the work on a row the lanes of a warp can share out, and what one of them does alone.

Outside of the loops that are shared out all lanes compute the same, so that they go the same way at every branch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from tree_sitter import Node

from kernel_gate.program import WARP
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Loop, bare, contains, field_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.rewrite.assists.layout import descendants, statements_of
from kernel_lineage.rewrite.assists.loop_changes import changed_between, only_gives_a_value
from kernel_lineage.rewrite.assists.model import MayOverlap, Refusal, attempt
from kernel_lineage.rewrite.assists.row_loops import RowLoop, row_loop
from kernel_lineage.rewrite.assists.template_types import type_parameters
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import constants_of

_CASTS = {"reinterpret_cast", "static_cast"}


@dataclass(slots=True)
class RowWork:
    """The parts of the work that are not the same for all lanes."""

    loops: list[RowLoop] = field(default_factory=list)
    once: list[Node] = field(default_factory=list)
    """Statements that write memory once for a row, in the order of the text."""
    pitch: str = ""
    """Where each thread has a column: how far apart its rows are, as written."""
    whole: bool = False
    """Loops with loops in them are shared out as a whole, where they can be."""


def row_work(syntax: CudaSyntax, statements: list[Node], pitch: str = "", *, whole: bool = False) -> RowWork:
    """The parts of the statements that do a row's work; a refusal when one of them cannot be done by a warp.

    `pitch`: as `row_loop` takes it. `whole`: loops with loops in them are shared out as a whole, where they can be.
    """
    work = RowWork(pitch=pitch, whole=whole)
    _walk(syntax, statements, work)
    return work


def _walk(syntax: CudaSyntax, statements: list[Node], work: RowWork) -> None:
    """Sort a block's statements, which all lanes of a warp come to together."""
    for statement in statements:
        _sorted(syntax, statement, work)


def _sorted(syntax: CudaSyntax, statement: Node, work: RowWork) -> None:
    text = " ".join(text_of(statement).splitlines()[0].split())
    line = statement.start_point.row + 1
    head = statement.child_by_field_name("condition") if statement.type == "if_statement" else statement
    if statement.type in ("declaration", "if_statement") and head is not None and writes_memory(syntax, head):
        raise Refusal(f"line {line} writes memory on the way (`{text}`); write it in a statement of its own")
    match statement.type:
        case (
            "declaration"
            | "preproc_call"
            | "comment"
            | "return_statement"
            | "continue_statement"
            | "break_statement"
        ):
            pass
        case "compound_statement":
            _walk(syntax, statements_of(statement), work)
        case "for_statement" | "while_statement":
            _loop(syntax, statement, work)
        case "if_statement":
            _branches(syntax, statement, work)
        case "expression_statement":
            if writes_memory(syntax, statement):
                work.once.append(statement)
        case _:
            raise Refusal(f"what line {line} does (`{text}`) is not known to be the same for all lanes")


def _loop(syntax: CudaSyntax, statement: Node, work: RowWork) -> None:
    loop = next(one for one in syntax.entry.loops if one.node == statement)
    within = [o for o in syntax.entry.loops if contains(statement, o.node) and o.node != statement]
    if within:
        assert loop.body is not None
        at_once = work.whole or all(_is_short(syntax, one) for one in within)
        outer = attempt(partial(row_loop, syntax, loop, work.pitch)) if at_once else None
        if isinstance(outer, MayOverlap):
            raise outer
        if isinstance(outer, RowLoop) and _is_in_braces(statement):
            work.loops.append(outer)
        else:
            _walk(syntax, statements_of(loop.body), work)
        return
    if not _is_in_braces(statement):
        raise Refusal(f"the loop in line {statement.start_point.row + 1} stands without braces around it")
    work.loops.append(row_loop(syntax, loop, work.pitch))


def _is_short(syntax: CudaSyntax, loop: Loop) -> bool:
    """Whether a loop is known to have fewer rounds than a warp has lanes, most of which it would leave idle."""
    constants = constants_of(syntax.kernel)
    first, last = (constant(text_of(end), constants) for end in (loop.start, loop.bound))
    return loop.step == "1" and first is not None and last is not None and last - first < WARP - 1


def _is_in_braces(statement: Node) -> bool:
    return statement.parent is not None and statement.parent.type == "compound_statement"


def _branches(syntax: CudaSyntax, statement: Node, work: RowWork) -> None:
    then, other = statement.child_by_field_name("consequence"), statement.child_by_field_name("alternative")
    parts = [then] if then is not None else []
    parts += [c for c in other.named_children if c.type != "comment"] if other is not None else []
    for part in parts:
        _walk(syntax, statements_of(part), work)


def writes_memory(syntax: CudaSyntax, statement: Node) -> bool:
    """Whether a statement does more than give a variable of the thread's own a value."""
    local = {v.name for v in syntax.entry.variables if v.sizes and not v.pointer}
    for node in descendants(statement):
        function = text_of(node.child_by_field_name("function")) if node.type == "call_expression" else ""
        if function and function not in type_parameters(syntax.kernel) and not only_gives_a_value(function):
            return True
        target = None
        if node.type == "assignment_expression":
            target = field_of(node, "left")
        elif node.type == "update_expression":
            target = field_of(node, "argument")
        while target is not None and target.type == "field_expression":
            target = field_of(target, "argument")
        if target is None or target.type == "identifier":
            continue
        base = target.child_by_field_name("argument")
        own = target.type == "subscript_expression" and text_of(bare(base)) in local
        if not own and not identifiers_in(target) - _CASTS <= local:
            return True
    return False


def check_changes_nothing(syntax: CudaSyntax, statement: Node) -> None:
    """Refuse a statement that writes memory once for a row and gives a variable another value: one thread would have
    it.
    """
    inside = {v.name for v in syntax.entry.variables if contains(statement, v.node)}
    changed = changed_between(syntax, statement.start_byte, statement.end_byte) - inside
    if changed := changed & identifiers_in(statement):
        line = statement.start_point.row + 1
        raise Refusal(f"line {line} writes memory and changes `{min(changed)}`, which all threads need")
