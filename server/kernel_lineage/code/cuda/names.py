"""What names outside of a function mean to it: macros, constants, types, variables of the device, functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tree_sitter import Node

from kernel_lineage.code.cuda.snippets import Snippets, normalised
from kernel_lineage.code.cuda.structs import Struct, read_struct
from kernel_lineage.code.types import DTYPES, dtype_bytes, vector_of
from kernel_lineage.code.values import Element
from kernel_lineage.kernels.cuda_forms import text_of as node_text
from kernel_lineage.kernels.cuda_parameters import of_one_meaning, type_meanings
from kernel_lineage.kernels.cuda_text import Macro, Text, closing
from kernel_lineage.kernels.cuda_text import text_of as layers
from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.kernels.words import with_meanings

_QUALIFIERS = re.compile(
    r"\b(?:const|volatile|static|constexpr|typename|__restrict__|__restrict|__shared__|__grid_constant__|extern|inline|"
    r"struct|class|enum|register)\b|[*&]|\b(?:std|cuda::std|::)::|^::"
)
_ALIGNED = rb"(?:\s|(?:__align__|alignas)\s*\((?:[^()]|\([^()]*\))*\))*"
_STRUCT = re.compile(rb"\b(?:struct|class|union)\b(" + _ALIGNED + rb")(\w+)\s*(?:final\s*)?(?::[^;{}]*)?\{")
_ANONYMOUS = re.compile(rb"\btypedef\s+(?:struct|union)\s*(" + _ALIGNED + rb")(?:\w+\s*)?\{")
_TEMPLATE_HEAD = re.compile(rb"template\s*<([^;{}]*)>\s*$")
_CONSTANT = re.compile(r"(?:static\s+|inline\s+|__device__\s+)*(?:constexpr|const)\b")
_LOOPS = re.compile(r"\b(?:for|while|do)\b")
_ALIAS_DEPTH = 8


@dataclass
class Names:
    """The names of one file, with those of the files that it includes as far as they are given."""

    source: SourceFile
    headers: tuple[SourceFile, ...] = ()
    snippets: Snippets = field(init=False)
    _structs: dict[str, Struct | None] = field(default_factory=dict)
    _own: set[int] = field(default_factory=set)
    _elements: dict[tuple[object, ...], Element] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.snippets = Snippets(lambda: b"\n".join(text.masked for text in self.texts))

    @cached_property
    def texts(self) -> tuple[Text, ...]:
        """The files in layers, this one last."""
        return tuple(layers(file.data) for file in (*self.headers, self.source))

    @cached_property
    def macros(self) -> Mapping[str, Macro]:
        """The macros that have one meaning."""
        by_name: dict[str, Macro | None] = {}
        for text in self.texts:
            for macro in text.macros:
                other = by_name.get(macro.name)
                same = other is not None and (other.body, other.parameters) == (macro.body, macro.parameters)
                by_name[macro.name] = macro if macro.name not in by_name or same else None
        return {name: macro for name, macro in by_name.items() if macro is not None}

    @cached_property
    def meanings(self) -> Mapping[str, set[str]]:
        """The types that other names stand for; several where `#if` or functions give one name to several."""
        meanings: dict[str, set[str]] = {}
        for text in self.texts:
            for name, types in type_meanings(text).items():
                meanings.setdefault(name, set()).update(types)
        return meanings

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Types by their other names, where these have one meaning."""
        return of_one_meaning(self.meanings)

    def has_alternatives(self, name: str) -> bool:
        """Whether a type is one of several, by `#if`."""
        return len(self.meanings.get(name, ())) > 1

    @cached_property
    def _file_level(self) -> Mapping[str, Mapping[str, Node]]:
        """Declarations at file level: `constants`, `enumerators` (the enumerator), `variables` (the declaration)."""
        constants: dict[str, Node] = {}
        enumerators: dict[str, Node] = {}
        variables: dict[str, Node] = {}
        roots = [file.root for file in (*self.headers, self.source) if file.root is not None]
        for node in _declarations(roots):
            if node.type == "function_definition":
                continue
            if node.type == "enum_specifier":
                for one in node.named_children[-1].named_children:
                    if one.type == "enumerator":
                        enumerators[node_text(one.child_by_field_name("name"))] = one
            elif _CONSTANT.match(written := node_text(node)):
                for declarator in node.children_by_field_name("declarator"):
                    name = declarator.child_by_field_name("declarator")
                    value = declarator.child_by_field_name("value")
                    if declarator.type == "init_declarator" and name is not None and value is not None:
                        constants[node_text(name)] = value
            elif re.search(r"\b__(?:constant|device|managed)__\b", written):
                for declarator in node.children_by_field_name("declarator"):
                    if (match := re.match(r"[*&\s]*(\w+)", node_text(declarator))) is not None:
                        variables[match[1]] = node
        return {"constants": constants, "enumerators": enumerators, "variables": variables}

    @property
    def constants(self) -> Mapping[str, Node]:
        """The initialisers of constants at file level."""
        return self._file_level["constants"]

    @property
    def enumerators(self) -> Mapping[str, Node]:
        """Names of enumerations' values."""
        return self._file_level["enumerators"]

    @property
    def variables(self) -> Mapping[str, Node]:
        """Declarations of variables in the device's memory."""
        return self._file_level["variables"]

    @cached_property
    def functions(self) -> Mapping[str, list[Node]]:
        """The definitions of device functions, and of others that are worked out at compile time."""
        functions: dict[str, list[Node]] = {}
        for file in (*self.headers, self.source):
            for function in file.device_functions if file.root is not None else ():
                assert file.root is not None
                at = file.data.find(b"{", function.span.start, function.span.end)
                node = file.root.descendant_for_byte_range(at, at + 1) if at >= 0 else None
                while node is not None and node.type != "function_definition":
                    node = node.parent
                if node is not None and node.start_byte >= function.span.start - 1:
                    if file is self.source:
                        self._own.add(node.id)
                    functions.setdefault(function.name, []).append(node)
                else:
                    parsed = self.snippets.definition(normalised(function.text, self.macros))
                    if parsed is not None:
                        functions.setdefault(function.name, []).append(parsed)
        own = self.source.root
        for node in _declarations([own]) if own is not None else ():
            declarator = node.child_by_field_name("declarator")
            # The rounds of a loop over numbers would be taken for rounds of the kernel's own.
            constant = any(node_text(c) == "constexpr" for c in node.children[:4])
            constant = constant and node.type == "function_definition" and not _LOOPS.search(node_text(node))
            if constant and declarator is not None:
                self._own.add(node.id)
                functions.setdefault(node_text(declarator.child_by_field_name("declarator")), [node])
        return functions

    def is_in_file(self, function: Node) -> bool:
        """Whether a function of `functions` is a node of this file's tree."""
        return function.id in self._own

    @cached_property
    def _heads(self) -> Mapping[str, tuple[Text, int, int]]:
        """Structs → the text, where the head begins and where the brace opens; the first of a name counts."""
        heads: dict[str, tuple[Text, int, int]] = {}
        for text in self.texts:
            for match in _STRUCT.finditer(text.code):
                heads.setdefault(match[2].decode(), (text, match.start(), match.end() - 1))
            for match in _ANONYMOUS.finditer(text.code):
                end = closing(text.code, match.end() - 1)
                behind = re.compile(rb"\s*(\w+)\s*;").match(text.code, end + 1) if end is not None else None
                if behind is not None:
                    heads.setdefault(behind[1].decode(), (text, match.start(), match.end() - 1))
        return heads

    def struct(self, name: str) -> Struct | None:
        """The definition of a struct; None where it is not seen."""
        if name not in self._structs:
            self._structs[name] = None
            head = self._heads.get(name)
            if head is not None:
                text, start, brace = head
                end = closing(text.code, brace)
                before = _TEMPLATE_HEAD.search(text.code, max(0, start - 600), start)
                if end is not None:
                    body = text.code[brace : end + 1].decode("utf-8", "replace")
                    attributes = text.code[start:brace].decode("utf-8", "replace")
                    template = before[1].decode("utf-8", "replace") if before is not None else ""
                    self._structs[name] = read_struct(
                        name, attributes, body, template, self.snippets, self.macros
                    )
        return self._structs[name]

    def base(self, written: str, types: Mapping[str, str]) -> str:
        """A type without qualifiers, by its first name, with template arguments as they are written."""
        base = " ".join(_QUALIFIERS.sub(" ", written).split())
        for _ in range(_ALIAS_DEPTH):
            target = types.get(base) or self.aliases.get(base)
            if target is None or target == base:
                break
            base = " ".join(_QUALIFIERS.sub(" ", target).split())
        name, bracket, arguments = base.partition("<")
        if bracket and types:
            base = name + bracket + with_meanings(arguments, types)
        return base

    def element(self, written: str, types: Mapping[str, str]) -> Element:
        """The type of that name as an element; of size 0 when nothing is known of its size."""
        key = (written, *types.items())
        if key not in self._elements:
            self._elements[key] = self._element(written, types)
        return self._elements[key]

    def _element(self, written: str, types: Mapping[str, str]) -> Element:
        if written.rstrip(" const&").endswith("*") or _is_pointer(written, types, self.aliases):
            return Element("", 8, " ".join(written.split()))
        base = self.base(written, types)
        if base in DTYPES:
            return Element(DTYPES[base], dtype_bytes(DTYPES[base]), base)
        vector = vector_of(base)
        if vector is not None:
            return Element(base, dtype_bytes(vector[0]) * vector[1], base)
        return Element("", 0, base)

    @staticmethod
    def part(element: Element) -> Element | None:
        """The scalar that a vector type consists of."""
        vector = vector_of(element.dtype)
        return Element(vector[0], dtype_bytes(vector[0]), vector[0]) if vector is not None else None


def _is_pointer(written: str, types: Mapping[str, str], aliases: Mapping[str, str]) -> bool:
    base = " ".join(_QUALIFIERS.sub(" ", written).split())
    return (types.get(base) or aliases.get(base) or "").rstrip().endswith("*")


def _declarations(roots: list[Node]) -> Iterator[Node]:
    waiting = [child for root in roots for child in root.named_children]
    while waiting:
        node = waiting.pop()
        if node.type in ("declaration", "enum_specifier", "function_definition"):
            yield node
            waiting += [c for c in node.named_children if c.type == "enum_specifier"]
        elif node.type in (
            "namespace_definition", "declaration_list", "linkage_specification", "template_declaration",
            "preproc_ifdef", "preproc_if", "preproc_else", "preproc_elif", "ERROR", "type_definition",
        ):  # fmt: skip
            waiting += node.named_children


def names_of(source: SourceFile, headers: tuple[SourceFile, ...] = ()) -> Names:
    """The names of a file, kept with it."""
    key = ("names", *map(id, headers))
    kept = source.derived.get(str(key))
    if not isinstance(kept, Names):
        kept = source.derived[str(key)] = Names(source, headers)
    return kept
