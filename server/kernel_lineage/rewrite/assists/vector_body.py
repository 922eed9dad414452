"""Whether the work on one element can be done on several at a time, and its text when it is.

The element's code is kept as it is and run once for each of the group, unrolled; only the accesses `p[i]` and
`p[offset + i]` become one wide access before or after it. The widest element type decides how many make a group: its
accesses have 16 bytes, those of narrower types fewer. Whatever does not fit that is a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import (
    arguments_of,
    bare,
    changed_by,
    contains,
    field_of,
    operator_of,
    text_of,
)
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.accumulations import accumulates
from kernel_lineage.rewrite.assists.choices import chosen_in_any_order
from kernel_lineage.rewrite.assists.element_types import BY_BYTES, element_type, record_type
from kernel_lineage.rewrite.assists.element_uses import (
    address_taken,
    is_bound,
    is_for_an_atomic,
    is_written,
    reads_too,
)
from kernel_lineage.rewrite.assists.layout import dedented, descendants, taken_name
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.template_types import type_parameters
from kernel_lineage.rewrite.assists.ways_through import always

_VECTORS = {"float": "float4", "int": "int4", "unsigned int": "uint4", "unsigned": "uint4"}
WIDEST = 16
"""Bytes of the widest access."""
_LEAVES = {"return_statement", "break_statement", "continue_statement", "goto_statement"}
_LOOPS = {"for_statement", "while_statement", "do_statement"}
TOGETHER = re.compile(
    r"__sync|__shfl|__ballot|__any|__all|__reduce|__match|\bsync\b|\bshfl|\breduce\b|\basm\b"
)
"""What waits for other threads, or exchanges values with them."""


def vector(element: str, nbytes: int, lanes: int) -> str:
    """The type that moves so many elements of a type and its bytes in one access."""
    size = lanes * nbytes
    return _VECTORS.get(element, BY_BYTES[size]) if size == WIDEST else BY_BYTES[size]


def group_word(lanes: int) -> str:
    """What a group of so many elements is called in the code."""
    return {2: "pair", 4: "quad"}.get(lanes, "group")


def aligned_to(addresses: Mapping[int, Sequence[str]]) -> list[str]:
    """The tests that addresses, as integers, are multiples of so many bytes."""
    return [
        f"{listed[0] if len(listed) == 1 else '(' + ' | '.join(listed) + ')'} % {size} == 0"
        for size, listed in addresses.items()
    ]


@dataclass(slots=True)
class Access:
    """The accesses of one pointer at one offset, over the element's index."""

    pointer: str
    offset: str
    type: str
    bytes: int
    """Bytes of one element."""
    name: str
    """The group's elements in registers."""
    nodes: list[Node]
    loaded: bool = False
    stored: bool = False
    meant: bool = False
    """Whether the bytes of the type are asked: those of a template's parameter are what the file's launches give it,
    those of a structure what its members tell.
    """

    @property
    def address(self) -> str:
        return f"&{self.pointer}[{self.offset}]" if self.offset else self.pointer

    def vector(self, lanes: int) -> str:
        """The type of one access to a group of elements."""
        return vector(self.type, self.bytes, lanes)


@dataclass(frozen=True, slots=True)
class VectorBody:
    """An element's code that can be run on four elements at a time."""

    accesses: tuple[Access, ...]
    statements: tuple[Node, ...]
    index: str
    uses_index: bool
    assigned_outside: tuple[str, ...]
    """Variables from outside that it changes."""
    apart: bool
    """Whether places that follow the index stay as they are, element by element."""

    @property
    def lanes(self) -> int:
        """How many elements make a group."""
        return WIDEST // max(a.bytes for a in self.accesses)

    @property
    def group(self) -> str:
        """What a group is called in the code."""
        return group_word(self.lanes)

    @property
    def stored(self) -> set[str]:
        """The pointers that wide accesses write through."""
        return {a.pointer for a in self.accesses if a.stored}

    def aligned(self) -> str:
        """The condition under which the wide accesses are allowed, at run time."""
        parts: dict[int, list[str]] = {}
        for a in self.accesses:
            parts.setdefault(self.lanes * a.bytes, []).append(f"reinterpret_cast<size_t>({a.address})")
        sizes = {a.type: a.bytes for a in self.accesses if a.meant}
        return " && ".join(
            [*(f"sizeof({name}) == {nbytes}" for name, nbytes in sizes.items()), *aligned_to(parts)]
        )

    def lines(
        self,
        data: bytes,
        index_type: str,
        quad: str,
        lane: str,
        unit: str,
        also: Sequence[tuple[Node, str]] = (),
    ) -> list[str]:
        """The code for the elements of a group, from lanes * quad on, without outer indentation; `also` stands in the
        place of further nodes.
        """
        lines: list[str] = []
        lanes = self.lanes
        for a in self.accesses:
            lines.append(f"alignas(16) {a.type} {a.name}[{lanes}];")
            if a.loaded:
                vector = a.vector(lanes)
                source = f"reinterpret_cast<const {vector}*>({a.address})[{quad}]"
                lines.append(f"*reinterpret_cast<{vector}*>({a.name}) = {source};")
        lines += ["#pragma unroll", f"for (int {lane} = 0; {lane} < {lanes}; {lane}++) {{"]
        if self.uses_index:
            first = quad if lanes == 1 else f"{lanes} * {quad} + {lane}"
            lines.append(f"{unit}{index_type} {self.index} = {first};")
        changes = [*((n, f"{a.name}[{lane}]") for a in self.accesses for n in a.nodes), *also]
        lines += [unit + line if line else "" for line in dedented(data, self.statements, changes)]
        lines.append("}")
        for a in self.accesses:
            if a.stored:
                vector = a.vector(lanes)
                target = f"reinterpret_cast<{vector}*>({a.address})[{quad}]"
                lines.append(f"{target} = *reinterpret_cast<{vector}*>({a.name});")
        return lines


