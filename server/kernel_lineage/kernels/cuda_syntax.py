"""The syntax of one CUDA C++ kernel, indexed once: what every detector and anchor pattern reads.

A kernel and the device functions that it reaches are its *units*. One walk over each unit collects the nodes
of interest by type, for all detectors. Only the syntax tree is read: a `float4` in a comment or
a string is not a node of interest. Broken code gives fewer nodes, never an exception.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import (
    Call,
    Loop,
    Variable,
    contains,
    declarators,
    field_of,
    operator_of,
    read_call,
    read_loop,
    text_of,
)
from kernel_lineage.kernels.cuda_nodes import descendants
from kernel_lineage.kernels.source import Kernel, Language, Span

_TYPES_OF_INTEREST = frozenset(
    (
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
        "type_definition",
        "type_identifier",
        "update_expression",
        "while_statement",
    )
)


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
        return tuple(read_call(node) for node in self.of("call_expression"))

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
        variables = []
        for node in self.of("declaration"):
            kind = text_of(node.child_by_field_name("type"))
            shared = any(c.type == "__shared__" or text_of(c) == "__shared__" for c in node.children[:4])
            variables += [
                Variable(name, kind, node, value, sizes, pointer, shared)
                for name, value, sizes, pointer in declarators(node)
            ]
        return tuple(variables)

    @cached_property
    def _values(self) -> dict[str, list[tuple[int, int, Node]]]:
        """Name → where a value holds from and to, and the value: declarations, and assignments outside loops."""
        values: dict[str, list[tuple[int, int, Node]]] = {}
        written = [(v.name, v.start, v.value) for v in self.variables if v.value is not None]
        declared = {name for name, _, _ in written}
        for node in self.of("assignment_expression"):
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is None or right is None or left.type != "identifier" or operator_of(node) != "=":
                continue
            if text_of(left) not in declared or not self.loops_around(node):
                written.append((text_of(left), node.start_byte, right))
        blocks = self.of("compound_statement")
        for name, start, value in sorted(written, key=lambda w: w[1]):
            ends = (b.end_byte for b in blocks if b.start_byte <= start < b.end_byte)
            values.setdefault(name, []).append((start, min(ends, default=self.node.end_byte), value))
        return values

    def value_of(self, name: str, before: int) -> Node | None:
        """What a variable was given, at its latest declaration above a byte; None when that is not told."""
        values = self._values.get(name)
        if not values:
            return None
        holding = [value for start, end, value in values if start <= before < end]
        return holding[-1] if holding else values[0][2]

    @cached_property
    def values_of_targets(self) -> dict[int, Node | None]:
        """What each assignment gives its target, by the target's id."""
        return {
            left.id: node.child_by_field_name("right")
            for node in self.of("assignment_expression")
            if (left := field_of(node, "left")) is not None
        }

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the function's parameters in their order; "" for one without a name."""
        nodes = sorted(self.of("parameter_declaration"), key=lambda node: node.start_byte)
        # Those of a template stand in a list of their own, those of a lambda come later.
        lists = [n.parent for n in nodes if n.parent is not None and n.parent.type == "parameter_list"]
        own = [node for node in nodes if node.parent == lists[0]] if lists else []
        return tuple(next((name for name, *_ in declarators(node)), "") for node in own)

    @property
    def pointer_parameters(self) -> tuple[str, ...]:
        """The names of the function's parameters that are pointers or arrays."""
        return tuple(
            name
            for node in self.of("parameter_declaration")
            for name, _, sizes, pointer in declarators(node)
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
        return tuple(read_loop(node) for node in sorted(nodes, key=lambda n: (n.start_byte, -n.end_byte)))

    def has_loop_in(self, node: Node) -> bool:
        """Whether a loop stands inside a node that is not the node itself."""
        return any(loop.node != node and contains(node, loop.node) for loop in self.loops)

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


def _unit(name: str, node: Node, entry: bool, kernel: Kernel, within: Span) -> Unit:
    """A unit of a node. Around broken code a node can be larger than the function: what lies outside is left out."""
    nodes: dict[str, list[Node]] = {}
    for inner in descendants(node):
        if (
            inner.type in _TYPES_OF_INTEREST
            and within.start <= inner.start_byte
            and inner.end_byte <= within.end
        ):
            nodes.setdefault(inner.type, []).append(inner)
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
