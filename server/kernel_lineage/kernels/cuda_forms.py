"""What one node of a CUDA C++ syntax tree says: its text and span, a call, a declared name, a loop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.source import Span

_QUALIFIED = re.compile(r"[A-Za-z_]\w*(?:\s*::\s*\w+)*")
_TYPE_BY_NAME = re.compile(
    r"(?:.*\W)?(?:\w+_t|T\w?|void|bool|char|short|int|long|float|double|half|unsigned|signed|u?int)"
)


def text_of(node: Node | None) -> str:
    """The source text of a node; "" for None. A name in brackets that is one node (`cuda_trees`) is without them."""
    if node is None:
        return ""
    text = (node.text or b"").decode("utf-8", "replace")
    return text[1:-1].strip() if text.startswith("(") and node.type == "identifier" else text


def span_of(node: Node) -> Span:
    """The span of a node."""
    return Span(node.start_byte, node.end_byte, node.start_point[0] + 1, node.end_point[0] + 1)


def contains(outer: Node, inner: Node) -> bool:
    """Whether `inner` lies within `outer` (also when they are the same)."""
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def above(node: Node) -> Iterator[Node]:
    """The nodes around a node, the nearest first."""
    around = node.parent
    while around is not None:
        yield around
        around = around.parent


def inside(node: Node) -> Iterator[Node]:
    """A node and all named ones in it, in the order of the text."""
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        yield inner
        waiting += reversed(inner.named_children)


def uses_of(node: Node, name: str) -> list[Node]:
    """Where a name stands in a piece of code, in order."""
    return [n for n in inside(node) if n.type == "identifier" and text_of(n) == name]


def operator_of(node: Node) -> str:
    """The operator of a unary, binary, assignment or update expression."""
    operator = node.child_by_field_name("operator")
    return text_of(operator)


def bare(node: Node | None) -> Node | None:
    """The expression without the parentheses around it."""
    while node is not None and node.type == "parenthesized_expression":
        node = node.named_children[0] if node.named_children else None
    return node


def field_of(node: Node | None, name: str) -> Node | None:
    """A named part of a node without the parentheses around it; None where there is no such part, or no node."""
    return bare(node.child_by_field_name(name)) if node is not None else None


def sign_of_two(cast: Node) -> str:
    """The sign of what reads like a cast to a name, and is a product or a sum where that is a value: `*` of `(a) * b`.

    "" for a cast that can only be one, and to what is a type by its name.
    """
    written, value = text_of(cast.child_by_field_name("type")).strip(), cast.child_by_field_name("value")
    if value is None or value.type not in ("unary_expression", "pointer_expression"):
        return ""
    if _TYPE_BY_NAME.fullmatch(written) or not _QUALIFIED.fullmatch(written):
        return ""
    sign, inner = operator_of(value), value.child_by_field_name("argument")
    if (
        sign == "&"
        and inner is not None
        and inner.start_byte == value.start_byte + 1
        and operator_of(inner) == "&"
    ):
        return "&&"
    return sign if sign in ("+", "-", "*", "&", "&&") else ""


def changed_by(node: Node, *, addressed: bool = False) -> str:
    """The variable that a node gives another value, as a whole or a member of it: one that it assigns or counts.

    `addressed`: or hands out the address of. "" for any other node, and where an element or what a pointer points to
    is changed.
    """
    handed_out = addressed and node.type == "pointer_expression" and operator_of(node) == "&"
    if not handed_out and node.type not in ("assignment_expression", "update_expression"):
        return ""
    return variable_of(field_of(node, "left") or field_of(node, "argument"))


def variable_of(value: Node | None) -> str:
    """The variable that an expression is, or is a member of; "" for anything else."""
    value = bare(value)
    while value is not None and value.type == "field_expression":
        value = field_of(value, "argument")
    return text_of(value) if value is not None and value.type == "identifier" else ""


def is_function(node: Node) -> bool:
    """Whether a name is that of what is called."""
    parent = node.parent
    return (
        parent is not None
        and parent.type == "call_expression"
        and parent.child_by_field_name("function") == node
    )


def test_of(statement: Node | None) -> Node | None:
    """What an `if` or a loop tests, without the parentheses around it."""
    condition = field_of(statement, "condition")
    return (
        field_of(condition, "value")
        if condition is not None and condition.type == "condition_clause"
        else condition
    )


def arguments_of(call: Node | None) -> tuple[Node, ...]:
    """The arguments of a call; none for any other node."""
    listed = call.child_by_field_name("arguments") if call is not None else None
    return tuple(a for a in listed.named_children if a.type != "comment") if listed is not None else ()


@dataclass(frozen=True, slots=True)
class Call:
    """A call: `cg::reduce(warp, x)` has name `reduce`, `warp.shfl(x, 0)` name `shfl` and receiver `warp`."""

    name: str
    qualified: str
    """As written, without template arguments."""
    receiver: str
    template: str
    """The template arguments as written, without the angle brackets."""
    node: Node
    arguments: tuple[Node, ...]


def read_call(node: Node) -> Call:
    """A call expression's parts."""
    function = bare(node.child_by_field_name("function"))
    receiver = template = scope = ""
    while function is not None:
        if function.type == "template_function":
            template = text_of(function.child_by_field_name("arguments"))[1:-1].strip()
            function = function.child_by_field_name("name")
        elif function.type == "qualified_identifier":
            scope += text_of(function.child_by_field_name("scope")) + "::"
            function = function.child_by_field_name("name")
        elif function.type == "field_expression":
            receiver = text_of(function.child_by_field_name("argument"))
            function = function.child_by_field_name("field")
        elif function.type in ("template_method", "dependent_name"):
            function = function.child_by_field_name("name") or next(iter(function.named_children), None)
        else:
            break
    name = text_of(function)
    return Call(name, scope + name, receiver, template, node, arguments_of(node))