def vector_body(
    kernel: Kernel, syntax: CudaSyntax, statements: list[Node], index: str, *, in_order: bool
) -> VectorBody:
    """The vector form of an element's statements, or why there is none.

    `in_order`: one thread runs over all elements one after the other, so that it may carry anything along.
    """
    nodes = check_statements(statements, index)
    if not in_order:
        check_atomics(syntax, statements, index)
    declared = {
        v.name
        for v in syntax.entry.variables
        if any(s.start_byte <= v.start < s.end_byte for s in statements)
    }
    changed = changed_names(nodes)
    outside = tuple(sorted(changed - declared))
    if not in_order:
        chosen = chosen_in_any_order(nodes)
        for name in outside:
            if name not in chosen and not accumulates(nodes, syntax, name, declared):
                raise Refusal(
                    f"`{name}` keeps something of one element that is not a sum or a choice over all"
                )
    accesses, apart = _accesses(kernel, syntax, statements, nodes, index, declared | changed, in_order)
    body = VectorBody(tuple(accesses), tuple(statements), index, False, outside, apart)
    taken = identifiers_in(syntax.entry.node)
    for access in accesses:
        access.name = taken_name(f"{access.pointer}_{body.group}", taken)
    replaced = {id(n): n for a in accesses for n in a.nodes}
    spans = [(n.start_byte, n.end_byte) for n in replaced.values()]
    uses_index = any(
        n.type == "identifier"
        and text_of(n) == index
        and not any(begin <= n.start_byte < end for begin, end in spans)
        for n in nodes
    )
    return replace(body, uses_index=uses_index)


def check_statements(statements: list[Node], index: str) -> list[Node]:
    """All nodes of an element's statements. Refused where they cannot be run once for each of a group."""
    if not statements:
        raise Refusal("there is nothing to do for an element")
    nodes = [n for s in statements for n in descendants(s)]
    for node in nodes:
        if node.type in _LEAVES:
            raise Refusal(f"an element's work ends early: `{text_of(node)}`")
        if node.type in _LOOPS:
            raise Refusal("an element's work has a loop of its own")
        if node.type.startswith("preproc"):
            raise Refusal("an element's work holds a preprocessor line")
        if node.type == "call_expression" and TOGETHER.search(text_of(node.child_by_field_name("function"))):
            raise Refusal(f"an element's work waits for other threads: `{text_of(node)}`")
    if index in changed_names(nodes):
        raise Refusal(f"`{index}` is changed on the way")
    return nodes


def check_atomics(syntax: CudaSyntax, statements: list[Node], index: str) -> None:
    """Refuse atomic operations on an element beside its neighbour's: a warp makes them in a few lines at once, and
    would spread them over as many sectors as it has lanes.
    """
    same = _same_as(syntax, statements, index)
    moving = changed_names([n for s in statements for n in descendants(s)]) - same
    for node in (n for s in statements for n in descendants(s)):
        atomic = node.type == "call_expression" and text_of(node).startswith("atomic")
        target = next(iter(arguments_of(node)), None) if atomic else None
        listed = [n for n in descendants(target) if n.type == "subscript_expression"] if target else []
        beside = any(_offset(n, same, moving) is not None for n in listed)
        if beside or (target is not None and not listed and same & identifiers_in(target)):
            raise Refusal(f"`{text_of(node)}` of neighbours meet in one sector, and would lie a group apart")


def changed_names(nodes: list[Node]) -> set[str]:
    """Names of variables that are assigned, incremented or whose address is taken."""
    return {changed_by(node, addressed=True) for node in nodes} - {""}


