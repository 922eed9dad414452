"""Several elements per load or store: `float4`, packed structs, and in Triton the contiguity hints."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import pointee
from kernel_lineage.kernels.cuda_forms import Call, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.definitions import number_of, pack_of
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import first_type, in_assembly, seen, seen_in
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_entry, in_units, joined

_PTX = re.compile(r"\b(?:ld|st)(?:\.\w+(?:::\w+)*)*\.v([248])\.[a-z](\d+)")
_COPIES = frozenset({"memcpy", "__builtin_memcpy"})
_COLLECTIVE = re.compile(r"\bBLOCK_(?:LOAD|STORE)_VECTORIZE\b")
"""CUB's ways to load a block of items that use vectors."""


def _casts(unit: Unit) -> Iterator[tuple[str, Node, Node | None]]:
    """Each address that is taken as that of another type: the type pointed to, the cast, the address."""
    for node in unit.of("cast_expression"):
        kind = pointee(node.child_by_field_name("type"))
        if kind:
            yield kind, node, node.child_by_field_name("value")
    for call in unit.calls:
        if call.name == "reinterpret_cast" and call.template.endswith(("*", "&")) and call.arguments:
            yield call.template.rstrip("*& "), call.node, call.arguments[0]


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    reach = indexing(unit)
    carved = {v.name for v in unit.shared_variables if v.sizes and v.sizes[0].type == "array_declarator"}
    for kind, node, address in _casts(unit):
        pack = pack_of(unit, kind)
        root = reach.place(address).root
        # A cast of a dynamic shared array carves it up; one of a local array only fills registers.
        if pack is not None and root not in carved and reach.space_of(root) != "local":
            yield seen(node, f"address taken as {kind}*", root, bytes=pack.width)
    for call in unit.calls:
        size = _copied_bytes(unit, call) if call.name in _COPIES and len(call.arguments) == 3 else 0
        if size in (8, 16, 32):
            roots = [reach.place(a).root for a in call.arguments[:2]]
            outer = [root for root in roots if root and reach.space_of(root) != "local"]
            for root in outer[:1]:
                yield seen(call.node, f"{call.name} moves {size} bytes at once", root, bytes=size)
    for match, node in in_assembly(unit, _PTX):
        size = int(match[1]) * int(match[2]) // 8
        yield seen(node, f"inline PTX moves {size} bytes", bytes=size)
    collective = first_type(unit, _COLLECTIVE)
    if collective is not None:
        yield seen(collective[1], "CUB moves vectors", by="cub")


def _packed_parameters(unit: Unit) -> Iterator[Site]:
    packs = {
        p.name: pack
        for p in unit.kernel.parameters
        if p.pointer and (pack := pack_of(unit, _element(p.type)))
    }
    for access in indexing(unit).accesses if packs else ():
        if access.root in packs:
            width = packs[access.root].width
            yield seen(access.node, f"{access.root} holds vectors", access.root, bytes=width)


def _copied_bytes(unit: Unit, call: Call) -> int:
    """How many bytes a `memcpy` copies, as far as its text tells."""
    size = call.arguments[2]
    described = size.child_by_field_name("type") if size.type == "sizeof_expression" else None
    pack = pack_of(unit, text_of(described)) if described is not None else None
    return (pack.width or 0) if pack is not None else number_of(unit, size) or 0


def _element(written: str) -> str:
    words = [
        w
        for w in written.replace("*", " ").split()
        if w not in ("const", "__restrict__", "volatile", "restrict")
    ]
    return words[0] if words else ""


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    for call in unit.called("max_contiguous", "multiple_of"):
        if call.of_language:
            note = f"{call.qualified} tells the compiler what it may vectorise"
            yield seen_in(unit, call.node, note, by=call.name)


MECHANISM = Mechanism(
    title="Vectorised access",
    direction=Direction.MEMORY_ACCESS,
    summary="Moves 8 or 16 bytes per instruction instead of one element, so fewer instructions keep the memory busy.",
    looks_for="Addresses taken as `float4*` and the like, packing structs of 128 bits, and Triton's contiguity hints.",
    detect=joined(in_units(_detect_cuda, _detect_triton), in_entry(_packed_parameters)),
    conditions=(
        validity("align(x) >= 16", "layout", "A 16-byte access faults at another address."),
        validity("C % 4 == 0", "shape", "A row that is no multiple leaves a tail, or shifts rows."),
        validity("contiguous(x)", "layout", "Neighbouring elements must be neighbours in memory."),
        profit('profile.bound == "bandwidth"', "pipeline", "It saves only what waits for memory."),
    ),
)
