"""What a CUDA C++ file defines at any depth: type aliases, structures, macros and whole numbers, by name.

A detector asks here what a name stands for, so that a repository's own packs, pragmas and constants are known by what
they are and not by how they are called.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from operator import attrgetter

from tree_sitter import Node, Query, QueryCursor

from kernel_lineage.code.types import dtype_bytes, type_bytes, vector_of
from kernel_lineage.kernels.cuda_expressions import integer_of
from kernel_lineage.kernels.cuda_forms import bare, declarators, operator_of, text_of
from kernel_lineage.kernels.cuda_nodes import grammar
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.source import Kernel, SourceFile

_ALIGNED = re.compile(r"_(?:16|32)a$")
_HALVES = frozenset({"half2", "bfloat162", "fp8x2_e4m3", "fp8x4_e4m3"})
_LIBRARY_PACKS = frozenset(
    {"AlignedArray", "AlignedVector", "aligned_vector", "CubVector", "aligned_array", "aligned_storage"}
)
"""Packs of CUTLASS, CUB, PyTorch and of the standard library: as wide as their template arguments say."""
_DEPTH = 12
_MEMBERS = ("field_declaration", "declaration")


@dataclass(frozen=True, slots=True)
class Pack:
    """A type that holds several elements side by side."""

    name: str
    width: int | None
    """In bytes; None when the text does not tell."""


@dataclass
class FileDefinitions:
    """The definitions of one file, each kind worked out when it is first asked for."""

    _captures: Mapping[str, list[Node]] = field(default_factory=dict, repr=False)

    @cached_property
    def aliases(self) -> dict[str, str]:
        """`typedef` and `using` names, and what they stand for."""
        found: dict[str, str] = {}
        for node in _sorted(self._captures, "t"):
            name = text_of(node.child_by_field_name("declarator") or node.child_by_field_name("name"))
            found.setdefault(name, text_of(node.child_by_field_name("type")))
        return found

    @cached_property
    def structures(self) -> dict[str, Node]:
        """Structures, unions and classes with a body."""
        found: dict[str, Node] = {}
        for node in _sorted(self._captures, "s"):
            name = text_of(node.child_by_field_name("name")).partition("<")[0]
            if node.child_by_field_name("body") is not None and name:
                found.setdefault(name, node)
        for node in _sorted(self._captures, "f"):
            kind, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
            if kind is not None and kind.type == "struct_specifier" and declarator is not None:
                # `struct __align__(16) Name { … }` reads as a function to the grammar.
                name = next((text_of(n) for n in declarator.named_children if n.type == "identifier"), "")
                found.setdefault(name, node)
        return found

    @cached_property
    def macros(self) -> dict[str, str]:
        """Macros without parameters, and their bodies."""
        found: dict[str, str] = {}
        for node in _sorted(self._captures, "m"):
            found.setdefault(
                text_of(node.child_by_field_name("name")), text_of(node.child_by_field_name("value"))
            )
        return found

    @cached_property
    def numbers(self) -> dict[str, Node]:
        """Constants and enumerators, and what they are given."""
        found: dict[str, Node] = {}
        for node in _sorted(self._captures, "e"):
            value = node.child_by_field_name("value")
            if value is not None:
                found.setdefault(text_of(node.child_by_field_name("name")), value)
        for node in _sorted(self._captures, "c"):
            for name, value, sizes, pointer in declarators(node):
                if value is not None and not sizes and not pointer:
                    found.setdefault(name, value)
        return found

    @cached_property
    def functions(self) -> dict[str, Node]:
        """The bodies of functions that are worked out at compile time."""
        found: dict[str, Node] = {}
        for node in _sorted(self._captures, "f"):
            body, declarator = node.child_by_field_name("body"), node.child_by_field_name("declarator")
            constant = any(text_of(c) == "constexpr" for c in node.children[:4])
            if body is not None and declarator is not None and constant:
                found.setdefault(text_of(declarator.child_by_field_name("declarator")), body)
        return found

    def pack(self, name: str) -> Pack | None:
        """The pack that a type name stands for; None when it is a single element or not defined here."""
        for _ in range(_DEPTH):
            written = name.replace("typename ", "").replace("const ", "").strip()
            last, _, arguments = written.partition("<")
            last = last.strip().rpartition("::")[2]
            plain = last.removeprefix("__").removeprefix("nv_")
            if (vector := vector_of(_ALIGNED.sub("", plain))) is not None and vector[1] > 1:
                return Pack(last, dtype_bytes(vector[0]) * vector[1])
            if plain in _HALVES:
                return Pack(last, 4)
            if last in _LIBRARY_PACKS:
                return Pack(last, None)
            if last in self.structures and last not in self.aliases:
                return self._structure(last)
            inside = arguments.rpartition(">")[2].removeprefix("::").strip() if ">" in arguments else ""
            known = self.aliases.get(last) or (self.aliases.get(inside) if inside else None)
            if known is None or known == name:
                return None
            name = known
        return None

    def _structure(self, name: str) -> Pack | None:
        """An aligned structure of several elements, or one around a single array or pack."""
        node = self.structures[name]
        body = node.child_by_field_name("body")
        written = text_of(node)
        head = written[: written.find("{")] if "{" in written else written
        aligned = "align" in head or "align" in text_of(node.prev_sibling)[:24]
        members = [m for m in (body.named_children if body is not None else ()) if m.type in _MEMBERS]
        data = [
            (m, d) for m in members if not _is_function(m) for d in m.children_by_field_name("declarator")
        ]
        if len(data) == 1:
            member, declarator = data[0]
            kind = text_of(member.child_by_field_name("type"))
            inner = self.pack(kind) if kind != name else None
            if declarator.type == "array_declarator" and (aligned or "align" in text_of(member)):
                return Pack(name, self._array_bytes(kind, declarator))
            return Pack(name, inner.width) if inner is not None else None
        return Pack(name, None) if aligned and len(data) > 1 else None

    def _array_bytes(self, kind: str, declarator: Node) -> int | None:
        size = self.value(declarator.child_by_field_name("size"))
        element = type_bytes(kind)
        return size * element if size is not None and element is not None else None

    def value(self, node: Node | None, hidden: frozenset[str] = frozenset(), depth: int = 0) -> int | None:
        """The value of an expression of literals and the file's constants; None when it is not told.

        `hidden` are names that stand for something else where the expression is, as a template's parameters do.
        """
        node = bare(node)
        if node is None or depth > _DEPTH:
            return None
        number = integer_of(node)
        if number is not None or node.type == "number_literal":
            return number
        if node.type in ("identifier", "qualified_identifier"):
            name = text_of(node).rpartition("::")[2]
            if name in hidden:
                return None
            if name in self.numbers:
                return self.value(self.numbers[name], hidden, depth + 1)
            return self._of_macro(name)
        if node.type == "binary_expression":
            left, right = (
                self.value(node.child_by_field_name(side), hidden, depth + 1) for side in ("left", "right")
            )
            return _operated(operator_of(node), left, right)
        return None

    def number(self, written: str) -> int | None:
        """The value of a number or of a constant's name; None for any other text."""
        name = written.strip()
        if re.fullmatch(r"[1-9]\d*|0", name):
            return int(name)
        return self.value(self.numbers[name]) if name in self.numbers else self._of_macro(name)

    def _of_macro(self, name: str) -> int | None:
        written = self.macros.get(name, "").strip("() \t")
        return int(written, 0) if re.fullmatch(r"0[xX][0-9a-fA-F]+|[1-9]\d*|0", written) else None


