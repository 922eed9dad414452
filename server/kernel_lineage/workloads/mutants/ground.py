"""What mutations are made on: the syntax of a kernel and of the device functions that it reaches, in both languages.

Both languages are read as tree-sitter nodes. A place is either about *where* (an index, an address, a loop's head) or
about *what* (a value): a wrong stride is no wrong term. What flows into an address is found by following names back
through their assignments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from tree_sitter import Node, Parser

from kernel_gate.reaching import reachable
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton import grammar

_ASSIGNMENTS = frozenset({"assignment_expression", "init_declarator", "assignment", "augmented_assignment"})
_LOOPS = frozenset({"for_statement", "while_statement", "do_statement"})
_NEVER_MUTATED = frozenset({"comment", "string", "string_literal", "preproc_call", "attribute_declaration",
                            "launch_bounds", "gnu_asm_expression", "static_assert_declaration"})  # fmt: skip
_MEMORY_CALLS = frozenset(
    {"load", "store", "atomic_add", "atomic_max", "atomic_min", "make_block_ptr", "advance"}
)


@dataclass(frozen=True, slots=True)
class Ground:
    """One kernel to be mutated."""

    kernel: Kernel
    data: bytes = field(repr=False)
    units: tuple[Node, ...]
    """The kernel's function and the device functions that it reaches, in the order of the text."""
    nodes: tuple[Node, ...] = field(repr=False)
    """Every node of them in the order of the text; comments, strings and directives left out."""
    addresses: frozenset[str] = frozenset()
    """The names that flow into an address, a mask or a loop's head."""
    pointers: frozenset[str] = frozenset()
    """The names of pointers; CUDA only."""
    values: frozenset[int] = field(default=frozenset(), repr=False)
    """The ids of the nodes that compute values."""
    places: frozenset[int] = field(default=frozenset(), repr=False)
    """The ids of the nodes that are part of an index or an address."""

    @property
    def cuda(self) -> bool:
        """Whether it is CUDA C++, else Triton."""
        return self.kernel.language is Language.CUDA

    def of(self, *types: str) -> Iterator[Node]:
        """The nodes of these types."""
        return (n for n in self.nodes if n.type in types)

    def is_value(self, node: Node) -> bool:
        """Whether a node computes a value that the kernel gives, not a place or a condition of a loop."""
        return node.id in self.values and not (self.cuda and _adds_to(node, self.pointers))

    def is_address(self, node: Node) -> bool:
        """Whether a node is part of an index or an address, masks and loop heads aside."""
        return node.id in self.places


def ground_of(kernel: Kernel) -> Ground | None:
    """The ground of a kernel; None when its file was not kept or it does not parse completely."""
    source = kernel.source
    if source is None:
        return None
    root = source.root if kernel.language is Language.CUDA else Parser(grammar()).parse(source.data).root_node
    spans = [f.span for f in source.device_functions if f.name in kernel.device_functions]
    units: list[Node] = []
    for start, end in sorted([(kernel.span.start, kernel.span.end), *((s.start, s.end) for s in spans)]):
        if kernel.language is Language.CUDA and start == kernel.span.start:
            node = kernel.node
        else:
            node = root.descendant_for_byte_range(start, end) if root is not None else None
        if node is None:
            continue
        if node.has_error:
            return None
        units.append(node)
    nodes = tuple(n for unit in units for n in _below(unit))
    pointers = frozenset(_pointers(nodes)) if kernel.language is Language.CUDA else frozenset[str]()
    addresses = _addresses(nodes, pointers)
    values: set[int] = set()
    places: set[int] = set()
    for unit in units:
        _sort(unit, _Role.VALUE, addresses, pointers, values, places)
    return Ground(
        kernel, source.data, tuple(units), nodes, addresses, pointers, frozenset(values), frozenset(places)
    )


class _Role(Enum):
    """What a part of a kernel is for."""

    VALUE = auto()
    PLACE = auto()
    CONTROL = auto()
    """A loop's head or a mask."""


def _sort(
    node: Node,
    role: _Role,
    addresses: frozenset[str],
    pointers: frozenset[str],
    values: set[int],
    places: set[int],
) -> None:
    """Sort a node and all below it into values and places. What is read through an address is a place throughout."""
    if role is _Role.VALUE:
        values.add(node.id)
    elif role is _Role.PLACE:
        places.add(node.id)
    for child in node.named_children:
        inner = role
        if (
            node.type in _LOOPS and child.type != "block" and child != node.child_by_field_name("body")
        ) or _is_mask(node):
            inner = _Role.CONTROL
        elif role is _Role.VALUE and _locates(node, child, addresses, pointers):
            inner = _Role.PLACE
        _sort(child, inner, addresses, pointers, values, places)


