"""The type of an expression, by the types of the names in it, as C++'s usual arithmetic conversions give it."""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, field_of, operator_of, text_of

RANKS = ("int", "unsigned int", "long long", "unsigned long long", "float", "double")
"""The later one here of two operands' types is the result's."""
_PROMOTED = {
    "bool",
    "int8_t",
    "uint8_t",
    "char",
    "unsigned char",
    "short",
    "unsigned short",
    "int16_t",
    "uint16_t",
}
_BUILT_IN = re.compile(r"(?:threadIdx|blockIdx|blockDim|gridDim)\s*\.\s*[xyz]")
_LITERALS = (
    (re.compile(r"\d+"), "int"),
    (re.compile(r"\d+[uU]"), "unsigned int"),
    (re.compile(r"\d*\.?\d*(?:[eE][+-]?\d+)?[fF]"), "float"),
    (re.compile(r"\d*\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+"), "double"),
)
_LARGEST = 2**31 - 1


def type_of(node: Node | None, declared: Callable[[Node], str], plain: Callable[[str], str]) -> str:
    """The type of an expression by its one name in C++ (`unsigned int`); "" where it is not known.

    `declared` gives the type of a name or of a field as it is declared (`const float*`), "" for one that is not known;
    `plain` the one name of a type as it is written.
    """
    node = bare(node)
    if node is None:
        return ""

    def of(name: str) -> str:
        return type_of(field_of(node, name), declared, plain)

    match node.type:
        case "number_literal":
            text = text_of(node)
            kind = next((kind for pattern, kind in _LITERALS if pattern.fullmatch(text)), "")
            return kind if kind != "int" or int(text, 10) <= _LARGEST else ""
        case "field_expression" if _BUILT_IN.fullmatch(text_of(node)):
            return "unsigned int"
        case "identifier" | "field_expression":
            written = declared(node)
            return "" if "*" in written else plain(written)
        case "subscript_expression":
            array = field_of(node, "argument")
            written = declared(array) if array is not None else ""
            return plain(written.replace("*", "")) if written.count("*") == 1 else ""
        case "cast_expression":
            return plain(text_of(node.child_by_field_name("type")))
        case "call_expression":
            cast = re.fullmatch(
                r"static_cast\s*<\s*([\w: ]+?)\s*>", text_of(node.child_by_field_name("function"))
            )
            return plain(cast[1]) if cast is not None else ""
        case "unary_expression" if operator_of(node) in ("-", "+"):
            return _joined(of("argument"), "int")
        case "binary_expression" if operator_of(node) in ("+", "-", "*", "/", "%"):
            return _joined(of("left"), of("right"))
        case "binary_expression" if operator_of(node) in ("<", "<=", ">", ">=", "==", "!=", "&&", "||"):
            return "bool"
        case "conditional_expression":
            return of("consequence") if of("consequence") == of("alternative") else ""
    return ""


def _joined(one: str, other: str) -> str:
    """The type in which an operation on two types is done; "" where one of them is not known."""
    kinds = ["int" if kind in _PROMOTED else kind for kind in (one, other)]
    return max(kinds, key=RANKS.index) if set(kinds) <= set(RANKS) else ""
