"""The masks of a CUDA C++ kernel: comparisons of an index with a size, and the code that each guards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tree_sitter import Node

from kernel_gate.expr.terms import Num, Op, Term, Var, substituted, variables
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.cuda_forms import field_of, inside, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax, Unit, cuda_syntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.learning.preconditions.fitting import Axes, masks_of
from kernel_lineage.learning.preconditions.uses import GuardedUse, Uses

_THREADS = {f"threadIdx.{axis}": Var(f"blockDim.{axis}") for axis in "xyz"}
_BLOCKS = dict.fromkeys((f"blockIdx.{axis}" for axis in "xyz"), None)
_LEAVES = frozenset({"return_statement", "continue_statement", "break_statement", "throw_statement"})
_JOINS = frozenset({"condition_clause", "parenthesized_expression"})


def uses(kernel: Kernel) -> dict[str, Uses]:
    """What the kernel and each device function that it reaches touch; nothing where it cannot be read."""
    syntax = cuda_syntax(kernel)
    of_units = {}
    for unit in syntax.units if syntax is not None else ():
        touched = list(_touched(unit))
        guarded = tuple(_guarded(syntax, unit, touched)) if syntax is not None else ()
        values = map(_value, (*unit.of("binary_expression"), *unit.of("identifier")))
        of_units[unit.name] = Uses(Counter((*(name for name, _ in touched), *values)), guarded)
    return of_units


def _touched(unit: Unit) -> Iterator[tuple[str, int]]:
    """What occurs in a unit, with its first byte: arrays that are accessed and functions that are called."""
    for node in (*unit.of("subscript_expression"), *unit.of("pointer_expression")):
        name = next((text_of(n) for n in inside(node) if n.type == "identifier"), "")
        if name:
            yield name, node.start_byte
    for call in unit.calls:
        yield call.name, call.node.start_byte


def _guarded(syntax: CudaSyntax, unit: Unit, touched: list[tuple[str, int]]) -> Iterator[GuardedUse]:
    model = indexing(unit).model
    handed = {} if unit.entry else _handed(syntax, unit)
    axes = _axes(model, handed)
    for operator in ("<", "<=", ">", ">="):
        for node in unit.operations.get(operator, ()):
            sides = [_term(unit, field_of(node, side), handed) for side in ("left", "right")]
            if sides[0] is None or sides[1] is None:
                continue
            for mask in masks_of(operator, sides[0], sides[1], axes):
                spans = list(_spans(unit, node, mask.inside))
                for name, at in touched:
                    if any(start <= at < end for start, end in spans):
                        yield GuardedUse(mask.condition, name, node.start_point[0] + 1)
    for call in unit.calls:
        if call.name not in ("min", "umin") or len(call.arguments) != 2:
            continue
        for value, most in (call.arguments, call.arguments[::-1]):
            terms = _term(unit, value, handed), _term(unit, most, handed)
            if terms[0] is not None and terms[1] is not None:
                for mask in masks_of("<=", terms[0], terms[1], axes):
                    if mask.inside:
                        yield GuardedUse(mask.condition, _value(value), call.node.start_point[0] + 1)


def _value(node: Node) -> str:
    return f"value {''.join(text_of(node).split())}"


def _term(unit: Unit, node: Node | None, handed: dict[str, Term]) -> Term | None:
    term = indexing(unit).term(node) if node is not None else None
    return substituted(term, handed) if term is not None else None


def _handed(syntax: CudaSyntax, unit: Unit) -> dict[str, Term]:
    """What the kernel hands to a device function, by the function's parameters; unknown where its calls differ."""
    calls = [call for call in syntax.entry.calls_by_name.get(unit.name, ()) if not call.receiver]
    handed: dict[str, Term] = {}
    for position, name in enumerate(unit.parameters):
        terms = {
            _of_the_caller(indexing(syntax.entry).term(call.arguments[position]))
            for call in calls
            if position < len(call.arguments)
        }
        only = terms.pop() if len(terms) == 1 else None
        handed[name] = only if only is not None else Var(f"?{name}")
    return handed


def _of_the_caller(term: Term | None) -> Term | None:
    """A term with the rounds of the kernel's loops apart from those of the function's own."""
    if term is None:
        return None
    return substituted(term, {n: Var(f"caller {n}") for n in variables(term) if n.startswith("round#")})


def _axes(model: Model, handed: dict[str, Term]) -> Axes:
    extents: dict[str, Term | None] = {**_THREADS, **_BLOCKS}
    extents |= {n: None for term in handed.values() for n in variables(term) if n.startswith("caller ")}
    ends: list[Term] = []
    fixed = {*(f"blockDim.{axis}" for axis in "xyz"), *model.constants}
    for name, loop in model.loops.items():
        extents[name] = None
        match loop.condition:
            case Op("<", (counter, end)):
                counts = all(n in fixed or n.startswith("sizeof(") for n in variables(end))
                if counter == Var(name) and counts:
                    extents[name] = end
                elif not counts:
                    ends.append(substituted(counter, handed))
            case Op("<=", (Num(0), counter)):  # it goes down to the start
                ends.append(substituted(counter, handed))
    return Axes(extents, tuple(end for end in ends if not isinstance(end, Var)))


def _spans(unit: Unit, comparison: Node, outcome: bool) -> Iterator[tuple[int, int]]:
    """The code that is run only where a comparison comes out so."""
    node, holds = comparison, outcome
    while (parent := node.parent) is not None:
        operator = operator_of(parent) if parent.type in ("binary_expression", "unary_expression") else ""
        if operator in ("&&", "||"):
            if holds is not (operator == "&&"):
                return
            right = field_of(parent, "right")
            if right is not None and right.start_byte > node.start_byte:
                yield right.start_byte, right.end_byte
        elif operator == "!":
            holds = not holds
        elif parent.type in ("if_statement", "conditional_expression"):
            yield from _branches(parent, node, holds)
            return
        elif parent.type == "init_declarator":
            yield from _named(unit, parent, holds)
            return
        elif parent.type not in _JOINS:
            return
        node = parent


def _named(unit: Unit, declarator: Node, holds: bool) -> Iterator[tuple[int, int]]:
    """The code under a variable that a comparison is kept in."""
    name = text_of(declarator.child_by_field_name("declarator"))
    for kind in ("if_statement", "conditional_expression"):
        for statement in unit.of(kind):
            condition = statement.child_by_field_name("condition")
            if condition is None or statement.start_byte < declarator.end_byte:
                continue
            for node in inside(condition):
                if node.type == "identifier" and text_of(node) == name:
                    yield from _spans(unit, node, holds)


def _branches(statement: Node, condition: Node, holds: bool) -> Iterator[tuple[int, int]]:
    """What is run where the condition of an `if` or a ternary comes out so."""
    then, otherwise = (statement.child_by_field_name(name) for name in ("consequence", "alternative"))
    if then is None or then.start_byte <= condition.start_byte:
        return
    branch = then if holds else otherwise
    if branch is not None:
        yield branch.start_byte, branch.end_byte
    block = statement.parent
    if not holds and block is not None and _leaves(then):
        yield statement.end_byte, block.end_byte


def _leaves(branch: Node) -> bool:
    statements = branch.named_children if branch.type == "compound_statement" else [branch]
    return bool(statements) and statements[-1].type in _LEAVES
