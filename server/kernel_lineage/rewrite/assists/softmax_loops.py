"""The loops of a softmax over a row: one for the maximum, one for the sum of exponentials, one that scales them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import (
    Loop,
    arguments_of,
    bare,
    field_of,
    operator_of,
    span_of,
    test_of,
    text_of,
)
from kernel_lineage.kernels.source import Span
from kernel_lineage.rewrite.assists.layout import descendants, statements_of
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.written import dense

_MAXIMA = frozenset({"fmaxf", "max", "fmax"})
_EXPONENTIALS = ("expf", "exp", "__expf")
_RANKS = re.compile(r"\w+\.(?:thread_rank|size|num_threads|meta_group_rank|meta_group_size)")


@dataclass(frozen=True, slots=True)
class Maximum:
    """`for (…) { m = fmaxf(m, x[i]); }`."""

    loop: Loop
    name: str
    element: str
    """The element without blanks, `x[row*C+i]`."""
    written: str
    """The element as written."""
    root: str
    names: frozenset[str]
    """What the loop's head and the element's place depend on."""


@dataclass(frozen=True, slots=True)
class Exponentials:
    """`for (…) { sum += expf(x[i] - m); }`, with or without keeping each exponential."""

    loop: Loop
    sum: str
    function: str
    element: str
    written: str
    maximum: str
    kept: str
    """The element in which an exponential is kept, without blanks; "" when none is."""
    kept_root: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Scaled:
    """`for (…) { out[i] /= sum; }`: edits that put `#` in the place of the element that is read."""

    loop: Loop
    edits: tuple[tuple[Span, str], ...]


def maximum_of(loop: Loop) -> Maximum | None:
    """The loop as one that does nothing but find a maximum of elements."""
    plain = attempt(lambda: _plain(loop))
    if plain is None or isinstance(plain, Refusal) or len(plain.statements) != 1:
        return None
    (statement,) = plain.statements
    assignment, under = statement, None
    if statement.type == "if_statement":
        then = statement.child_by_field_name("consequence")
        inner = statements_of(then)
        if statement.child_by_field_name("alternative") is not None or len(inner) != 1:
            return None
        under = test_of(statement)
        assignment = inner[0]
    target, operator, value = _assigned(assignment)
    if target is None or value is None or operator != "=" or target.type != "identifier":
        return None
    name = text_of(target)
    element: Node | None
    if under is not None:
        sides = (under.child_by_field_name("left"), under.child_by_field_name("right"))
        larger, smaller = sides if operator_of(under) in (">", ">=") else (sides[1], sides[0])
        if under.type != "binary_expression" or operator_of(under) not in (">", ">=", "<", "<="):
            return None
        if text_of(bare(smaller)) != name or plain.meaning(larger) != plain.meaning(value):
            return None
        element = plain.node_of(larger)
    else:
        called = text_of(value.child_by_field_name("function")) if value.type == "call_expression" else ""
        arguments = arguments_of(value)
        others = [a for a in arguments if text_of(a) != name]
        if called not in _MAXIMA or len(arguments) != 2 or len(others) != 1:
            return None
        element = plain.node_of(others[0])
    if element is None or element.type != "subscript_expression":
        return None
    base = field_of(element, "argument")
    if base is None or base.type != "identifier" or name in identifiers_in(element):
        return None
    names = plain.head_names | frozenset(identifiers_in(element) - {loop.counter})
    return Maximum(loop, name, dense(element), text_of(element), text_of(base), names)


def exponentials_of(loop: Loop) -> Exponentials:
    """The loop as one that sums `exp(x - m)`, and may keep each; else what it does besides."""
    line = loop.node.start_point.row + 1
    plain = _plain(loop)
    if plain is None:
        raise Refusal(f"the loop in line {line} does not count from a start to a bound")
    kept: Node | None = None
    total, value = "", None
    for statement in plain.statements:
        target, operator, right = _assigned(statement)
        if (
            target is not None
            and right is not None
            and operator == "="
            and target.type == "subscript_expression"
        ):
            if kept is not None:
                raise Refusal(f"the loop in line {line} writes more than one element")
            kept = target
            plain.stored[dense(target)] = right
        elif target is not None and operator == "+=" and target.type == "identifier" and not total:
            total, value = text_of(target), plain.node_of(right)
        else:
            raise Refusal(
                f"`{text_of(statement).splitlines()[0]}` in line {line} is no part of a sum of exponentials"
            )
    if value is None:
        raise Refusal(f"the loop in line {line} sums nothing; a sum in a later loop is not followed")
    read = _exponential(plain, value)
    if read is None:
        raise Refusal(
            f"the loop in line {line} sums `{text_of(value)}`, not exp of an element less a maximum"
        )
    function, element, maximum = read
    base = field_of(element, "argument")
    if base is None or base.type != "identifier":
        raise Refusal(f"`{text_of(element)}` is not an element of a named pointer")
    names = plain.head_names | frozenset(identifiers_in(element) - {loop.counter})
    kept_root = ""
    if kept is not None:
        if plain.node_of(kept) != value:
            raise Refusal(f"`{text_of(kept)}` in line {line} keeps something else than the exponential")
        names |= frozenset(identifiers_in(kept) - {loop.counter})
        kept_root = text_of(field_of(kept, "argument"))
        indices = kept.child_by_field_name("indices")
        if indices is None or loop.counter not in identifiers_in(indices):
            raise Refusal(f"`{text_of(kept)}` in line {line} is the same element in each round")
    return Exponentials(
        loop, total, function, dense(element), text_of(element), maximum, dense(kept), kept_root, names
    )


def scaled_of(loop: Loop, kept: str) -> Scaled | None:
    """The loop as one that only reads an element, changes it and writes it back."""
    if loop.body is None:
        return None
    statements = statements_of(loop.body)
    target, operator, right = _assigned(statements[0]) if len(statements) == 1 else (None, "", None)
    if target is None or right is None or dense(target) != kept or operator not in ("=", "/=", "*="):
        return None
    reads = [n for n in descendants(right) if n.type == "subscript_expression" and dense(n) == kept]
    assignment = target.parent
    if any(n.parent is not None and n.parent.type == "pointer_expression" for n in reads):
        return None
    if assignment is None or (operator == "=") != bool(reads):
        return None
    if operator == "=":
        return Scaled(loop, tuple((span_of(n), "#") for n in reads))
    factor = text_of(right) if right.type != "binary_expression" else f"({text_of(right)})"
    return Scaled(loop, ((span_of(assignment), f"{text_of(target)} = # {operator[0]} {factor}"),))


@dataclass(slots=True)
class _Plain:
    """A counted loop's statements, its own constants put aside."""

    statements: list[Node]
    local: dict[str, Node]
    """Names that the body declares, and their values."""
    stored: dict[str, Node]
    """Elements that were written before, by their text."""
    head_names: frozenset[str]

    def node_of(self, node: Node | None) -> Node | None:
        """An expression, or what the name or the element that it is stands for."""
        node = bare(node)
        for _ in range(8):
            if node is None:
                break
            if node.type == "identifier" and text_of(node) in self.local:
                node = bare(self.local[text_of(node)])
            elif node.type == "subscript_expression" and dense(node) in self.stored:
                node = bare(self.stored[dense(node)])
            else:
                break
        return node

    def meaning(self, node: Node | None) -> str:
        """The text of what an expression stands for, without blanks."""
        return dense(self.node_of(node))


