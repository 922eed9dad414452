"""The types of a buffer's elements that one wide access may move several of."""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.kernels.cuda_forms import field_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.element_uses import outer
from kernel_lineage.rewrite.assists.split_structures import structure_of
from kernel_lineage.rewrite.assists.template_types import dtypes_meant

_OF_DTYPE = {"float32": "float", "int32": "int", "uint32": "unsigned int"}
BY_BYTES = {16: "uint4", 8: "uint2", 4: "unsigned int", 2: "unsigned short", 1: "unsigned char"}
"""A type of CUDA that moves so many bytes in one access."""
_NO_TYPE = {"const", "struct", "__restrict__", "__restrict", "restrict"}


def element_type(kernel: Kernel, syntax: CudaSyntax, pointer: str) -> tuple[str, int] | None:
    """The type of a pointer's elements as code may write it, and its bytes; None for other types."""
    for variable in syntax.entry.variables:
        if variable.name == pointer:
            size = _bytes(kernel, variable.type)
            plain = variable.pointer and not variable.sizes and "volatile" not in text_of(variable.node)
            return (variable.type, size) if plain and size else None
    parameter = kernel.parameter(pointer)
    if parameter is None or not parameter.pointer or "volatile" in parameter.type:
        return None
    written = re.sub(r"\b(?:const|__restrict__|__restrict|restrict)\b|\*", " ", parameter.type)
    written = " ".join(written.split())
    size = _bytes(kernel, written)
    return (_OF_DTYPE.get(parameter.dtype or "", written), size) if size else None


def record_type(kernel: Kernel, nodes: list[Node], pointer: str) -> tuple[str, int] | None:
    """As `element_type`, of structures of numbers that one wide access moves, more than one member of which is used."""
    parameter = kernel.parameter(pointer)
    if parameter is None or parameter.type.count("*") != 1 or "volatile" in parameter.type:
        return None
    words = [w for w in WORD.findall(parameter.type) if w not in _NO_TYPE]
    structure = structure_of(kernel, words[0]) if len(words) == 1 else None
    if structure is None or structure.bytes not in BY_BYTES:
        return None
    elements = [
        n for n in nodes if n.type == "subscript_expression" and text_of(field_of(n, "argument")) == pointer
    ]
    parents = [outer(n) for n in elements]
    members = {text_of(p.child_by_field_name("field")) for p in parents if p and p.type == "field_expression"}
    whole = any(p is None or p.type != "field_expression" for p in parents)
    return (structure.name, structure.bytes) if whole or len(members) > 1 else None


def _bytes(kernel: Kernel, name: str) -> int:
    """Bytes of an element type, for all that a template's parameter stands for; 0 where no wide access may hold it."""
    dtypes = dtypes_meant(kernel, name)
    sizes = {dtype_bytes(dtype) for dtype in dtypes}
    return sizes.pop() if len(sizes) == 1 and "bool" not in dtypes else 0
