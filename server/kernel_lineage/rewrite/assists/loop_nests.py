"""Loops of a sum that stand within each other, as one loop: `for (ic …) for (ky …) for (kx …)` of a convolution.

`for (long long step = 0; step < channels * (3 * 3); step++)` works out the counters from its own. This is no rewrite by
itself, but what others start from, which read one loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Loop, bare, contains, operator_of, test_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.cuda_tests import Condition, conditions
from kernel_lineage.kernels.edits import Edit, differing_lines, edited
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.counting_loops import counter_type
from kernel_lineage.rewrite.assists.element_work import only_declares
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    dedented,
    descendants,
    edited_kernel,
    fresh_name,
    indent_at,
    indent_unit,
    newline_of,
    replace_between,
    statements_of,
    syntax_of,
    with_pragmas,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_in
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.written import header_of, in_brackets

_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_NO_CONDITIONS = frozenset(
    {"assignment_expression", "update_expression", "call_expression", "template_function"}
)
"""What no plain condition of numbers holds, as it is read."""


@dataclass(frozen=True, slots=True)
class _Nest:
    loops: list[Loop]
    """The outermost first."""
    before: list[list[Node]]
    """What stands in front of each loop but the outermost, and of the innermost one's work: declarations and `if`s."""
    work: list[Node]


def with_nests_as_loops(kernel: Kernel) -> Kernel:
    """A kernel whose first nest of loops that can be one loop is one; the kernel itself where none can."""
    syntax = attempt(partial(syntax_of, kernel))
    if isinstance(syntax, Refusal):
        return kernel
    for loop in syntax.entry.loops:
        if any(one is not loop and contains(one.node, loop.node) for one in syntax.entry.loops):
            continue
        edit = attempt(partial(_as_loop, kernel, syntax, loop))
        if isinstance(edit, Refusal):
            continue
        if (again := edited_kernel(kernel, [edit])) is not None:
            return again
    return kernel


def statements_of_round(body: Node, reads: list[tuple[int, int] | None]) -> Iterator[Node]:
    """The statements of a loop's body, those of an `if` in its place where all that is read at `reads` stands in it: it
    says then where these may be read. Refused is any other `if`.
    """
    for statement in statements_of(body):
        if statement.type != "if_statement":
            yield statement
            continue
        then, test = statement.child_by_field_name("consequence"), statement.child_by_field_name("condition")
        plain = test is not None and not {n.type for n in descendants(test)} & _NO_CONDITIONS
        inside = then is not None and all(
            at is not None and then.start_byte <= at[0] and at[1] <= then.end_byte for at in reads
        )
        if (
            then is None
            or not plain
            or not inside
            or statement.child_by_field_name("alternative") is not None
        ):
            line = statement.start_point.row + 1
            raise Refusal(f"the `if` in line {line} is no condition of all that a round reads")
        yield from statements_of_round(then, reads)


def has_conditions(loop: Node) -> bool:
    """Whether a loop does something under a condition."""
    return any(n.type == "if_statement" for n in descendants(loop))


def as_of(kernel: Kernel, form: Kernel, edits: list[Edit]) -> list[Edit]:
    """Edits of a form of a kernel, as edits of the kernel."""
    if form is kernel:
        return edits
    return list(differing_lines(edited(data_of(form), edits).decode(), data_of(kernel).decode()))


def _as_loop(kernel: Kernel, syntax: CudaSyntax, outer: Loop) -> Edit:
    nest = _nest(syntax, outer)
    data, unit = data_of(kernel), indent_unit(kernel)
    extents = [_extent(syntax, nest, loop) for loop in nest.loops]
    step = fresh_name("step", identifiers_in(syntax.entry.node))
    kind = "long long" if any("long long" in k for k, _ in extents) else "int"
    lines: list[str] = []
    below: list[str] = []
    for loop, (own, extent) in zip(reversed(nest.loops), reversed(extents), strict=True):
        divided = f"{step} / {_product(below)}" if below else step
        digit = divided if loop is nest.loops[0] else f"{divided} % {extent}"
        lines.insert(0, f"const {own} {loop.counter} = {digit};")
        below.insert(0, extent)
    closing = 0
    for statement in (s for part in nest.before for s in part):
        test = test_of(statement) if statement.type == "if_statement" else None
        text = dedented(data, [statement], []) if test is None else [f"if ({_condition(statement)}) {{"]
        lines += [unit * closing + line for line in text]
        closing += test is not None
    lines += [unit * closing + line for line in dedented(data, nest.work, [])]
    lines += [unit * depth + "}" for depth in reversed(range(closing))]
    head = f"for ({kind} {step} = 0; {step} < {_product(below)}; {step}++) {{"
    first = with_pragmas(outer.node)
    margin, newline = indent_at(data, first.start_byte), newline_of(data)
    whole = newline.join([head, *(margin + unit + line for line in lines), margin + "}"])
    return replace_between(kernel, first.start_byte, outer.node.end_byte, whole)


