"""How the threads of a kernel have an element each of rows: by a flat index, or by one of rows and one of columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from tree_sitter import Node

from kernel_gate.expr.polynomials import Polynomial, normal, polynomial, term_of
from kernel_gate.expr.terms import Op, Term, Var, add, mul, rebuilt, variables
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Variable, contains, test_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.cuda_tests import conditions
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.counting_loops import counts
from kernel_lineage.rewrite.assists.digit_steps import divided, strides_in
from kernel_lineage.rewrite.assists.element_work import TYPE_NODES, only_declares
from kernel_lineage.rewrite.assists.hidden_reads import check_hidden_reads, macros_of
from kernel_lineage.rewrite.assists.layout import descendants, statements_of
from kernel_lineage.rewrite.assists.loop_changes import changed_between, changed_in
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.named_sizes import named_sizes
from kernel_lineage.rewrite.assists.neighbour_steps import ELEMENT, over_element
from kernel_lineage.rewrite.assists.thread_order import ThreadOrder

_GRID = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})
_QUOTIENTS, _REMAINDERS = ("//", "quot"), ("%", "rem")
_HIDDEN = re.compile(r"threadIdx|blockIdx|blockDim|gridDim")
ROW, COLUMN = Var("row of the element"), Var("column of the element")


@dataclass(frozen=True, slots=True)
class ElementRows:
    """How the threads of a kernel have an element each."""

    heads: dict[str, Variable]
    """What the grid's x counts: a flat index, or the column; the row, where the grid's y counts it."""
    guard: Node
    statements: list[Node]
    """What is done behind the guard, and what is declared in front of it for that."""
    first: int
    """The byte where the statements begin, or the guard."""
    rows: Term
    columns: Term
    placed: Callable[[Term], Term]
    """A value over threads as one over `ROW` and `COLUMN`."""


def element_rows(kernel: Kernel, syntax: CudaSyntax, model: Model) -> Iterator[ElementRows]:
    """The ways in which a kernel's elements make rows, the shortest rows first."""
    statements = statements_of(syntax.entry.node.child_by_field_name("body"))
    heads = _heads(kernel, syntax, statements)
    last = max((h.node.end_byte for h in heads.values()), default=0)
    guard = next((s for s in statements if s.type == "if_statement" and s.start_byte >= last), None)
    test = test_of(guard) if guard is not None and "x" in heads else None
    if guard is None or test is None or guard.child_by_field_name("alternative") is not None:
        return
    then = statements_of(guard.child_by_field_name("consequence"))
    leaves = [text_of(s).replace(" ", "") for s in then] == ["return;"]
    behind = [s for s in statements if s.start_byte >= guard.end_byte]
    checks = [c.below for c in conditions(test, holds=not leaves)]
    if (behind and not leaves) or None in checks:
        return
    moved = _moved([s for s in statements if s.end_byte <= guard.start_byte], heads)
    first = min([guard.start_byte, *(s.start_byte for s in moved)])
    bounds = [(value_of(model, what), value_of(model, bound)) for what, bound in filter(None, checks)]
    fixed = fixed_sizes(kernel, syntax)
    for columns, placed in _places(model, heads, bounds):
        below = {placed(what): bound for what, bound in bounds}
        rows = below.get(ROW)
        flat = below.get(normal(add(mul(ROW, columns), COLUMN)))
        if flat is not None and "y" not in heads:
            whole = divided(polynomial(flat), polynomial(columns))
            rows = term_of(whole) if whole is not None else None
        all_told = len(below) == (1 if "y" not in heads else 2)
        if rows is not None and all_told and {*variables(rows), *variables(columns)} <= fixed:
            yield ElementRows(
                heads, guard, [*moved, *(behind if leaves else then)], first, rows, columns, placed
            )


