"""The syntax of one CUDA C++ kernel, indexed once: what every detector and anchor pattern reads.

A kernel and the device functions that it reaches are its *units*. One tree-sitter query per unit collects the nodes
of interest by type, so that forty detectors share one walk. Only the syntax tree is read: a `float4` in a comment or
a string is not a node of interest. Broken code gives fewer nodes, never an exception.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

import tree_sitter_cuda
from tree_sitter import Language as Grammar
from tree_sitter import Node, Query, QueryCursor

from kernel_lineage.kernels.source import Kernel, Language, Span

_TYPES_OF_INTEREST = (
    "alias_declaration",
    "array_declarator",
    "assignment_expression",
    "binary_expression",
    "call_expression",
    "cast_expression",
    "compound_statement",
    "compound_literal_expression",
    "conditional_expression",
    "declaration",
    "do_statement",
    "for_statement",
    "gnu_asm_expression",
    "if_statement",
    "init_declarator",
    "parameter_declaration",
    "pointer_expression",
    "preproc_call",
    "return_statement",
    "static_assert_declaration",
    "subscript_expression",
    "template_type",
    "type_identifier",
    "update_expression",
    "while_statement",
)


@cache
def _query() -> Query:
    pattern = "\n".join(f"({name}) @{name}" for name in _TYPES_OF_INTEREST)
    return Query(Grammar(tree_sitter_cuda.language()), pattern)


def text_of(node: Node | None) -> str:
    """The source text of a node; "" for None."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def span_of(node: Node) -> Span:
    """The span of a node."""
    return Span(node.start_byte, node.end_byte, node.start_point[0] + 1, node.end_point[0] + 1)


def contains(outer: Node, inner: Node) -> bool:
    """Whether `inner` lies within `outer` (also when they are the same)."""
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def operator_of(node: Node) -> str:
    """The operator of a unary, binary, assignment or update expression."""
    operator = node.child_by_field_name("operator")
    return operator.type if operator is not None else ""


def bare(node: Node | None) -> Node | None:
    """The expression without the parentheses around it."""
    while node is not None and node.type == "parenthesized_expression":
        node = node.named_children[0] if node.named_children else None
    return node


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


def _read_call(node: Node) -> Call:
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
    listed = node.child_by_field_name("arguments")
    arguments = tuple(a for a in listed.named_children if a.type != "comment") if listed is not None else ()
    return Call(name, scope + name, receiver, template, node, arguments)


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


def _declarators(declaration: Node) -> Iterator[tuple[str, Node | None, tuple[Node, ...], bool]]:
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


def _read_loop(node: Node) -> Loop:
    body = node.child_by_field_name("body")
    condition = node.child_by_field_name("condition")
    if condition is not None and condition.type == "condition_clause":
        condition = condition.child_by_field_name("value")
    if node.type != "for_statement":
        return Loop(node, "", None, condition, None, body)
    initializer, update = node.child_by_field_name("initializer"), node.child_by_field_name("update")
    counter, start = "", None
    if initializer is not None and initializer.type == "declaration":
        for name, value, _, _ in _declarators(initializer):
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


