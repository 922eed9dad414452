"""Definitions of structs: members in their order, constants, methods, template parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from kernel_lineage.code.cuda.snippets import Snippets, normalised
from kernel_lineage.kernels.cuda_forms import text_of, within_declarator
from kernel_lineage.kernels.cuda_text import Macro, at_commas

_ALIGNED = re.compile(r"(?:__align__|alignas)\s*\(\s*(\d+)\s*\)")
_TEMPLATE = re.compile(
    r"(typename|class|[\w:]+(?:\s+\w+)*?)\s*(?:\.\.\.)?\s*(\w+)\s*(?:=\s*(.+))?$", re.DOTALL
)


CONVERSION = "operator ()"
"""The name that functions which convert a struct to another type are kept by."""


@dataclass(frozen=True, slots=True)
class Member:
    """One variable of a struct."""

    name: str
    type: str
    """As written, with `*` for a pointer."""
    sizes: tuple[Node, ...]
    """The extents of an array, outermost first."""


@dataclass(slots=True)
class Struct:
    """One struct, as its definition says."""

    name: str
    alignment: int
    """0: that of its members, or one that is no plain number."""
    aligned: bool
    """Whether its head asks for an alignment."""
    aligns_members: bool
    parameters: tuple[tuple[str, str, str], ...]
    """The template's parameters: kind (`typename` or a type), name and default."""
    members: list[Member] = field(default_factory=list)
    constants: dict[str, Node] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    methods: dict[str, list[Node]] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    """Members, constants and methods that only the struct itself may name."""

    @property
    def names(self) -> set[str]:
        """The names that it declares."""
        return {m.name for m in self.members} | {*self.constants, *self.aliases, *self.methods}


def template_parameters(written: str) -> tuple[tuple[str, str, str], ...]:
    """Kind, name and default of each parameter of a template's head, without the angle brackets."""
    parameters = []
    for part in at_commas(written):
        if (match := _TEMPLATE.match(part.strip())) is not None:
            kind = "typename" if match[1] in ("typename", "class") else match[1]
            parameters.append((kind, match[2], (match[3] or "").strip()))
    return tuple(parameters)


def read_struct(
    name: str, attributes: str, body: str, template: str, snippets: Snippets, macros: Mapping[str, Macro]
) -> Struct:
    """A struct from the text of its head and of its body with the braces."""
    plain = _ALIGNED.search(attributes)
    struct = Struct(
        name,
        int(plain[1]) if plain else 0,
        "align" in attributes,
        "align" in body,
        template_parameters(template),
    )
    body = normalised(body, macros)
    fields = snippets.members(body)
    is_hidden = attributes.startswith("class")
    for node in _members(fields):
        if node.type == "access_specifier":
            is_hidden = not text_of(node).startswith("public")
        before = struct.names
        kind = text_of(node.child_by_field_name("type"))
        written = text_of(node)
        if node.type == "alias_declaration":
            struct.aliases[text_of(node.child_by_field_name("name"))] = kind
        elif node.type == "function_definition":
            if (declared := function_name(node)) is not None:
                struct.methods.setdefault(declared, []).append(node)
        elif re.match(r"(?:inline\s+)?(?:static|constexpr)\b", written):
            value = node.child_by_field_name("default_value")
            declarator = node.child_by_field_name("declarator")
            if value is not None and declarator is not None:
                struct.constants[text_of(declarator)] = value
        elif node.type == "field_declaration":
            struct.members += _variables(node, kind)
        struct.hidden |= struct.names - before if is_hidden else set()
    return struct


def _members(fields: Node | None) -> Iterator[Node]:
    waiting = list(reversed(fields.named_children)) if fields is not None else []
    while waiting:
        node = waiting.pop()
        if node.type == "template_declaration":
            waiting += [c for c in node.named_children if c.type == "function_definition"]
        else:
            yield node


def _variables(node: Node, kind: str) -> Iterator[Member]:
    for declarator in node.children_by_field_name("declarator"):
        here: Node | None = declarator
        sizes: list[Node] = []
        pointer = ""
        while here is not None and here.type != "field_identifier":
            if here.type == "function_declarator":
                break
            if here.type == "array_declarator" and (size := here.child_by_field_name("size")) is not None:
                sizes.insert(0, size)
            pointer += "*" if here.type == "pointer_declarator" else ""
            here = within_declarator(here)
        if here is not None and here.type == "field_identifier":
            yield Member(text_of(here), kind + pointer, tuple(sizes))


def function_name(node: Node) -> str | None:
    """The name of a function that a struct defines within it, `CONVERSION` for one that converts it."""
    here = node.child_by_field_name("declarator")
    if here is not None and here.type == "operator_cast":
        return CONVERSION
    while here is not None and here.type != "function_declarator":
        here = within_declarator(here)
    return text_of(here.child_by_field_name("declarator")) if here is not None else None
