"""The loops along a row whose rounds the lanes of a warp may share out, and what they reduce.

A round may write elements of its own, and may add to a sum or take part in a maximum or a minimum, of which the round
that was chosen may be remembered; whatever else it carries to the next round is a recurrence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_floats import is_whole
from kernel_lineage.kernels.cuda_forms import (
    Loop,
    Variable,
    above,
    arguments_of,
    bare,
    changed_by,
    contains,
    field_of,
    operator_of,
    text_of,
    uses_of,
)
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.rewrite.assists.choosing_steps import compared
from kernel_lineage.rewrite.assists.combining_steps import step_of
from kernel_lineage.rewrite.assists.counting_loops import COUNTERS, counter_type, counting, counts
from kernel_lineage.rewrite.assists.layout import descendants, statements_of
from kernel_lineage.rewrite.assists.loop_changes import changed_between
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.reductions import Reduction
from kernel_lineage.rewrite.assists.rounds_apart import check_rounds_apart
from kernel_lineage.rewrite.assists.running_values import RunningValue, running_value
from kernel_lineage.rewrite.assists.template_types import plain_type, type_parameters, types_meant
from kernel_lineage.rewrite.assists.written import dense, header_of

_SHUFFLED = frozenset({"int", "unsigned int", "float", "double", "long long", "unsigned long long"})
"""Types that `__shfl_xor_sync` takes."""
SIGNED = frozenset({"int", "long long"})
"""Counters that a thread beyond the end of a row may take below zero."""
_FLOATING = frozenset({"float", "double"})
_ZERO = re.compile(r"0|0?\.0*[fF]?|0\.0*[fF]?|0\.?[fF]?")
LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")


@dataclass(frozen=True, slots=True)
class RowLoop:
    """A loop that can be shared out."""

    loop: Loop
    reductions: tuple[Reduction, ...]
    writes: bool
    """Its rounds write memory, which other lanes see only behind a barrier of the warp."""
    running: RunningValue | None = None
    """What the rounds combine and each of them uses as it is so far."""
    down: bool = False
    """The counter goes down by one, not up."""


def row_loop(syntax: CudaSyntax, loop: Loop, pitch: str = "") -> RowLoop:
    """A loop as one that lanes may share out; else why not. Loops in it are done by each lane for itself.

    `pitch`: where the loop goes down a column, how far apart its rows are, as written: a value above zero.
    """
    head = header_of(loop)
    loop = counting(syntax, loop)
    condition = bare(loop.condition)
    kind = plain_type(syntax.kernel, counter_type(syntax, loop))
    down = loop.step == "-1" and kind in SIGNED
    if (
        loop.body is None
        or loop.start is None
        or loop.bound is None
        or loop.update is None
        or condition is None
        or kind not in COUNTERS
        or (loop.step != "1" and not down)
        or operator_of(condition) not in ((">", ">=") if down else ("<", "<="))
        or text_of(condition.child_by_field_name("left")) != loop.counter
    ):
        raise Refusal(f"`{head}` does not count by one from a start to a bound")
    end = loop.update.start_byte if contains(loop.body, loop.update) else loop.body.end_byte
    changed = changed_between(syntax, loop.body.start_byte, end)
    accesses = [a for a in indexing(syntax.entry).accesses if contains(loop.body, a.node)]
    atomics = any(c.name.startswith("atomic") and contains(loop.body, c.node) for c in syntax.entry.calls)
    writes = atomics or any(a.writes and a.space != "local" for a in accesses)
    asked = {n.type for n in descendants(loop.bound)}
    reads = bool(asked & {"subscript_expression", "pointer_expression"})
    if (
        {loop.counter, *identifiers_in(loop.bound)} & changed
        or "call_expression" in asked
        or (reads and writes)
    ):
        raise Refusal(f"how far `{head}` runs may change on the way")
    left = _way_out(loop.body)
    if left is not None:
        raise Refusal(
            f"`{text_of(left)}` in line {left.start_point.row + 1} ends the loop early, for all its rounds"
        )
    around = [
        v for v in syntax.entry.variables if v.node.parent is not None and contains(v.node.parent, loop.node)
    ]
    own = {v.name for v in syntax.entry.variables if contains(loop.body, v.node)} - {v.name for v in around}
    carried = {} if down else _carried(syntax, loop, changed - own)
    remembered = {name for names in carried.values() for name, _ in names}
    combined = sorted(changed - own - remembered)
    nested = any(n.type in LOOPS for n in descendants(loop.body))
    plain = loop.node.type == "for_statement" and len(combined) == 1 and not carried and not nested
    running = running_value(syntax, loop, combined[0], _SHUFFLED) if plain else None
    names = [] if running is not None else combined
    reductions = [_reduction(syntax, loop, name, carried.get(name, ())) for name in names]
    check_rounds_apart(syntax, loop, changed, pitch)
    return RowLoop(loop, tuple(reductions), writes, running, down)


def _way_out(body: Node) -> Node | None:
    """What ends a loop from within its body: a return or a jump, or a break that ends no loop or switch in it."""
    for node in descendants(body):
        within = takewhile(lambda n: n != body, above(node))
        if node.type in ("return_statement", "goto_statement") or (
            node.type == "break_statement" and not any(n.type in (*LOOPS, "switch_statement") for n in within)
        ):
            return node
    return None


def _carried(syntax: CudaSyntax, loop: Loop, changed: set[str]) -> dict[str, tuple[tuple[str, str], ...]]:
    """What a maximum or a minimum remembers of the round that it chose: its name → names and types, the counter first.

    Nothing else in the loop uses these names, and one of them is given the loop's counter, which grows from round to
    round, so that it tells which of two rounds was first.
    """
    companions: dict[str, tuple[tuple[str, str], ...]] = {}
    for statement in descendants(loop.body) if loop.body is not None else ():
        values = {}
        for inner in statements_of(statement.child_by_field_name("consequence")):
            assignment = inner.named_children[0] if inner.named_children else None
            if assignment is not None and assignment.type == "assignment_expression":
                values[text_of(assignment.child_by_field_name("left"))] = field_of(assignment, "right")
        name = next((n for n in values if n in changed and compared(statement, n) is not None), "")
        others = [n for n in values if n != name]
        used = [text_of(n) for n in descendants(loop.node) if n.type == "identifier"]
        types = {v.name: v.type for v in syntax.entry.variables if not v.sizes and not v.pointer}
        plain = {n: plain_type(syntax.kernel, types.get(n, "")) for n in others}
        if not name or not others or any(used.count(n) != 1 or plain[n] not in _SHUFFLED for n in others):
            continue
        ordered = sorted(others, key=lambda n: not _is_counter(syntax, values[n], loop.counter))
        if plain[ordered[0]] in COUNTERS and _is_counter(syntax, values[ordered[0]], loop.counter):
            companions[name] = tuple((n, types[n]) for n in ordered)
    return companions


def _is_counter(syntax: CudaSyntax, value: Node | None, counter: str) -> bool:
    """Whether a value is the counter of a loop, perhaps converted to another whole number."""
    inner = bare(value)
    if inner is not None and inner.type == "cast_expression":
        inner = (
            bare(inner.child_by_field_name("value"))
            if counts(syntax.kernel, text_of(inner.child_by_field_name("type")))
            else None
        )
    return inner is not None and inner.type == "identifier" and text_of(inner) == counter


def _reduction(syntax: CudaSyntax, loop: Loop, name: str, carried: tuple[tuple[str, str], ...]) -> Reduction:
    """How a variable from outside changes in the rounds, if that is one reduction."""
    assert loop.body is not None
    recurrence = Refusal(
        f"`{name}` is carried from round to round of `{header_of(loop)}`, and that is no sum, maximum or minimum"
    )
    variable = _variable_at(syntax, loop, name)
    kinds = types_meant(syntax.kernel, variable.type) if variable is not None else frozenset()
    if variable is None or not kinds or not kinds <= _SHUFFLED or variable.sizes or variable.pointer:
        raise recurrence
    used = uses_of(loop.node, name)
    operations: set[str] = set()
    seen = 0
    for statement in _statements_in(loop.body):
        step = _step(statement, name, {n for n, _ in carried})
        if step is not None:
            operations.add(step[0])
            seen += step[1]
    rounded = next((n for n in _added(loop.body, name) if not is_whole(syntax.entry, n)), None)
    if not kinds <= _FLOATING and rounded is not None:
        raise Refusal(f"`{name}` is a whole number, and `{text_of(rounded)}` may be rounded in each round")
    if len(operations) != 1 or seen != len(used):
        raise recurrence
    return Reduction(name, variable.type, operations.pop(), _from_zero(syntax, loop, variable), carried)


def _variable_at(syntax: CudaSyntax, loop: Loop, name: str) -> Variable | None:
    """The variable that a name is at a loop: of several, the one that is declared last in a block around it."""
    around = [
        v
        for v in syntax.entry.variables
        if v.name == name and v.node.parent is not None and contains(v.node.parent, loop.node)
    ]
    above_it = [v for v in around if v.start < loop.node.start_byte]
    return max(above_it, key=lambda v: v.start, default=None)


def _added(body: Node, name: str) -> Iterator[Node | None]:
    """What is added to a variable, or taken from it."""
    for node in descendants(body):
        if node.type == "assignment_expression" and text_of(node.child_by_field_name("left")) == name:
            yield node.child_by_field_name("right")


def _statements_in(body: Node) -> Iterator[Node]:
    yield from (n for n in descendants(body) if n.type in ("expression_statement", "if_statement"))


def _step(statement: Node, name: str, carried: set[str]) -> tuple[str, int] | None:
    """The operation of one step of a reduction, and how often it writes the variable's name."""
    if statement.type == "if_statement":
        chosen = compared(statement, name)
        return chosen if _remembers(statement, name) == carried else None
    step = step_of(statement, name, [statement])
    if (
        step is None
        or step.operation == "*"
        or changed_by(statement.named_children[0]) != name
        or any(name in identifiers_in(p) for p in step.parts)
    ):
        return None
    return step.operation, len(uses_of(statement, name))


def _remembers(statement: Node, name: str) -> set[str]:
    """What the branch of a comparison gives a value, besides the name itself."""
    then = statement.child_by_field_name("consequence")
    return {dense(s).partition("=")[0] for s in statements_of(then)} - {name}


def _from_zero(syntax: CudaSyntax, loop: Loop, variable: Variable) -> bool:
    """Whether a variable is declared as zero in the block that the loop stands in, and keeps that until the loop."""
    same = variable.node.parent == loop.node.parent and variable.node.start_byte < loop.node.start_byte
    kept = variable.name not in changed_between(syntax, variable.node.end_byte, loop.node.start_byte)
    value = bare(variable.value)
    if value is not None and text_of(value.child_by_field_name("function")) in type_parameters(syntax.kernel):
        value = next(iter(arguments_of(value)), None)
    return same and kept and _ZERO.fullmatch(text_of(value)) is not None