def _heads(kernel: Kernel, syntax: CudaSyntax, statements: list[Node]) -> dict[str, Variable]:
    """The variables that number all threads along x and y, which alone tell threads apart."""
    order = ThreadOrder(kernel, syntax)
    own = [v for v in syntax.entry.variables if v.node in statements]
    heads: dict[str, Variable] = {}
    for axis in "xy":
        for one in own:
            if one.value is not None and order.is_global_along(one.value, axis):
                heads.setdefault(axis, one)
    for head in heads.values():
        alone = len(head.node.children_by_field_name("declarator")) == 1
        if not alone or not counts(kernel, type_of(head)) or head.name in changed_later(syntax, head):
            raise Refusal(f"`{head.name}` is not declared alone as a whole number that stays")
    for node in descendants(syntax.entry.node):
        inside = any(contains(h.node, node) for h in heads.values())
        if node.type == "identifier" and text_of(node) in _GRID and not inside:
            raise Refusal(f"`{text_of(node)}` tells more of a thread than its element")
    check_hidden_reads(kernel, syntax, _HIDDEN, "its thread")
    names = {v.name for v in syntax.entry.variables}
    for name, taken, body in macros_of(kernel):
        if used := names & (set(WORD.findall(body)) - taken):
            raise Refusal(f"the macro {name} uses `{min(used)}`, which may become another one")
    return heads


def changed_later(syntax: CudaSyntax, variable: Variable) -> set[str]:
    """What is changed behind the declaration of a variable."""
    return changed_between(syntax, variable.node.end_byte, syntax.entry.node.end_byte)


def _moved(before: list[Node], heads: dict[str, Variable]) -> list[Node]:
    """What is declared in front of the check of a place, from the first on that is computed from it."""
    names, moved = {v.name for v in heads.values()}, list[Node]()
    for statement in before:
        reads = any(n.type in ("call_expression", "subscript_expression") for n in descendants(statement))
        is_head = any(h.node == statement for h in heads.values())
        if (is_head and moved) or (not is_head and (reads or not only_declares(statement))):
            raise Refusal(
                f"line {statement.start_point.row + 1} does something in front of the check of a place"
            )
        if not is_head and (moved or identifiers_in(statement) & names):
            moved.append(statement)
    return moved


def _places(
    model: Model, heads: dict[str, Variable], bounds: list[tuple[Term, Term]]
) -> Iterator[tuple[Term, Callable[[Term], Term]]]:
    """How long rows may be, and how values are told over a row and a column then."""
    element = polynomial(value_of(model, heads["x"].value))
    if "y" in heads:
        of_rows = polynomial(value_of(model, heads["y"].value))

        def along_axes(term: Term) -> Term:
            return {True: COLUMN}.get(
                polynomial(term) == element, ROW if polynomial(term) == of_rows else term
            )

        yield from ((bound, along_axes) for what, bound in bounds if along_axes(what) == COLUMN)
        return
    strides: list[Polynomial] = []
    for value in model.values.values():
        strides += [s for s in strides_in(over_element(value, element)) if s not in strides]
    for columns in sorted(map(term_of, strides), key=lambda t: len(list(variables(t)))):
        yield columns, partial(_over_row, element=element, columns=columns)


def _over_row(term: Term, element: Polynomial, columns: Term) -> Term:
    """A term over the row and the column, where a flat index counts elements of rows of so many columns."""
    return normal(_split(over_element(term, element), columns))


def _split(term: Term, columns: Term) -> Term:
    if term == ELEMENT:
        return add(mul(ROW, columns), COLUMN)
    if not isinstance(term, Op):
        return term
    if term.name in (*_QUOTIENTS, *_REMAINDERS) and normal(term.args[0]) == ELEMENT:
        rows = divided(polynomial(term.args[1]), polynomial(columns))
        if rows is not None:
            one = rows == {(): 1}
            if term.name in _QUOTIENTS:
                return ROW if one else Op(term.name, (ROW, term_of(rows)))
            return COLUMN if one else add(mul(Op(term.name, (ROW, term_of(rows))), columns), COLUMN)
    return rebuilt(term.name, tuple(_split(a, columns) for a in term.args))


def value_of(model: Model, node: Node | None) -> Term:
    """What the model says of an expression; what stands for itself where it says nothing."""
    value = model.values.get((node.start_byte, node.end_byte)) if node is not None else None
    return value if value is not None else Var(f"`{text_of(node)}`")


def type_of(variable: Variable) -> str:
    """The type of a variable, as written, without its qualifiers."""
    return " ".join(text_of(n) for n in variable.node.children if n.type in TYPE_NODES)


def fixed_sizes(kernel: Kernel, syntax: CudaSyntax) -> set[str]:
    """Sizes that are the same for the whole launch, by name."""
    changed = changed_in(syntax, syntax.entry.node)
    return {p.name for p in kernel.parameters if not p.pointer} - changed | named_sizes(kernel)
