"""Whether the work on one element can be done on four at a time, and its text when it is.

The element's code is kept as it is and run four times, unrolled; only the accesses `p[i]` and `p[offset + i]` of
4-byte elements become one 16-byte access before or after it. Whatever does not fit that is a refusal.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, operator_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import descendants, fresh_name, identifiers_in
from kernel_lineage.rewrite.assists.loop_changes import is_of_the_language
from kernel_lineage.rewrite.assists.model import Refusal

_VECTORS = {"float": "float4", "int": "int4", "unsigned int": "uint4", "unsigned": "uint4"}
_OF_DTYPE = {"float32": "float", "int32": "int", "uint32": "unsigned int"}
_LEAVES = {"return_statement", "break_statement", "continue_statement", "goto_statement"}
_LOOPS = {"for_statement", "while_statement", "do_statement"}
_CHOICES = {"if_statement", "switch_statement", "conditional_expression"}
TOGETHER = re.compile(
    r"__sync|__shfl|__ballot|__any|__all|__reduce|__match|\bsync\b|\bshfl|\breduce\b|\basm\b"
)
"""What waits for other threads, or exchanges values with them."""


@dataclass(slots=True)
class Access:
    """The accesses of one pointer at one offset, over the element's index."""

    pointer: str
    offset: str
    type: str
    name: str
    """Of the four elements in registers."""
    nodes: list[Node]
    loaded: bool = False
    stored: bool = False

    @property
    def address(self) -> str:
        return f"&{self.pointer}[{self.offset}]" if self.offset else self.pointer


@dataclass(frozen=True, slots=True)
class VectorBody:
    """An element's code that can be run on four elements at a time."""

    accesses: tuple[Access, ...]
    statements: tuple[Node, ...]
    index: str
    uses_index: bool
    assigned_outside: tuple[str, ...]
    """Variables from outside that it changes."""

    def aligned(self) -> str:
        """The condition under which 16-byte accesses are allowed, at run time."""
        parts = [f"reinterpret_cast<size_t>({a.address})" for a in self.accesses]
        return f"{parts[0]} % 16 == 0" if len(parts) == 1 else f"({' | '.join(parts)}) % 16 == 0"

    def lines(self, data: bytes, index_type: str, quad: str, lane: str, unit: str) -> list[str]:
        """The code for the four elements from 4 * quad on, without outer indentation."""
        lines: list[str] = []
        for a in self.accesses:
            lines.append(f"alignas(16) {a.type} {a.name}[4];")
            if a.loaded:
                vector = _VECTORS[a.type]
                source = f"reinterpret_cast<const {vector}*>({a.address})[{quad}]"
                lines.append(f"*reinterpret_cast<{vector}*>({a.name}) = {source};")
        lines += ["#pragma unroll", f"for (int {lane} = 0; {lane} < 4; {lane}++) {{"]
        if self.uses_index:
            lines.append(f"{unit}{index_type} {self.index} = 4 * {quad} + {lane};")
        lines += [unit + line if line else "" for line in self._element(data, lane)]
        lines.append("}")
        for a in self.accesses:
            if a.stored:
                vector = _VECTORS[a.type]
                target = f"reinterpret_cast<{vector}*>({a.address})[{quad}]"
                lines.append(f"{target} = *reinterpret_cast<{vector}*>({a.name});")
        return lines

    def _element(self, data: bytes, lane: str) -> list[str]:
        """The element's own statements, their accesses taken from registers."""
        start, end = self.statements[0].start_byte, self.statements[-1].end_byte
        text = data[start:end]
        edits = [(n.start_byte, n.end_byte, f"{a.name}[{lane}]") for a in self.accesses for n in a.nodes]
        for begin, stop, new in sorted(edits, reverse=True):
            text = text[: begin - start] + new.encode() + text[stop - start :]
        blank = " " * (start - data.rfind(b"\n", 0, start) - 1)
        before = data[data.rfind(b"\n", 0, start) + 1 : start]
        margin = before.decode() if not before.strip() else blank
        return textwrap.dedent(margin + text.decode()).splitlines()


