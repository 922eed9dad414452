"""Functions of structures whose body is one returned expression, as that expression of a structure and arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tree_sitter import Node

from kernel_lineage.code.cuda.inlining import Formal, parameters_of
from kernel_lineage.code.cuda.names import Names
from kernel_lineage.code.cuda.structs import Struct
from kernel_lineage.kernels.cuda_forms import bare, field_of, inside, operator_of, text_of
from kernel_lineage.kernels.words import with_meanings
from kernel_lineage.rewrite.assists.expression_types import RANKS, type_of
from kernel_lineage.rewrite.assists.layout import statements_of, with_changes
from kernel_lineage.rewrite.assists.loop_changes import is_of_the_language
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.written import dense, in_brackets

_ALLOWED = {
    "identifier", "number_literal", "true", "false", "null", "this", "field_identifier", "type_identifier",
    "primitive_type", "sized_type_specifier", "type_descriptor", "type_qualifier", "abstract_pointer_declarator",
    "parenthesized_expression", "binary_expression", "unary_expression", "conditional_expression", "cast_expression",
    "subscript_expression", "subscript_argument_list", "field_expression", "pointer_expression", "call_expression",
    "argument_list", "template_function", "template_argument_list", "qualified_identifier", "namespace_identifier",
    "sizeof_expression", "char_literal", "character",
}  # fmt: skip
"""What an expression that changes nothing is made of."""
_PLACES = {"subscript_expression", "field_expression", "identifier", "pointer_expression"}
_WHOLE = {*_PLACES - {"pointer_expression"}, "call_expression", "number_literal", "parenthesized_expression"}
"""Expressions that need no brackets where they stand in another one."""
_APART = {"argument_list", "subscript_argument_list", "init_declarator", "return_statement", "parenthesized_expression",
          "condition_clause", "expression_statement"}  # fmt: skip
"""Where an expression needs none."""
_COMPARING, _ARITHMETIC = ("<", "<=", ">", ">=", "==", "!="), ("+", "-", "*", "/", "%")
_NO_TYPE = re.compile(
    r"\b(?:__host__|__device__|__forceinline__|__inline__|inline|static|constexpr|explicit|friend|volatile)\b|"
    r"\[\[[^\]]*\]\]"
)
_BUILT_IN = {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "static_cast"}
ACTS = re.compile(r"atomic|printf|assert|__sync|__shfl|__st|__nanosleep|__trap")
"""Functions of the language that do more than to compute a value."""


@dataclass(frozen=True, slots=True)
class Written:
    """An expression as text."""

    text: str
    type: str
    """By its one name in C++; "" where it is not known."""
    node: Node
    """What it is made of."""
    cast: bool = False
    """Whether it is converted as a whole."""

    def within(self, parent: Node | None) -> str:
        """The text in the place of a part of `parent`, in brackets where it would fall apart there."""
        whole = self.node.type in _WHOLE and not self.cast
        alone = parent is None or parent.type in _APART
        operator = operator_of(parent) if parent is not None and parent.type == "binary_expression" else ""
        cast = self.cast or self.node.type == "cast_expression"
        bound = (operator and cast) or (operator in _COMPARING and operator_of(self.node) in _ARITHMETIC)
        return self.text if whole or alone or bound else f"({self.text})"


@dataclass(frozen=True, slots=True)
class Method:
    """One function of a structure, at a call."""

    names: Names
    struct: Struct
    name: str
    types: Mapping[str, str]
    """What names of types stand for in the structure: its template's parameters and its own other names."""
    written: str
    """The structure's type as the kernel writes it."""
    plain: Callable[[str], str]
    """The one name of a type."""

    def expression(self, receiver: str, arguments: list[Written]) -> tuple[Written, set[str]]:
        """What a call gives, `receiver` being `x.` or `x->`, and the names in it that are not the structure's own.

        Refused where the function does more than to return one expression.
        """
        function, value = self._only(len(arguments))
        formals = parameters_of(function)
        own = {f.name: self._handed(f, a) for f, a in zip(formals, arguments, strict=True)}
        outside = set[str]()
        text = self._text(value, receiver, own, outside)
        returned, result = self._returned(function), self._type(value, formals)
        if "&" in returned and value.type not in _PLACES:
            raise Refusal(f"`{self._called}` returns no place of its structure")
        plain = self.plain(returned.replace("&", " "))
        kept = (
            plain == result
            or returned.split() in (["auto"], ["auto", "&"])
            or "*" in returned
            or "&" in returned
        )
        if kept:
            return Written(text, result, value), outside
        if plain not in (*RANKS, "bool"):
            raise Refusal(f"the type of what `{self._called}` returns is not known")
        return Written(f"({returned}){in_brackets(text)}", plain, value, cast=True), outside

    @property
    def _called(self) -> str:
        return f"{self.struct.name}::{self.name}"

    def _only(self, count: int) -> tuple[Node, Node]:
        """The function that takes so many arguments, and the expression that it returns."""
        listed = self.struct.methods.get(self.name, [])
        fitting = [f for f in listed if len(parameters_of(f)) == count]
        values = [self._value(f) for f in fitting]
        if not values or len(set(map(dense, values))) != 1:
            raise Refusal(f"{self.struct.name} has not one `{self.name}` for such a call")
        # Of two that differ in `const` alone, the one that gives a place may be what is assigned to.
        return min(zip(fitting, values, strict=True), key=lambda both: "&" not in self._returned(both[0]))

    def _value(self, function: Node) -> Node:
        body = [s for s in statements_of(function.child_by_field_name("body")) if s.type != "comment"]
        returned = body[0].named_children if len(body) == 1 and body[0].type == "return_statement" else []
        value = bare(returned[0]) if len(returned) == 1 else None
        if value is None or value.has_error or not {n.type for n in inside(value)} <= _ALLOWED:
            raise Refusal(f"`{self._called}` does more than to return one expression")
        head = text_of(function).partition("{")[0]
        template = function.parent is not None and function.parent.type == "template_declaration"
        if template or re.search(r"\b(?:virtual|override)\b", head):
            raise Refusal(f"`{self._called}` is a template, or another structure's in its place")
        return value

    def _returned(self, function: Node) -> str:
        """The type that a function returns, as the kernel may write it."""
        head = text_of(function)
        name = r"\s*".join(map(re.escape, re.findall(r"\w+|\W", self.name)))
        match = re.search(rf"(?<!\w){name}\s*\(", head)
        written = _NO_TYPE.sub(" ", head[: match.start()]) if match is not None else ""
        words = [w for w in re.findall(r"\w+|\S", written) if w not in self.names.macros]
        return self._meant(" ".join(words).replace(" :: ", "::").replace(": :", "::"))

    def _meant(self, written: str) -> str:
        return with_meanings(written, self.types).strip()

    def _type(self, value: Node, formals: list[Formal]) -> str:
        kinds = {m.name: self._meant(m.type) + "*" * len(m.sizes) for m in self.struct.members}
        for name, constant in self.struct.constants.items():
            kinds[name] = self._meant(text_of(field_of(constant.parent, "type")))
        kinds |= {f.name: self._meant(f.type) + "*" * f.pointer for f in formals}

        def declared(node: Node) -> str:
            argument = field_of(node, "argument")
            if node.type == "field_expression" and argument is not None and argument.type == "this":
                return kinds.get(text_of(node.child_by_field_name("field")), "")
            return kinds.get(text_of(node), "") if node.type == "identifier" else ""

        return type_of(value, declared, lambda written: self.plain(self._meant(written)))

    def _handed(self, formal: Formal, argument: Written) -> Written:
        """An argument as the function's own value of it."""
        kind = self._meant(formal.type)
        if formal.pointer or (formal.reference and not formal.const):
            if not argument.text.isidentifier():
                raise Refusal(f"`{argument.text}` is handed over to `{self._called}` as a place")
            return argument
        if argument.type and self.plain(kind) == argument.type:
            return argument
        if self.plain(kind) not in RANKS:
            raise Refusal(f"what `{self._called}` makes of `{argument.text}` is not known")
        return replace(argument, text=f"({kind}){in_brackets(argument.text)}", cast=True)

    def _text(self, value: Node, receiver: str, own: Mapping[str, Written], outside: set[str]) -> str:
        """The text of an expression in the place of a call."""
        whole, begin = (value.text or b"").decode(), value.start_byte
        data, members = whole.encode(), {m.name for m in self.struct.members} | self.struct.methods.keys()
        changes: list[tuple[Node, str]] = []
        waiting = [value]
        while waiting:
            node = waiting.pop()
            name = text_of(node)
            argument = field_of(node, "argument")
            if node.type == "field_expression" and argument is not None and argument.type == "this":
                field = text_of(node.child_by_field_name("field"))
                changes.append((node, self._own(receiver, field)))
            elif node.type == "this":
                raise Refusal(f"`{self._called}` uses its structure as a whole")
            elif node.type == "call_expression" and ACTS.match(text_of(node.child_by_field_name("function"))):
                raise Refusal(f"`{self._called}` does more than to compute a value")
            elif node.type == "identifier" and name in own:
                changes.append((node, own[name].within(node.parent)))
            elif node.type == "identifier" and name in self.struct.constants:
                changes.append((node, self._own(f"{self.written}::", name)))
            elif node.type == "identifier" and name in members:
                changes.append((node, self._own(receiver, name)))
            elif node.type == "type_identifier" and name in self.types:
                changes.append((node, self.types[name]))
            else:
                if node.type in ("identifier", "type_identifier", "namespace_identifier"):
                    self._check_outside(node, name)
                    outside.add(name)
                waiting += node.named_children
        return " ".join(with_changes(data, begin, changes).split())

    def _own(self, before: str, name: str) -> str:
        if name in self.struct.hidden:
            raise Refusal(f"`{self.struct.name}::{name}` is private")
        return before + name

    def _check_outside(self, node: Node, name: str) -> None:
        """Refuse a name that may be declared in the structure, or in one that it is made of."""
        named = self.names
        outer = (
            named.constants.keys()
            | named.enumerators.keys()
            | named.variables.keys()
            | named.functions.keys()
        )
        outer |= named.macros.keys() | named.aliases.keys() | _BUILT_IN
        qualified = node.parent is not None and node.parent.type == "qualified_identifier"
        if node.type == "identifier" and not qualified and name not in outer and not is_of_the_language(name):
            raise Refusal(f"`{name}` in `{self._called}` is not declared in this file")
