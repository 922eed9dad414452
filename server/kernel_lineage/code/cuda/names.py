"""What names outside of a function mean to it: macros, constants, types, device functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tree_sitter import Node, Parser

from kernel_lineage.code.values import Element
from kernel_lineage.kernels.cuda_forms import text_of as node_text
from kernel_lineage.kernels.cuda_nodes import grammar
from kernel_lineage.kernels.cuda_parameters import dtype_of, type_aliases
from kernel_lineage.kernels.cuda_text import Macro, Text
from kernel_lineage.kernels.cuda_text import text_of as layers
from kernel_lineage.kernels.source import SourceFile

_SIZES = {
    "char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8,
    "longlong": 8, "ulonglong": 8, "float": 4, "double": 8,
}  # fmt: skip
_VECTOR = re.compile(rf"({'|'.join(sorted(_SIZES, key=len, reverse=True))})([1-4])")
_SCALARS = {"uchar": "uint8", "char": "int8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32",
            "long": "int64", "ulong": "uint64", "longlong": "int64", "ulonglong": "uint64", "float": "float32",
            "double": "float64"}  # fmt: skip
_PAIRS = {
    "half2": "float16", "__half2": "float16", "__nv_bfloat162": "bfloat16", "nv_bfloat162": "bfloat16",
}  # fmt: skip
_BYTES = {
    "bool": 1,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}
_QUALIFIERS = re.compile(
    r"\b(?:const|volatile|static|constexpr|typename|__restrict__|__shared__|extern|inline)\b|[*&]"
)


def element_bytes(dtype: str) -> int:
    """The size of NumPy's type of that name."""
    return _BYTES[dtype] if dtype in _BYTES else int(re.sub(r"\D", "", dtype)) // 8


@dataclass(slots=True)
class _Snippet:
    """An expression of its own, kept with the tree that its nodes belong to."""

    node: Node | None


@dataclass
class Names:
    """The names of one file."""

    source: SourceFile
    types: Mapping[str, str] = field(default_factory=dict)
    """Template parameters that are types, with their arguments."""
    _snippets: dict[str, _Snippet] = field(default_factory=dict)

    @cached_property
    def text(self) -> Text:
        """The file in layers."""
        return layers(self.source.data)

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Types by their other names."""
        return {**type_aliases(self.text), **self.types}

    @cached_property
    def macros(self) -> Mapping[str, Macro]:
        """The macros that have one meaning in the file."""
        found: dict[str, Macro | None] = {}
        for macro in self.text.macros:
            known = found.get(macro.name)
            same = known is not None and (known.body, known.parameters) == (macro.body, macro.parameters)
            found[macro.name] = macro if macro.name not in found or same else None
        return {name: macro for name, macro in found.items() if macro is not None}

    @cached_property
    def constants(self) -> Mapping[str, Node]:
        """The initialisers of constants at file level."""
        found: dict[str, Node] = {}
        waiting = list(self.source.root.named_children) if self.source.root is not None else []
        while waiting:
            node = waiting.pop()
            if node.type == "declaration" and re.match(
                r"(?:static\s+|inline\s+)*(?:constexpr|const)\b", node_text(node)
            ):
                for declarator in node.children_by_field_name("declarator"):
                    name = declarator.child_by_field_name("declarator")
                    value = declarator.child_by_field_name("value")
                    if declarator.type == "init_declarator" and name is not None and value is not None:
                        found[node_text(name)] = value
            elif node.type in ("namespace_definition", "declaration_list", "linkage_specification"):
                waiting += node.named_children
        return found

    @cached_property
    def functions(self) -> Mapping[str, list[Node]]:
        """The device functions' definitions."""
        found: dict[str, list[Node]] = {}
        root = self.source.root
        for function in self.source.device_functions if root is not None else ():
            assert root is not None
            at = self.source.data.find(b"{", function.span.start, function.span.end)
            node = root.descendant_for_byte_range(at, at + 1) if at >= 0 else None
            while node is not None and node.type != "function_definition":
                node = node.parent
            if node is not None:
                found.setdefault(function.name, []).append(node)
        return found

    def snippet(self, expression: str) -> Node | None:
        """A text as an expression's node; None when it is none."""
        if expression not in self._snippets:
            root = Parser(grammar()).parse(f"auto _ = {expression};".encode()).root_node
            declarator = next(
                (n for n in root.named_children[:1] for n in n.named_children if n.type == "init_declarator"),
                None,
            )
            value = (
                declarator.child_by_field_name("value")
                if declarator is not None and not root.has_error
                else None
            )
            self._snippets[expression] = _Snippet(value)
        return self._snippets[expression].node

    def base(self, written: str) -> str:
        """A type without qualifiers, by its first name."""
        base = " ".join(_QUALIFIERS.sub(" ", written).split())
        for _ in range(8):
            if base not in self.aliases:
                break
            base = " ".join(_QUALIFIERS.sub(" ", self.aliases[base]).split())
        return base

    def element(self, written: str) -> Element:
        """The type of that name as an element; of size 0 when nothing is known of it."""
        base = self.base(written)
        if (dtype := dtype_of(base, self.aliases)) is not None:
            return Element(dtype, element_bytes(dtype))
        if (vector := _VECTOR.fullmatch(base)) is not None:
            return Element(base, _SIZES[vector[1]] * int(vector[2]))
        if base in _PAIRS:
            return Element(base, 4)
        return Element("", 0)

    @staticmethod
    def part(element: Element) -> Element | None:
        """The scalar that a vector type consists of."""
        if (vector := _VECTOR.fullmatch(element.dtype)) is not None:
            return Element(_SCALARS[vector[1]], _SIZES[vector[1]])
        return Element(_PAIRS[element.dtype], 2) if element.dtype in _PAIRS else None
