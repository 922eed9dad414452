"""The operations of a kernel that mutations change, the same for both languages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground, names_in, target_of, value_of

COMPARISONS = frozenset({"<", "<=", ">", ">="})


@dataclass(frozen=True, slots=True)
class Binary:
    """`left operator right`."""

    node: Node
    left: Node
    operator: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A call; `name` is the last part of what is called."""

    node: Node
    name: str
    qualified: str
    arguments: tuple[Node, ...]
    """Positional ones."""
    keywords: dict[str, Node]
    """Whole `name=value` nodes, by name."""


@dataclass(frozen=True, slots=True)
class Store:
    """A value that is written to memory which the caller sees."""

    node: Node
    target: Node
    value: Node
    zero: str
    """The same written value, but zero."""


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A loop that counts up to a bound."""

    node: Node
    counter: str
    bound: Node
    step: str
    """As written; "1" when it counts by one."""
    body: Node


def binaries(ground: Ground, *operators: str) -> Iterator[Binary]:
    """The binary expressions of these operators."""
    for node in ground.of("binary_expression", "binary_operator", "comparison_operator"):
        if node.type == "comparison_operator":
            parts = node.children
            if len(parts) == 3 and parts[1].type in operators:
                yield Binary(node, parts[0], parts[1], parts[2])
            continue
        left, operator, right = (node.child_by_field_name(n) for n in ("left", "operator", "right"))
        # A comparison that is a whole statement is a declaration, misread: `tile<32> warp = …`.
        statement = node.parent
        if statement is not None and statement.type == "assignment_expression":
            # The whole of `tile<32> warp = …` is read as an assignment to a comparison.
            statement = statement.parent if statement.child_by_field_name("left") == node else None
        misread = statement is not None and statement.type == "expression_statement"
        if left is None or operator is None or right is None or misread:
            continue
        if text_of(operator) in operators:
            yield Binary(node, left, operator, right)


def calls(ground: Ground, *names: str) -> Iterator[Call]:
    """The calls, of these names or of all."""
    for node in ground.of("call_expression", "call"):
        call = read_call(node)
        if call is not None and (not names or call.name in names):
            yield call


def read_call(node: Node) -> Call | None:
    """What a node of a call says."""
    function, listed = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or listed is None:
        return None
    qualified = text_of(function)
    name = qualified.split("<")[0].rpartition(".")[2].rpartition("::")[2]
    arguments = [c for c in listed.named_children if c.type != "comment"]
    keywords = {text_of(c.child_by_field_name("name")): c for c in arguments if c.type == "keyword_argument"}
    positional = tuple(c for c in arguments if c.type not in ("keyword_argument", "list_splat"))
    return Call(node, name, qualified, positional, keywords)


def accumulations(ground: Ground) -> Iterator[tuple[Node, Node, Node]]:
    """`target += term` and `target = target + term` of values: the assignment, its target and the term."""
    for node in ground.of("assignment_expression", "assignment", "augmented_assignment"):
        left, right = node.child_by_field_name("left"), bare(value_of(node))
        operator = node.child_by_field_name("operator")
        if left is None or right is None or target_of(node) in ground.addresses or not ground.is_value(right):
            continue
        if operator is not None and operator.type == "+=":
            yield node, left, right
        elif right.type in ("binary_expression", "binary_operator"):
            first, second = right.child_by_field_name("left"), right.child_by_field_name("right")
            plus = right.child_by_field_name("operator")
            if (
                plus is not None
                and plus.type == "+"
                and second is not None
                and text_of(first) == text_of(left)
            ):
                yield node, left, second


def stores(ground: Ground) -> Iterator[Store]:
    """The writes to memory which the caller sees."""
    if not ground.cuda:
        for call in calls(ground, "store", "atomic_add"):
            value = call.arguments[1] if len(call.arguments) > 1 else None
            if value is None and "value" in call.keywords:
                value = call.keywords["value"].child_by_field_name("value")
            if value is not None:
                yield Store(call.node, call.node, value, f"({text_of(value)}) * 0")
        return
    outputs = _written_pointers(ground)
    for node in ground.of("assignment_expression", "call_expression"):
        if node.type == "call_expression":
            written = read_call(node)
            if written is None or len(written.arguments) != 2:
                continue
            target, value = written.arguments
            if written.name.startswith(("atomic", "__st", "store")) and names_in(target) & set(outputs):
                yield Store(node, target, value, f"decltype({text_of(value)})()")
            continue
        left, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        root = _root_of(left)
        if left is not None and value is not None and root in outputs:
            kind = _cast_type(left) or outputs[root]
            zero = {"float": "0.0f", "double": "0.0", "int": "0"}.get(kind, f"{kind}()")
            yield Store(node, left, value, zero)


def _written_pointers(ground: Ground) -> dict[str, str]:
    """The pointers to global memory by name, with the type that they point to: parameters and pointers made of them."""
    pointers: dict[str, str] = {}
    for node in ground.of("parameter_declaration", "declaration"):
        kind = text_of(node.child_by_field_name("type"))
        shared = any(text_of(c) in ("__shared__", "__constant__") for c in node.children[:4])
        for declarator in node.children_by_field_name("declarator"):
            value = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
            inner = declarator.child_by_field_name("declarator") if value is not None else declarator
            if inner is None or inner.type != "pointer_declarator" or shared:
                continue
            names = [text_of(n) for n in inner.named_children if n.type == "identifier"]
            names = names or sorted(names_in(inner))
            if value is None or names_in(value) & set(pointers):
                pointers.update(dict.fromkeys(names, kind))
    return pointers


def _root_of(node: Node | None) -> str:
    """The name at the start of `p[i]`, `*p`, `*(p + i)`, `((float4*)p)[i]` and `reinterpret_cast<float4*>(p)[i]`."""
    if node is None or node.type not in ("subscript_expression", "pointer_expression", "field_expression"):
        return ""
    inner: Node | None = node.child_by_field_name("argument")
    while inner is not None and inner.type != "identifier":
        if inner.type == "call_expression":
            listed = inner.child_by_field_name("arguments")
            inner = listed.named_children[0] if listed is not None and listed.named_children else None
        elif inner.type == "cast_expression":
            inner = inner.child_by_field_name("value")
        else:
            inner = (
                inner.child_by_field_name("argument")
                or inner.child_by_field_name("left")
                or (inner.named_children[0] if inner.named_children else None)
            )
    return text_of(inner)


def _cast_type(node: Node) -> str:
    """`float4` for a store through a cast to `float4*`; a member of one (`.x`) is a float."""
    argument = bare(node.child_by_field_name("argument"))
    if argument is None:
        return ""
    if argument.type == "cast_expression":
        described = argument.child_by_field_name("type")
        return text_of(described.child_by_field_name("type")) if described is not None else ""
    if argument.type == "call_expression":
        function = text_of(argument.child_by_field_name("function"))
        return function.partition("<")[2].rpartition("*")[0].strip() if "_cast<" in function else ""
    return ""


def counted_loops(ground: Ground) -> Iterator[CountedLoop]:
    """`for (…; i < bound; i += step)` and `for i in range(start, bound, step)`."""
    for node in ground.of("for_statement"):
        body = node.child_by_field_name("body")
        if body is None:
            continue
        if not ground.cuda:
            yield from _range_loop(node, body)
            continue
        condition, update = node.child_by_field_name("condition"), node.child_by_field_name("update")
        if condition is None or update is None or condition.type != "binary_expression":
            continue
        counter, bound = condition.child_by_field_name("left"), condition.child_by_field_name("right")
        operator = condition.child_by_field_name("operator")
        if counter is None or bound is None or text_of(operator) != "<":
            continue
        if update.type == "update_expression" and text_of(counter) in text_of(update):
            step = "1"
        elif update.type == "assignment_expression" and "+=" in text_of(update):
            step = text_of(update.child_by_field_name("right"))
        else:
            continue
        yield CountedLoop(node, text_of(counter), bound, step, body)


def _range_loop(node: Node, body: Node) -> Iterator[CountedLoop]:
    counter, over = node.child_by_field_name("left"), node.child_by_field_name("right")
    if (
        over is None
        or over.type != "call"
        or not text_of(over.child_by_field_name("function")).endswith("range")
    ):
        return
    listed = over.child_by_field_name("arguments")
    arguments = (
        [c for c in listed.named_children if c.type != "keyword_argument"] if listed is not None else []
    )
    if not arguments:
        return
    bound = arguments[1] if len(arguments) > 1 else arguments[0]
    yield CountedLoop(
        node, text_of(counter), bound, text_of(arguments[2]) if len(arguments) > 2 else "1", body
    )


def swap(first: Node, second: Node) -> tuple[Edit, ...]:
    """Each in the other's place."""
    return replace_node(first, text_of(second)), replace_node(second, text_of(first))


def enclosed(node: Node) -> str:
    """The text of an expression, in parentheses unless it is one word or a call."""
    text = text_of(node)
    simple = ("identifier", "number_literal", "integer", "float", "call", "call_expression", "parenthesized_expression",
              "subscript_expression", "subscript", "attribute", "field_expression")  # fmt: skip
    return text if node.type in simple else f"({text})"
