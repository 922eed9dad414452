"""Which expressions of CUDA C++ are computed in single precision, as far as the kernel's own text tells."""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.code.cuda.math_functions import SINGLE
from kernel_lineage.kernels.cuda_forms import arguments_of, bare, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_parameters import aliases_of, meant_type
from kernel_lineage.kernels.cuda_syntax import Unit

_SINGLE_LITERAL = re.compile(r"(?:[\d.']+(?:[eE][+-]?\d+)?|0[xX][\da-fA-F.']+[pP][+-]?\d+)[fF]")
_WHOLE_LITERAL = re.compile(r"(?:\d[\d']*|0[xX][\da-fA-F']+)[uUlL]*")
_SINGLE_FUNCTIONS = SINGLE | {
    "__expf", "__logf", "__log2f", "__fdividef", "__frcp_rn", "__int2float_rn", "__half2float", "__bfloat162float",
    "__fmaf_rn", "__frsqrt_rn", "__tanhf",
}  # fmt: skip
_WHOLE_FUNCTIONS = frozenset(
    {"__popc", "__popcll", "__clz", "__clzll", "__ffs", "__ffsll", "__brev", "__dp4a"}
)
_OF_ITS_ARGUMENTS = frozenset({"max", "min", "abs"})
_OF_BITS = frozenset({"%", "&", "|", "^", "<<", ">>"})
"""What nothing but whole numbers can be combined by."""
_WHOLE = re.compile(
    r"(?:unsigned|signed)?(?:int|short|char|long|longlong|longint)?|u?int(?:8|16|32|64)_t|size_t|bool"
)


def is_single(unit: Unit, node: Node | None) -> bool:
    """Whether an expression is known to be a `float`; False for doubles, whole numbers and what is not known."""
    return _kind(unit, node) == "float"


def is_whole(unit: Unit, node: Node | None) -> bool:
    """Whether an expression is known to be a whole number, of any size."""
    return _kind(unit, node) == "int"


def _kind(unit: Unit, node: Node | None, depth: int = 0) -> str:
    """`float`, `int` for whole numbers of any size, "" for everything else and for what is not known."""
    node = bare(node)
    if node is None or depth > 16:
        return ""
    match node.type:
        case "number_literal":
            text = text_of(node)
            if _SINGLE_LITERAL.fullmatch(text):
                return "float"
            return "int" if _WHOLE_LITERAL.fullmatch(text) else ""
        case "identifier":
            return _declared(unit, text_of(node), pointer=False)
        case "field_expression":
            return (
                "int" if re.fullmatch(r"(threadIdx|blockIdx|blockDim|gridDim)\.[xyz]", text_of(node)) else ""
            )
        case "subscript_expression":
            array = field_of(node, "argument")
            while array is not None and array.type == "subscript_expression":
                array = field_of(array, "argument")
            return (
                _declared(unit, text_of(array), pointer=True) if array and array.type == "identifier" else ""
            )
        case "cast_expression":
            return _named(unit, text_of(node.child_by_field_name("type")))
        case "call_expression":
            name = text_of(node.child_by_field_name("function"))
            if name in _OF_ITS_ARGUMENTS:
                kinds = {_kind(unit, a, depth + 1) for a in arguments_of(node)}
                return kinds.pop() if len(kinds) == 1 else ""
            if name in _WHOLE_FUNCTIONS:
                return "int"
            return "float" if name in _SINGLE_FUNCTIONS else _named(unit, _cast_to(name))
        case "unary_expression" if operator_of(node) in ("-", "+"):
            return _kind(unit, node.child_by_field_name("argument"), depth + 1)
        case "binary_expression" if operator_of(node) in _OF_BITS:
            return "int"
        case "binary_expression" if operator_of(node) in ("+", "-", "*", "/"):
            return _joined(unit, node, ("left", "right"), depth)
        case "conditional_expression":
            return _joined(unit, node, ("consequence", "alternative"), depth)
    return ""


def _joined(unit: Unit, node: Node, fields: tuple[str, str], depth: int) -> str:
    """A `float` with a `float` or a whole number is a `float`."""
    kinds = {_kind(unit, node.child_by_field_name(field), depth + 1) for field in fields}
    if "" in kinds:
        return ""
    return "float" if "float" in kinds else "int"


def _cast_to(function: str) -> str:
    """`float` of `float(x)` and of `static_cast<float>(x)`."""
    match = re.fullmatch(r"static_cast\s*<\s*([\w ]+?)\s*>|(float|int|double)", function)
    return (match[1] or match[2]) if match else "?"


def _named(unit: Unit, written: str) -> str:
    source = unit.kernel.source
    written = meant_type(written, aliases_of(source)) if source is not None else written
    plain = re.sub(r"\b(?:const|volatile|constexpr|static|register)\b|\s", "", written)
    if plain == "float":
        return "float"
    return "int" if plain and _WHOLE.fullmatch(plain) else ""


def _declared(unit: Unit, name: str, *, pointer: bool) -> str:
    """The kind of a variable, or of what a pointer or an array of that name holds; "" where two are called so."""
    kinds = {
        _named(unit, v.type)
        for v in unit.variables
        if v.name == name and (v.pointer or bool(v.sizes)) is pointer
    }
    kinds |= {"?" for v in unit.variables if v.name == name and (v.pointer or bool(v.sizes)) is not pointer}
    if unit.entry:
        for parameter in unit.kernel.parameters:
            if parameter.name == name:
                written = parameter.type.replace("__restrict__", "").replace("__restrict", "")
                same = parameter.pointer is pointer and written.count("*") == int(pointer)
                kinds.add(_named(unit, written.replace("*", "")) if same else "?")
    return kinds.pop() if len(kinds) == 1 and "?" not in kinds else ""