@dataclass
class Unit:
    """One function of a kernel: the kernel itself (`entry`) or a device function that it reaches."""

    name: str
    node: Node
    entry: bool
    kernel: Kernel
    nodes: dict[str, list[Node]] = field(repr=False)
    derived: dict[str, object] = field(default_factory=dict, repr=False)
    """What other modules worked out of this unit, kept with it."""

    def of(self, kind: str) -> Sequence[Node]:
        """The nodes of a type, in the order of the text."""
        return self.nodes.get(kind, ())

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Every call."""
        return tuple(_read_call(node) for node in self.of("call_expression"))

    @cached_property
    def calls_by_name(self) -> dict[str, list[Call]]:
        """Every call, by the last part of its name."""
        by_name: dict[str, list[Call]] = {}
        for call in self.calls:
            by_name.setdefault(call.name, []).append(call)
        return by_name

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Every declared variable, parameters aside."""
        found = []
        for node in self.of("declaration"):
            kind = text_of(node.child_by_field_name("type"))
            shared = any(c.type == "__shared__" or text_of(c) == "__shared__" for c in node.children[:4])
            found += [
                Variable(name, kind, node, value, sizes, pointer, shared)
                for name, value, sizes, pointer in _declarators(node)
            ]
        return tuple(found)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the function's parameters in their order; "" for one without a name."""
        nodes = sorted(self.of("parameter_declaration"), key=lambda node: node.start_byte)
        # Those of a template stand in a list of their own, those of a lambda come later.
        lists = [n.parent for n in nodes if n.parent is not None and n.parent.type == "parameter_list"]
        own = [node for node in nodes if node.parent == lists[0]] if lists else []
        return tuple(next((name for name, *_ in _declarators(node)), "") for node in own)

    @property
    def pointer_parameters(self) -> tuple[str, ...]:
        """The names of the function's parameters that are pointers or arrays."""
        return tuple(
            name
            for node in self.of("parameter_declaration")
            for name, _, sizes, pointer in _declarators(node)
            if pointer or sizes
        )

    @property
    def shared_variables(self) -> tuple[Variable, ...]:
        """The arrays and scalars that are declared `__shared__`."""
        return tuple(variable for variable in self.variables if variable.shared)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """Every loop, outer before inner."""
        nodes = [*self.of("for_statement"), *self.of("while_statement"), *self.of("do_statement")]
        return tuple(_read_loop(node) for node in sorted(nodes, key=lambda n: (n.start_byte, -n.end_byte)))

    def loops_around(self, node: Node) -> tuple[Loop, ...]:
        """The loops that contain a node, outermost first; a loop's own head counts as inside."""
        return tuple(loop for loop in self.loops if contains(loop.node, node) and loop.node != node)

    @cached_property
    def operations(self) -> dict[str, list[Node]]:
        """The binary expressions, by operator."""
        by_operator: dict[str, list[Node]] = {}
        for node in self.of("binary_expression"):
            by_operator.setdefault(operator_of(node), []).append(node)
        return by_operator

    def operations_in(self, node: Node, operator: str) -> Iterator[Node]:
        """The binary expressions of an operator within a node."""
        return (n for n in self.operations.get(operator, ()) if contains(node, n))

    @cached_property
    def directives(self) -> tuple[tuple[str, Node], ...]:
        """The `#pragma` lines: their text after the word, and the node."""
        return tuple(
            (text_of(node.child_by_field_name("argument")).strip(), node)
            for node in self.of("preproc_call")
            if text_of(node.child_by_field_name("directive")) == "#pragma"
        )

    @cached_property
    def assembly(self) -> tuple[tuple[str, Node], ...]:
        """Inline PTX: the instruction text and the node."""
        return tuple(
            (text_of(n.child_by_field_name("assembly_code")), n) for n in self.of("gnu_asm_expression")
        )


@dataclass
class CudaSyntax:
    """All units of one kernel, the kernel first."""

    kernel: Kernel
    units: tuple[Unit, ...]

    @property
    def entry(self) -> Unit:
        """The kernel itself."""
        return self.units[0]

    def calls(self, *names: str) -> Iterator[Call]:
        """The calls of these names in all units."""
        for unit in self.units:
            for name in names:
                yield from unit.calls_by_name.get(name, ())


def _unit(name: str, node: Node, entry: bool, kernel: Kernel, within: Span) -> Unit:
    """A unit of a node. Around broken code a node can be larger than the function: what lies outside is left out."""
    cursor = QueryCursor(_query())
    cursor.set_byte_range(within.start, within.end)
    nodes = cursor.captures(node)
    if node.start_byte < within.start or node.end_byte > within.end:
        nodes = {
            kind: [n for n in found if within.start <= n.start_byte and n.end_byte <= within.end]
            for kind, found in nodes.items()
        }
    return Unit(name, node, entry, kernel, nodes)


def _read(kernel: Kernel) -> CudaSyntax | None:
    if kernel.node is None or kernel.language is not Language.CUDA:
        return None
    units = [_unit(kernel.name, kernel.node, True, kernel, kernel.span)]
    source = kernel.source
    if source is not None and source.root is not None:
        for function in source.device_functions:
            if function.name in kernel.device_functions:
                node = source.root.descendant_for_byte_range(function.span.start, function.span.end)
                if node is not None:
                    units.append(_unit(function.name, node, False, kernel, function.span))
    return CudaSyntax(kernel, tuple(units))


_latest: tuple[Kernel, CudaSyntax | None] | None = None


def cuda_syntax(kernel: Kernel) -> CudaSyntax | None:
    """The indexed syntax of a kernel; None when the kernel has no CUDA syntax tree.

    The latest kernel's is kept, because all detectors run on one kernel after the other.
    """
    global _latest
    latest = _latest
    if latest is not None and latest[0] is kernel:
        return latest[1]
    syntax = _read(kernel)
    _latest = (kernel, syntax)
    return syntax