def _plain(loop: Loop) -> _Plain | None:
    header = loop.node.child_by_field_name("initializer")
    if loop.node.type != "for_statement" or loop.body is None or header is None or not loop.step:
        return None
    if header.type != "declaration" or len(header.children_by_field_name("declarator")) != 1:
        return None
    heads = [header, loop.condition, loop.update]
    for part in heads:
        for node in descendants(part) if part is not None else ():
            called = text_of(node.child_by_field_name("function")) if node.type == "call_expression" else ""
            if called and not _RANKS.fullmatch(called):
                raise Refusal(f"the loop's head calls `{called}`, which may do more than compute")
    statements, local = [], dict[str, Node]()
    for statement in statements_of(loop.body):
        if statement.type != "declaration":
            statements.append(statement)
            continue
        declarators = statement.children_by_field_name("declarator")
        declared = declarators[0] if len(declarators) == 1 else None
        value = declared.child_by_field_name("value") if declared is not None else None
        name = declared.child_by_field_name("declarator") if declared is not None else None
        kind = text_of(statement.child_by_field_name("type"))
        if (
            value is None
            or name is None
            or name.type != "identifier"
            or kind not in ("float", "double", "auto")
        ):
            raise Refusal(f"`{text_of(statement)}` in the loop is not one floating-point value")
        local[text_of(name)] = value
    names = {n for part in heads if part is not None for n in identifiers_in(part)} - {loop.counter}
    return _Plain(statements, local, {}, frozenset(names - {"threadIdx", "blockIdx", "blockDim", "gridDim"}))


def _exponential(plain: _Plain, value: Node) -> tuple[str, Node, str] | None:
    """Function, element and maximum of `expf(x[i] - m)`."""
    function = text_of(value.child_by_field_name("function")) if value.type == "call_expression" else ""
    arguments = arguments_of(value)
    if function not in _EXPONENTIALS or len(arguments) != 1:
        return None
    difference = plain.node_of(arguments[0])
    if difference is None or difference.type != "binary_expression" or operator_of(difference) != "-":
        return None
    element = plain.node_of(difference.child_by_field_name("left"))
    maximum = field_of(difference, "right")
    if (
        element is None
        or element.type != "subscript_expression"
        or maximum is None
        or maximum.type != "identifier"
    ):
        return None
    return function, element, text_of(maximum)


def _assigned(statement: Node) -> tuple[Node | None, str, Node | None]:
    """Target, operator and value of a statement that assigns."""
    inner = (
        statement.named_children[0]
        if statement.type == "expression_statement" and statement.named_children
        else None
    )
    if inner is None or inner.type != "assignment_expression":
        return None, "", None
    return (
        field_of(inner, "left"),
        operator_of(inner),
        field_of(inner, "right"),
    )