def _locates(outer: Node, inner: Node, addresses: frozenset[str], pointers: frozenset[str]) -> bool:
    """Whether `inner` is the part of `outer` that says where."""
    if outer.type in ("subscript_expression", "subscript"):
        return inner != outer.child_by_field_name("argument") and inner != outer.child_by_field_name("value")
    if outer.type in ("array_declarator", "type", "typed_parameter", "template_argument_list"):
        return True
    if outer.type in _ASSIGNMENTS:
        return target_of(outer) in addresses
    if outer.type == "binary_expression":
        return _adds_to(outer, pointers)
    return outer.type == "argument_list" and _is_address_argument(inner)


def _below(node: Node) -> Iterator[Node]:
    if node.type in _NEVER_MUTATED:
        return
    yield node
    for child in node.children:
        yield from _below(child)


def names_in(node: Node) -> set[str]:
    """The names that a piece of code uses."""
    return {text_of(n) for n in _below(node) if n.type == "identifier"}


def target_of(assignment: Node) -> str:
    """The name that an assignment or a declaration gives a value to; "" for an element or a member."""
    left = assignment.child_by_field_name("left") or assignment.child_by_field_name("declarator")
    while left is not None and left.type in ("pointer_declarator", "reference_declarator"):
        left = left.child_by_field_name("declarator") or (
            left.named_children[-1] if left.named_children else None
        )
    return text_of(left) if left is not None and left.type == "identifier" else ""


def value_of(assignment: Node) -> Node | None:
    """The value of an assignment or a declaration."""
    return assignment.child_by_field_name("right") or assignment.child_by_field_name("value")


def _pointers(nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        if node.type in ("pointer_declarator", "array_declarator"):
            inner: Node | None = node
            while inner is not None and inner.type.endswith("declarator"):
                inner = inner.child_by_field_name("declarator") or next(
                    (c for c in inner.named_children if c.type == "identifier"), None
                )
            if inner is not None:
                yield text_of(inner)


def _addresses(nodes: Iterable[Node], pointers: frozenset[str]) -> frozenset[str]:
    """Names in indices, addresses, masks and loop heads, and the names that those are computed from."""
    nodes = tuple(nodes)
    names = set(pointers)
    flows: dict[str, set[str]] = {}
    for node in nodes:
        if node.type == "subscript_expression":
            listed = node.child_by_field_name("indices")
            names |= names_in(listed) if listed is not None else set()
        elif node.type in _LOOPS:
            body = node.child_by_field_name("body")
            for child in node.named_children:
                names |= names_in(child) if child != body else set()
        elif _is_address_argument(node) or _is_mask(node):
            names |= names_in(node)
        elif (
            node.type in _ASSIGNMENTS and (name := target_of(node)) and (value := value_of(node)) is not None
        ):
            flows.setdefault(name, set()).update(_plain_names(value))
    return frozenset(reachable(names, lambda name: flows.get(name, ())))


def _plain_names(value: Node) -> set[str]:
    """Names of an expression outside of what it loads: `float m = x[i]` does not make `m` an address."""
    if value.type in ("call_expression", "call") and _called(value) not in (
        "min",
        "max",
        "minimum",
        "arange",
        "cdiv",
    ):
        return set()
    if value.type == "identifier":
        return {text_of(value)}
    return {name for child in value.named_children for name in _plain_names(child)}


def _called(call: Node) -> str:
    return text_of(call.child_by_field_name("function")).rpartition(".")[2].rpartition("::")[2]


def _is_address_argument(node: Node) -> bool:
    """Whether a node is the first argument of `tl.load`, `tl.store` and their kin."""
    listed = node.parent
    if (
        listed is None
        or listed.type != "argument_list"
        or listed.parent is None
        or listed.parent.type != "call"
    ):
        return False
    first = listed.named_children[0] if listed.named_children else None
    return node == first and _called(listed.parent) in _MEMORY_CALLS


def _is_mask(node: Node) -> bool:
    return node.type == "keyword_argument" and text_of(node.child_by_field_name("name")) == "mask"


def _adds_to(node: Node, pointers: frozenset[str]) -> bool:
    """Whether a node is address arithmetic: a sum with a pointer in it that is not read through."""
    if node.type != "binary_expression" or text_of(node.child_by_field_name("operator")) not in ("+", "-"):
        return False
    waiting = list(node.named_children)
    while waiting:
        here = waiting.pop()
        if here.type == "identifier" and text_of(here) in pointers:
            return True
        if here.type in ("binary_expression", "parenthesized_expression"):
            waiting += here.named_children
    return False
