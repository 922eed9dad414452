"""What a CUDA C++ kernel does with the buffers that it is given: reads, writes, or both."""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.cuda_forms import inside
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax, Unit, cuda_syntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.model import Role

_DEPTH = 4
_FRAGMENTS = {"load_matrix_sync": 1, "store_matrix_sync": 0}
"""The place of the pointer among the arguments of `nvcuda::wmma`'s functions."""
_MOVES = re.compile(r"_*(?:(st(?:ore|cg|cs|wb|wt))|ld(?:g|cg|cs|ca|lu|cv)|load)(?![a-z])")
"""Functions whose name says that they read or write at their first argument: the intrinsics with cache hints, and what
projects call their own (`store_aligned`, `load128cs`), which may stand in another file."""
_ATOMIC = re.compile(r"atomic", re.IGNORECASE)
"""CUDA's own, and what libraries call theirs, such as `gpuAtomicAdd`, whose text is not here."""
_VALUE = frozenset({"subscript_expression", "call_expression", "field_expression"})


def roles_of(kernel: Kernel) -> dict[str, Role]:
    """Pointer parameter → its role. One that the kernel is not seen to touch is an input."""
    syntax = cuda_syntax(kernel)
    if syntax is None:
        return {}
    names = tuple(p.name for p in kernel.parameters if p.pointer)
    touched = _touched(syntax, syntax.entry, names, _DEPTH)
    if any(n.type == "reference_declarator" for n in inside(syntax.entry.node)):
        # What is done through `Pair& own = pairs[i];` is seen by the reader of values alone.
        for access in read_open(kernel).accesses:
            if access.root in touched and access.space == "global":
                reads, writes = touched[access.root]
                touched[access.root] = (reads or access.reads, writes or access.writes)
    return {
        name: "inout" if reads and writes else "output" if writes else "input"
        for name, (reads, writes) in touched.items()
    }


def handed_on(kernel: Kernel) -> frozenset[str]:
    """The pointers that a kernel hands to functions whose text is not here: what those do with them is not seen."""
    syntax = cuda_syntax(kernel)
    if syntax is None:
        return frozenset()
    here = {unit.name for unit in syntax.units[1:]}
    names = {p.name for p in kernel.parameters if p.pointer and not p.const}
    pointers: set[str] = set()
    for unit in syntax.units:
        places = indexing(unit)
        for call in (c for c in unit.calls if c.name not in here):
            pointers |= {places.place(a).root for a in call.arguments if not _is_value(a)} & names
    return frozenset(pointers)


def _is_value(node: Node) -> bool:
    """Whether an argument is an element, or what is calculated of some, and no address."""
    if node.type == "pointer_expression":
        return not (node.text or b"").startswith(b"&")
    return node.type in _VALUE or any(_is_value(c) for c in node.named_children)


def _touched(
    syntax: CudaSyntax, unit: Unit, names: tuple[str, ...], depth: int
) -> dict[str, tuple[bool, bool]]:
    """Pointer → whether it is read, and whether it is written, here or in a function that it is handed to."""
    touches = dict.fromkeys(names, (False, False))
    places = indexing(unit)

    def touch(root: str, reads: bool, writes: bool) -> None:
        if root in touches:
            touches[root] = (touches[root][0] or reads, touches[root][1] or writes)

    for access in places.accesses:
        touch(access.root, access.reads, access.writes)
    for call in unit.calls:
        if _ATOMIC.search(call.name) and call.arguments:
            touch(places.place(call.arguments[0]).root, reads=True, writes=True)
            continue
        if call.name in _FRAGMENTS and len(call.arguments) > _FRAGMENTS[call.name]:
            pointer = call.arguments[_FRAGMENTS[call.name]]
            touch(places.place(pointer).root, reads="load" in call.name, writes="store" in call.name)
            continue
        callee = next((u for u in syntax.units[1:] if u.name == call.name), None)
        if call.arguments and (move := _MOVES.match(call.name)):
            touch(places.place(call.arguments[0]).root, reads=move[1] is None, writes=move[1] is not None)
        if callee is None or not depth or callee is unit:
            continue
        parameters = _parameters(callee)
        inner = _touched(syntax, callee, tuple(p for p in parameters if p), depth - 1)
        for parameter, argument in zip(parameters, call.arguments, strict=False):
            if parameter in inner:
                touch(places.place(argument).root, *inner[parameter])
    return touches


def _parameters(unit: Unit) -> tuple[str, ...]:
    """The names of a function's pointer parameters at their places; "" for the others."""
    node = unit.node
    if node.type == "template_declaration":
        node = next((c for c in node.named_children if c.type == "function_definition"), node)
    listed: Node | None = node.child_by_field_name("declarator")
    while listed is not None and listed.type != "parameter_list":
        listed = listed.child_by_field_name("parameters") or listed.child_by_field_name("declarator")
    pointers = unit.pointer_parameters
    texts = [(p.text or b"").decode("utf-8", "replace") for p in listed.named_children] if listed else []
    words = (re.findall(r"\w+", re.split(r"[\[=]", text)[0]) for text in texts)
    return tuple(own[-1] if own and own[-1] in pointers else "" for own in words)
