"""Loops that count, however the counter is written: declared in the head of a `for`, given its first value there
(`int i; for (i = 0; …)`), or moved on at the end of a `while`.
"""

from __future__ import annotations

from dataclasses import replace

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import Loop, bare, contains, text_of, uses_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import descendants, statements_of
from kernel_lineage.rewrite.assists.template_types import plain_type

COUNTERS = frozenset({"int", "unsigned int", "long long", "unsigned long long"})
"""Types that the loops along a row count in."""


def counting(syntax: CudaSyntax, loop: Loop) -> Loop:
    """A loop with the parts of its head, wherever they are written; unchanged where something else reads its counter.

    The counter of a loop has a start, then, that can be replaced, and is read nowhere behind the loop.
    """
    if loop.node.type == "for_statement":
        head = loop.node.child_by_field_name("initializer")
        assigned = head is not None and head.type == "assignment_expression"
        return loop if not assigned or _is_its_own(syntax, loop.counter) else replace(loop, start=None)
    return _while(syntax, loop) if loop.node.type == "while_statement" else loop


def counts(kernel: Kernel, written: str) -> bool:
    """Whether a type is one that the loops along a row count in."""
    return plain_type(kernel, written) in COUNTERS


def declares(loop: Loop) -> bool:
    """Whether a loop declares its counter in its head."""
    head = loop.node.child_by_field_name("initializer")
    return head is not None and head.type == "declaration"


def counter_type(syntax: CudaSyntax, loop: Loop) -> str:
    """The type of a loop's counter as declared; "" where several are declared at once in its head, or it is unknown."""
    head = loop.node.child_by_field_name("initializer")
    if head is not None and declares(loop):
        one = len(head.children_by_field_name("declarator")) == 1
        return text_of(head.child_by_field_name("type")) if one else ""
    return next((v.type for v in syntax.entry.variables if v.name == loop.counter and not v.pointer), "")


def _while(syntax: CudaSyntax, loop: Loop) -> Loop:
    """A `while` whose body ends by moving on what its condition compares, and nothing else reads."""
    condition, body = bare(loop.condition), statements_of(loop.body)
    counter = text_of(condition.child_by_field_name("left")) if condition is not None else ""
    variables = [v for v in syntax.entry.variables if v.name == counter]
    skips = any(n.type == "continue_statement" for n in descendants(loop.node))
    if len(variables) != 1 or not body or body[-1].type != "expression_statement" or skips:
        return loop
    (variable,), update = variables, body[-1].named_children[0]
    moved = update.child_by_field_name("argument") or update.child_by_field_name("left")
    beside = variable.node.parent == loop.node.parent and variable.start < loop.node.start_byte
    used = uses_of(syntax.entry.node, counter)
    if (
        not beside
        or text_of(moved) != counter
        or not all(_within(u, [variable.node, loop.node]) for u in used)
    ):
        return loop
    return replace(loop, counter=counter, start=variable.value, update=update)


def _is_its_own(syntax: CudaSyntax, counter: str) -> bool:
    """Whether nothing reads a counter outside of the loops that give it a first value of their own."""
    variables = [v for v in syntax.entry.variables if v.name == counter]
    loops = [
        one.node
        for one in syntax.entry.loops
        if one.counter == counter and one.start is not None and one.node.type == "for_statement"
    ]
    around = [*(v.node for v in variables), *loops]
    apart = not any(a != b and contains(a, b) for a in loops for b in loops)
    return (
        len(variables) == 1 and apart and all(_within(u, around) for u in uses_of(syntax.entry.node, counter))
    )


def _within(node: Node, parts: list[Node]) -> bool:
    return any(contains(part, node) for part in parts)