def vector_body(
    kernel: Kernel, syntax: CudaSyntax, statements: list[Node], index: str, *, in_order: bool
) -> VectorBody | Refusal:
    """The vector form of an element's statements, or why there is none.

    `in_order`: one thread runs over all elements one after the other, so that it may carry anything along.
    """
    if not statements:
        return Refusal("there is nothing to do for an element")
    nodes = [n for s in statements for n in descendants(s)]
    declared = {
        v.name
        for v in syntax.entry.variables
        if any(s.start_byte <= v.start < s.end_byte for s in statements)
    }
    changed = _changed(nodes)
    for node in nodes:
        if node.type in _LEAVES:
            return Refusal(f"an element's work ends early: `{text_of(node)}`")
        if node.type in _LOOPS:
            return Refusal("an element's work has a loop of its own")
        if node.type.startswith("preproc"):
            return Refusal("an element's work holds a preprocessor line")
        if node.type == "call_expression" and TOGETHER.search(text_of(node.child_by_field_name("function"))):
            return Refusal(f"an element's work waits for other threads: `{text_of(node)}`")
    if index in changed:
        return Refusal(f"`{index}` is changed on the way")
    outside = tuple(sorted(changed - declared))
    if not in_order:
        for name in outside:
            if not _accumulates(nodes, syntax, name, declared):
                return Refusal(
                    f"`{name}` keeps something of one element that is not a sum or a choice over all"
                )
    accesses = _accesses(kernel, syntax, statements, nodes, index, declared | changed)
    if isinstance(accesses, Refusal):
        return accesses
    replaced = {id(n): n for a in accesses for n in a.nodes}
    spans = [(n.start_byte, n.end_byte) for n in replaced.values()]
    uses_index = any(
        n.type == "identifier"
        and text_of(n) == index
        and not any(begin <= n.start_byte < end for begin, end in spans)
        for n in nodes
    )
    return VectorBody(tuple(accesses), tuple(statements), index, uses_index, outside)


def _changed(nodes: list[Node]) -> set[str]:
    """Names of variables that are assigned, incremented or whose address is taken."""
    found: set[str] = set()
    for node in nodes:
        target: Node | None = None
        if node.type == "assignment_expression":
            target = bare(node.child_by_field_name("left"))
        elif node.type == "update_expression" or (
            node.type == "pointer_expression" and text_of(node).startswith("&")
        ):
            target = bare(node.child_by_field_name("argument"))
        while target is not None and target.type == "field_expression":
            target = target.child_by_field_name("argument")
        if target is not None and target.type == "identifier":
            found.add(text_of(target))
    return found


def _accumulates(nodes: list[Node], syntax: CudaSyntax, name: str, declared: set[str]) -> bool:
    """Whether each assignment of a variable goes on from its own value: `sum += …`, `m = fmaxf(m, …)`.

    What is rescaled on the way (`s = s * expf(m - new) + …`) is no sum over the elements: parts of it are combined by
    another rule, which may not take a thread that has no element. A function of the file's own may do the same.
    """
    initial = {v.name: v.value for v in syntax.entry.variables if v.name in declared and v.value is not None}
    for node in nodes:
        if node.type == "pointer_expression" and text_of(node).replace(" ", "") == f"&{name}":
            return False
        if node.type != "assignment_expression" or text_of(bare(node.child_by_field_name("left"))) != name:
            continue
        if operator_of(node) in ("*=", "/="):
            return False
        if operator_of(node) != "=":
            continue
        right = node.child_by_field_name("right")
        if right is not None and (_is_scaled(right, name) or _is_combined(right, name)):
            return False
        seen: set[str] = set()
        pending = identifiers_in(right) if right is not None else set()
        while pending:
            current = pending.pop()
            if current not in seen:
                seen.add(current)
                pending |= identifiers_in(initial[current]) if current in initial else set()
        if name not in seen:
            return False
    return True


def _is_scaled(value: Node, name: str) -> bool:
    return any(
        n.type == "binary_expression" and operator_of(n) in ("*", "/") and name in identifiers_in(n)
        for n in descendants(value)
    )


def _is_combined(value: Node, name: str) -> bool:
    return any(
        n.type == "call_expression"
        and name in identifiers_in(n)
        and not is_of_the_language(text_of(n.child_by_field_name("function")))
        for n in descendants(value)
    )