def _accesses(
    kernel: Kernel,
    syntax: CudaSyntax,
    statements: list[Node],
    nodes: list[Node],
    index: str,
    moving: set[str],
    in_order: bool,
) -> tuple[list[Access], bool]:
    """The accesses that can be wide, and whether others follow the index."""
    by_place: dict[tuple[str, str], Access] = {}
    scalar: set[str] = set()
    apart = False
    same = _same_as(syntax, statements, index)
    moving = moving - same
    for node in nodes:
        if node.type != "subscript_expression":
            continue
        base = field_of(node, "argument")
        pointer = text_of(base)
        if base is None or base.type != "identifier":
            raise Refusal(f"`{text_of(node)}` is not an element of a named pointer")
        offset = _offset(node, same, moving)
        written = is_written(node) or is_bound(kernel, node, pointer)
        record = record_type(kernel, nodes, pointer)
        type_ = record or element_type(kernel, syntax, pointer)
        follows = bool(identifiers_in(node) & (same | moving))
        if type_ is None and any(v.name == pointer and (v.shared or v.sizes) for v in syntax.entry.variables):
            if (follows or written) and not in_order:
                raise Refusal(
                    f"`{text_of(node)}` is no global memory, and other threads may rely on who touches it"
                )
            continue
        if not follows and is_for_an_atomic(node):
            scalar.add(pointer)
            continue
        if not follows and written:
            raise Refusal(f"`{text_of(node)}` is written for every element")
        if offset is None or type_ is None or not follows or pointer in moving or address_taken(node):
            scalar.add(pointer)
            apart = apart or follows
            if written:
                by_place.setdefault((pointer, "#"), Access(pointer, "#", "", 0, "", [], stored=True))
            continue
        access = by_place.get((pointer, offset))
        if access is None:
            access = by_place[pointer, offset] = Access(pointer, offset, *type_, "", [])
            access.meant = record is not None or type_[0] in type_parameters(kernel)
        if not written or reads_too(node):
            access.loaded = True
        access.stored = access.stored or written
        access.nodes.append(node)
    stored = {a.pointer for a in by_place.values() if a.stored}
    accesses = [a for a in by_place.values() if a.nodes]
    for a in accesses:
        several = sum(1 for other in accesses if other.pointer == a.pointer) > 1
        if a.pointer in stored and (several or a.pointer in scalar):
            raise Refusal(f"`{a.pointer}` is written and touched at another place as well")
        place = _apart(statements, a)
        if place is not None:
            raise Refusal(f"`{text_of(place)}` is touched only under a condition")
    if not accesses:
        raise Refusal(f"no elements of a plain type are read or written at `[{index}]`")
    return accesses, apart


def _same_as(syntax: CudaSyntax, statements: list[Node], index: str) -> set[str]:
    """The index, and what the statements declare as a copy of it: `int i = (int)element;`."""
    same = {index}
    changed = changed_names([n for s in statements for n in descendants(s)])
    for variable in syntax.entry.variables:
        value = bare(variable.value)
        if value is not None and value.type == "cast_expression":
            value = field_of(value, "value")
        inside = any(contains(s, variable.node) for s in statements)
        if inside and value is not None and text_of(value) in same and variable.name not in changed:
            same.add(variable.name)
    return same


def _apart(statements: list[Node], access: Access) -> Node | None:
    """A place that is touched under a condition only, where touching it for every element would be another program.

    An element that is read for sure may be read earlier, and may be written back unchanged. One that is written for
    sure, on every way, need not be read.
    """
    reads = [n for n in access.nodes if not is_written(n) or reads_too(n)]
    writes = [n for n in access.nodes if is_written(n)]
    if any(always(statements, [n]) for n in reads):
        access.loaded = True
        return None
    if writes and always(statements, writes):
        # A read under a condition may stand before the write: then the element must be there.
        access.loaded = bool(reads)
        return None
    return access.nodes[0]


def _offset(node: Node, same: set[str], moving: set[str]) -> str | None:
    """What is added to the element's index: "" for `p[i]`, `row * C` for `p[row * C + i]`; None for other indices."""
    listed = node.child_by_field_name("indices")
    if listed is None or len(listed.named_children) != 1:
        return None
    inner = bare(listed.named_children[0])
    if text_of(inner) in same:
        return ""
    if inner is None or inner.type != "binary_expression" or operator_of(inner) != "+":
        return None
    left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
    for own, other in ((left, right), (right, left)):
        if text_of(bare(own)) in same and other is not None and bare(other) is not None:
            fixed = bare(other)
            names = identifiers_in(other)
            simple = fixed is not None and fixed.type != "number_literal"
            return text_of(other) if simple and not names & (same | moving) else None
    return None