@dataclass(frozen=True, slots=True)
class Variable:
    """One declared name: `__shared__ float tile[32][33]` has type `float`, sizes of two, and is shared."""

    name: str
    type: str
    node: Node
    """The declaration."""
    value: Node | None
    sizes: tuple[Node, ...]
    pointer: bool
    shared: bool

    @property
    def start(self) -> int:
        """Where the declaration starts, in bytes."""
        return self.node.start_byte


def within_declarator(node: Node) -> Node | None:
    """What a declarator is around: `f(int)` in `*f(int)`, or a name."""
    return node.child_by_field_name("declarator") or next(
        (c for c in node.named_children if c.type.endswith(("declarator", "identifier"))), None
    )


def declarators(declaration: Node) -> Iterator[tuple[str, Node | None, tuple[Node, ...], bool]]:
    """Each name that a declaration declares: the name, its value, its sizes, whether it is a pointer."""
    for declarator in declaration.children_by_field_name("declarator"):
        value: Node | None = None
        node: Node | None = declarator
        sizes: list[Node] = []
        pointer = False
        while node is not None and node.type not in ("identifier", "function_declarator"):
            if node.type == "init_declarator":
                value = node.child_by_field_name("value")
            elif node.type == "array_declarator":
                size = node.child_by_field_name("size")
                sizes.insert(0, size if size is not None else node)
            elif node.type in ("pointer_declarator", "reference_declarator"):
                pointer = pointer or node.type == "pointer_declarator"
            inner = node.child_by_field_name("declarator")
            if inner is None:
                inner = next(
                    (c for c in node.named_children if c.type.endswith(("declarator", "identifier"))), None
                )
            node = inner
        if node is not None and node.type == "identifier":
            yield text_of(node), value, tuple(sizes), pointer


@dataclass(frozen=True, slots=True)
class Loop:
    """A `for`, `while` or `do` loop. The counter's fields are empty for loops that count nothing."""

    node: Node
    counter: str
    start: Node | None
    condition: Node | None
    update: Node | None
    body: Node | None

    @property
    def step(self) -> str:
        """The step as written: `1` for `++`, `-1` for `--`, the text after `+=`, `/2` or `>>1` for a halving loop."""
        update = self.update
        if update is None:
            return ""
        if update.type == "update_expression":
            return "1" if operator_of(update) == "++" else "-1"
        if update.type == "assignment_expression":
            amount = text_of(update.child_by_field_name("right"))
            match operator_of(update):
                case "+=":
                    return amount
                case "-=":
                    return "-" + amount
                case "/=" | ">>=" | "*=" | "<<=" as operator:
                    return operator[:-1] + amount
                case "=":
                    value = bare(update.child_by_field_name("right"))
                    if value is not None and value.type == "binary_expression":
                        kept, right = (
                            value.child_by_field_name("left"),
                            text_of(value.child_by_field_name("right")),
                        )
                        if text_of(kept) == text_of(update.child_by_field_name("left")):
                            sign = operator_of(value)
                            return right if sign == "+" else sign + right
        return ""

    @property
    def halves(self) -> bool:
        """Whether the counter is halved in each round: the shape of a tree reduction."""
        return self.step.replace(" ", "") in ("/2", ">>1")

    @property
    def bound(self) -> Node | None:
        """The right side of the condition, `N` in `i < N`."""
        condition = bare(self.condition)
        if condition is None or condition.type != "binary_expression":
            return None
        return condition.child_by_field_name("right")


def read_loop(node: Node) -> Loop:
    """A loop statement's parts."""
    body = node.child_by_field_name("body")
    condition = node.child_by_field_name("condition")
    if condition is not None and condition.type == "condition_clause":
        condition = condition.child_by_field_name("value")
    if node.type != "for_statement":
        return Loop(node, "", None, condition, None, body)
    initializer, update = node.child_by_field_name("initializer"), node.child_by_field_name("update")
    counter, start = "", None
    if initializer is not None and initializer.type == "declaration":
        for name, value, _, _ in declarators(initializer):
            counter, start = name, value
            break
    elif initializer is not None and initializer.type == "assignment_expression":
        counter, start = (
            text_of(initializer.child_by_field_name("left")),
            initializer.child_by_field_name("right"),
        )
    if not counter and update is not None:
        moved = update.child_by_field_name("argument") or update.child_by_field_name("left")
        counter = text_of(moved)
    return Loop(node, counter, start, condition, update, body)