def _accesses(
    kernel: Kernel,
    syntax: CudaSyntax,
    statements: list[Node],
    nodes: list[Node],
    index: str,
    moving: set[str],
) -> list[Access] | Refusal:
    taken = identifiers_in(syntax.entry.node)
    found: dict[tuple[str, str], Access] = {}
    scalar: set[str] = set()
    for node in nodes:
        if node.type != "subscript_expression":
            continue
        base = bare(node.child_by_field_name("argument"))
        pointer = text_of(base)
        if base is None or base.type != "identifier":
            return Refusal(f"`{text_of(node)}` is not an element of a named pointer")
        offset = _offset(node, index, moving)
        written = _is_written(node)
        type_ = _element_type(kernel, syntax, pointer)
        follows = index in identifiers_in(node) or bool(identifiers_in(node) & moving)
        if type_ is None and any(v.name == pointer and (v.shared or v.sizes) for v in syntax.entry.variables):
            if follows or written:
                return Refusal(
                    f"`{text_of(node)}` is no global memory, and other threads may rely on who touches it"
                )
            continue
        if not follows and written:
            return Refusal(f"`{text_of(node)}` is written for every element")
        if offset is None or type_ is None or not follows or pointer in moving or _address_taken(node):
            scalar.add(pointer)
            if written:
                found.setdefault((pointer, "#"), Access(pointer, "#", "", "", [], stored=True))
            continue
        if any(is_under_a_condition(statement, node) for statement in statements):
            return Refusal(f"`{text_of(node)}` is touched only under a condition")
        access = found.get((pointer, offset))
        if access is None:
            name = fresh_name(f"{pointer}_quad", taken)
            taken.add(name)
            access = found[pointer, offset] = Access(pointer, offset, type_, name, [])
        if not written or _reads_too(node):
            access.loaded = True
        access.stored = access.stored or written
        access.nodes.append(node)
    stored = {a.pointer for a in found.values() if a.stored}
    accesses = [a for a in found.values() if a.nodes]
    for a in accesses:
        several = sum(1 for other in accesses if other.pointer == a.pointer) > 1
        if a.pointer in stored and (several or a.pointer in scalar):
            return Refusal(f"`{a.pointer}` is written and touched at another place as well")
    if not accesses:
        return Refusal(f"no 4-byte elements are read or written at `[{index}]`")
    return accesses


def _offset(node: Node, index: str, moving: set[str]) -> str | None:
    """What is added to the element's index: "" for `p[i]`, `row * C` for `p[row * C + i]`; None for other indices."""
    listed = node.child_by_field_name("indices")
    if listed is None or len(listed.named_children) != 1:
        return None
    inner = bare(listed.named_children[0])
    if text_of(inner) == index:
        return ""
    if inner is None or inner.type != "binary_expression" or operator_of(inner) != "+":
        return None
    left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
    for own, other in ((left, right), (right, left)):
        if text_of(bare(own)) == index and other is not None and bare(other) is not None:
            fixed = bare(other)
            names = identifiers_in(other)
            simple = fixed is not None and fixed.type != "number_literal"
            return text_of(other) if simple and index not in names and not names & moving else None
    return None


def _element_type(kernel: Kernel, syntax: CudaSyntax, pointer: str) -> str | None:
    for variable in syntax.entry.variables:
        if variable.name == pointer:
            return (
                variable.type
                if variable.pointer and not variable.sizes and variable.type in _VECTORS
                else None
            )
    parameter = kernel.parameter(pointer)
    if parameter is None or not parameter.pointer or "volatile" in parameter.type:
        return None
    return _OF_DTYPE.get(parameter.dtype or "")


def _outer(node: Node) -> Node | None:
    parent = node.parent
    while parent is not None and parent.type == "parenthesized_expression":
        parent = parent.parent
    return parent


def _is_written(node: Node) -> bool:
    parent = _outer(node)
    if parent is None:
        return False
    if parent.type == "assignment_expression":
        left = parent.child_by_field_name("left")
        return left is not None and left.start_byte <= node.start_byte < left.end_byte
    return parent.type in ("update_expression", "field_expression") or _address_taken(node)


def _reads_too(node: Node) -> bool:
    parent = _outer(node)
    return parent is None or parent.type != "assignment_expression" or operator_of(parent) != "="


def _address_taken(node: Node) -> bool:
    parent = _outer(node)
    return parent is not None and parent.type == "pointer_expression" and text_of(parent).startswith("&")


def is_under_a_condition(statement: Node, node: Node) -> bool:
    """Whether a node, which lies in a statement, runs only under a condition inside of it."""
    current, parent = node, node.parent
    while parent is not None and current != statement:
        if parent.type in _CHOICES and parent.child_by_field_name("condition") != current:
            return True
        shortcut = parent.type == "binary_expression" and operator_of(parent) in ("&&", "||")
        if shortcut and parent.child_by_field_name("right") == current:
            return True
        current, parent = parent, parent.parent
    return False
