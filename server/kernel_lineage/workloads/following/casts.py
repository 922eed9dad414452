"""What casts, `sizeof` and `new` give in host code."""

from __future__ import annotations

from dataclasses import replace

from tree_sitter import Node

from kernel_gate.workload import address_name
from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.workloads.following.expressions import Expressions
from kernel_lineage.workloads.following.functions import bare_type
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.types import INTEGERS, bytes_of, plain_type
from kernel_lineage.workloads.following.values import (
    Buffer,
    NotFollowed,
    Number,
    Pointer,
    Tensor,
    Value,
    combined,
    dim,
    divided,
    made,
    plain,
    times,
)


class Casts(Expressions):
    """Follows expressions that ask for types."""

    def _cast_expression(self, node: Node, names: Names) -> Value:
        kind = text_of(node.child_by_field_name("type"))
        return self.cast(kind, self.value(node.child_by_field_name("value"), names), names)

    def cast(self, kind: str, value: Value, names: Names) -> Value:
        """A value as another type."""
        bare = self.type_named(bare_type(kind), names)
        if "*" in kind:
            inner = value
            if isinstance(inner, Buffer):
                inner = Pointer(inner, inner.dtype)
            if isinstance(inner, Pointer) and bare not in ("void", "", "auto"):
                if inner.buffer is not None and not inner.buffer.dtype:
                    inner.buffer.dtype = bare
                return replace(inner, dtype=bare, offset=_rescaled(inner, bare))
            if isinstance(inner, Number) and inner.is_constant and inner.value == 0:
                return Pointer(None)
            return inner
        if isinstance(value, (Pointer, Buffer)) and bare in (*INTEGERS, "uintptr_t", "intptr_t"):
            return self._address(value if isinstance(value, Pointer) else Pointer(value, bare))
        is_whole = (
            bytes_of(bare) is not None and "float" not in bare and bare not in ("double", "half", "bool")
        )
        if isinstance(value, Number) and value.is_constant and is_whole:
            return plain(int(value.value))
        if isinstance(value, Number) and bare in ("float", "double"):
            return (
                plain(float(value.value)) if value.is_constant else replace(value, value=float(value.value))
            )
        if (
            isinstance(value, Number)
            and not value.whole
            and bare.startswith(("int", "unsigned", "size_t", "long"))
        ):
            return self.whole_part(value)
        return value

    def start_of(self, buffer: Buffer) -> Number:
        """The address at which a buffer begins."""
        return dim(address_name(buffer.name), 0)

    def _address(self, pointer: Pointer) -> Number:
        """A pointer as a number. Raises `NotFollowed` where nothing tells into which buffer it points, or where."""
        if pointer.buffer is None:
            return plain(0)
        first = self.start_of(pointer.buffer)
        size = bytes_of(pointer.dtype or pointer.buffer.dtype)
        if not pointer.buffer.name or (pointer.offset is not None and size is None):
            raise NotFollowed("an address")
        offset = plain(0) if pointer.offset is None else times(pointer.offset, plain(size or 0))
        return combined("+", first, offset)

    @staticmethod
    def whole_part(value: Number) -> Number:
        """A number over dims without its fraction."""
        return made(int(value.value), f"({value.text}) // 1")

    def _sizeof_expression(self, node: Node, names: Names) -> Value:
        inner = node.child_by_field_name("type") or node.child_by_field_name("value")
        written = text_of(inner).strip("() ")
        base = self._element(inner, names)
        held = names.get(written) if base is None else None
        if isinstance(held, Buffer) and held.size is not None:
            return held.size
        if base is None and "*" in written:
            return plain(8)
        kind = self.type_named(bare_type(written), names)
        size = bytes_of(base.dtype) if isinstance(base, (Pointer, Buffer, Tensor)) else bytes_of(kind)
        if size is None:
            record = self.unit.fields_of(kind)
            each = [8 if f.stars else bytes_of(self.type_named(f.type, names)) or 0 for f in record]
            if 0 in (each or [0]):
                raise NotFollowed(f"`{text_of(node)}`")
            end = 0
            for one in (*each, max(each)):  # behind the last field, up to where another one of these begins
                end = -(-end // one) * one + one
            return plain(end - max(each))
        return plain(size)

    def _element(self, node: Node | None, names: Names) -> Value | None:
        """The array of which an expression in `sizeof` names an element: `*x`, `x[0]`."""
        while node is not None and node.type == "parenthesized_expression":
            node = node.named_child(0)
        if node is None or node.type not in ("pointer_expression", "subscript_expression"):
            return None
        return self.either(node.child_by_field_name("argument"), names)

    def _new_expression(self, node: Node, names: Names) -> Value:
        kind = self.type_named(bare_type(text_of(node.child_by_field_name("type"))), names)
        declarator = node.child_by_field_name("declarator")
        size = None
        if declarator is not None and (one := bytes_of(kind)) is not None:
            count = self.either(declarator.child_by_field_name("length") or declarator.named_child(0), names)
            size = times(count, plain(one)) if isinstance(count, Number) else None
        return Pointer(Buffer("", size, dtype=kind), kind)


def is_computed(node: Node) -> bool:
    """Whether a part of an expression is what a program does not write out; `size_t(1) << 24` is written out."""
    callee = text_of(node.child_by_field_name("function")) if node.type == "call_expression" else ""
    is_cast = plain_type(callee) in INTEGERS or callee.startswith("static_cast<")
    return node.type in ("call_expression", "sizeof_expression") and not is_cast


def is_written_out(node: Node) -> bool:
    """Whether an expression is made of numbers and casts alone."""
    return not any(
        is_computed(n) or (n.type == "identifier" and plain_type(text_of(n)) not in INTEGERS)
        for n in (node, *inside(node))
    )


def _rescaled(pointer: Pointer, kind: str) -> Number | None:
    """A pointer's offset in elements of another type."""
    sizes = (
        bytes_of(pointer.dtype or (pointer.buffer.dtype if pointer.buffer is not None else "")),
        bytes_of(kind),
    )
    if pointer.offset is None or None in sizes or sizes[0] == sizes[1]:
        return pointer.offset
    old, new = (plain(size or 1) for size in sizes)
    return divided(times(pointer.offset, old), new)