def _product(extents: list[str]) -> str:
    return extents[0] if len(extents) == 1 else f"({' * '.join(extents)})"


def _condition(statement: Node) -> str:
    """What holds where a round goes on."""
    test = test_of(statement)
    goes_on = [s.type for s in statements_of(statement.child_by_field_name("consequence"))] == [
        "continue_statement"
    ]
    if test is None or not goes_on:
        return text_of(test).strip()
    return " && ".join(_text(part) for part in conditions(test, holds=False))


def _text(part: Condition) -> str:
    """A condition with the opposite comparison where it does not hold: `!(a < 0 || a >= n)` reads as a template."""
    node, sign = part.node, operator_of(part.node)
    if part.holds or node.type != "binary_expression" or sign not in _OPPOSITE:
        return part.text
    left, right = (text_of(node.child_by_field_name(side)) for side in ("left", "right"))
    return f"{left} {_OPPOSITE[sign]} {right}"


def _nest(syntax: CudaSyntax, outer: Loop) -> _Nest:
    """A loop with one loop in it, and so on, between which there are declarations and conditions alone."""
    by_node = {loop.node.id: loop for loop in syntax.entry.loops}
    loops, before, rest = [outer], list[list[Node]](), statements_of(outer.body)
    while True:
        between = list[Node]()
        inner: Loop | None = None
        while rest and inner is None:
            statement, rest = rest[0], rest[1:]
            inner = by_node.get(statement.id)
            then = statement.child_by_field_name("consequence")
            if inner is not None:
                continue
            if statement.type == "if_statement" and statement.child_by_field_name("alternative") is None:
                between.append(statement)
                if [s.type for s in statements_of(then)] != ["continue_statement"]:
                    if rest:
                        raise Refusal("a round does more behind a condition")
                    rest = statements_of(then)
            elif statement.type == "preproc_call" or only_declares(statement):
                between += [statement] if statement.type != "preproc_call" else []
            else:
                rest = [statement, *rest]
                break
        before.append(between)
        if inner is None:
            break
        if rest:
            raise Refusal("a round does more than its inner loop")
        loops.append(inner)
        rest = statements_of(inner.body)
    if len(loops) < 2 or not rest:
        raise Refusal("no loop stands in the loop by itself")
    for statement in (s for part in [*before, rest] for s in part):
        named = {"for_statement", "while_statement", "do_statement", "break_statement", "return_statement"}
        kinds = {n.type for n in descendants(statement)}
        continues = statement in rest and "continue_statement" in kinds
        if (named & kinds and not any(contains(statement, loop.node) for loop in loops)) or continues:
            raise Refusal("a round has a way out of its own")
    return _Nest(loops, before, rest)


def _extent(syntax: CudaSyntax, nest: _Nest, loop: Loop) -> tuple[str, str]:
    """The type of a loop's counter, and how often the loop goes round. Refused where it does not count by one from 0 to
    a bound that is the same throughout the nest.
    """
    test = bare(loop.condition)
    kind = counter_type(syntax, loop)
    header = loop.node.child_by_field_name("initializer")
    whole = (
        loop.node.type == "for_statement"
        and header is not None
        and header.type == "declaration"
        and len(header.children_by_field_name("declarator")) == 1
        and text_of(loop.start) == "0"
        and loop.step == "1"
        and loop.bound is not None
        and test is not None
        and operator_of(test) == "<"
        and text_of(test.child_by_field_name("left")) == loop.counter
    )
    if not whole or kind not in ("int", "long long"):
        raise Refusal(f"`{header_of(loop)}` does not count by one from 0")
    assert loop.bound is not None
    plain = {n.type for n in descendants(loop.bound)}
    if plain & {"call_expression", "subscript_expression", "pointer_expression"}:
        raise Refusal(f"`{text_of(loop.bound)}` is read or called for")
    others = changed_in(syntax, nest.loops[0].node)
    body = loop.body
    if identifiers_in(loop.bound) & others or body is None or loop.counter in changed_in(syntax, body):
        raise Refusal(f"how far `{header_of(loop)}` runs may change on the way")
    extent = text_of(loop.bound)
    if "-" in extent:
        raise Refusal(f"`{extent}` may be below zero, and the product of two such bounds above")
    return kind, extent if extent.isdigit() else in_brackets(extent)