def _operated(operator: str, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" if right > 0 and left >= 0:
            return left // right
        case "%" if right > 0 and left >= 0:
            return left % right
        case "<<" if 0 <= right < 32:
            return left << right
        case ">>" if 0 <= right < 32:
            return left >> right
        case "|":
            return left | right
    return None


def _is_function(member: Node) -> bool:
    declarator = member.child_by_field_name("declarator")
    while declarator is not None and declarator.type in ("pointer_declarator", "reference_declarator"):
        declarator = declarator.child_by_field_name("declarator") or next(
            iter(declarator.named_children), None
        )
    words = [text_of(c) for c in member.children if c.type in ("storage_class_specifier", "type_qualifier")]
    return (declarator is not None and declarator.type == "function_declarator") or "static" in words


@cache
def _query() -> Query:
    return Query(
        grammar(),
        "(type_definition) @t (alias_declaration) @t (struct_specifier) @s (union_specifier) @s (class_specifier) @s"
        " (function_definition) @f (preproc_def) @m (enumerator) @e (declaration (type_qualifier)) @c",
    )


_latest: tuple[SourceFile, FileDefinitions] | None = None
_NOTHING = FileDefinitions()


def definitions_of(kernel: Kernel) -> FileDefinitions:
    """The definitions of a kernel's file; the latest file's are kept."""
    global _latest
    source = kernel.source
    if source is None or source.root is None:
        return _NOTHING
    if _latest is None or _latest[0] is not source:
        _latest = (source, FileDefinitions(QueryCursor(_query()).captures(source.root)))
    return _latest[1]


def _sorted(captures: Mapping[str, list[Node]], name: str) -> list[Node]:
    return sorted(captures.get(name, ()), key=attrgetter("byte_range"))


def extents(unit: Unit, sizes: tuple[Node, ...]) -> str:
    """`64×8` for the sizes of an array; "" when one of them is no number in this file."""
    hidden = hidden_names(unit.kernel)
    values = [definitions_of(unit.kernel).value(size, hidden) for size in sizes]
    return "" if not values or any(value is None for value in values) else "×".join(map(str, values))


def factors(sizes: tuple[Node, ...]) -> int:
    """The number of factors of an array's size: two for `[TM * TN]` and for `[TM][TN]`, one for `[TM]`."""
    count = 0
    waiting: list[Node | None] = list(sizes)
    while waiting:
        node = bare(waiting.pop())
        if node is not None and node.type == "binary_expression" and operator_of(node) == "*":
            waiting += [node.child_by_field_name("left"), node.child_by_field_name("right")]
        else:
            count += 1
    return count


def hidden_names(kernel: Kernel) -> frozenset[str]:
    """The names of a kernel's own parameters, which hide the file's constants."""
    return frozenset({p.name for p in kernel.parameters} | {p.name for p in kernel.template_parameters})
