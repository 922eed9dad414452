"""The arguments of a recorded launch as a workload has them: a structure is given by what it is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernel_gate.dtypes import DTYPES as ELEMENTS
from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.cuda_text import at_commas
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.following.functions import HostParameter, bare_type
from kernel_lineage.workloads.following.types import VECTORS, bytes_of, dtype_of
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.recording.launches import Held, Launch, Recorded

_WORDS = {4: "uint32", 2: "uint16", 1: "uint8"}
_MOST_NESTED = 8
_ACCESSOR = re.compile(r"(?:\w+::)*(?:Generic)?PackedTensorAccessor(?:32|64)?<(.*)>")
_ALIGNED = {name: min(16, (bytes_of(name) or 1)) for name in VECTORS if name[-1] in "24"}
"""CUDA's own vectors that are aligned to all that they are, up to 16 bytes (CUDA C++ programming guide)."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A scalar, a pointer, or a part of a structure."""

    name: str
    argument: int
    """Place of the launch's argument."""
    at: int
    """Bytes from the argument's start."""
    dtype: str | None
    """The type of a scalar, or of a pointer's elements, if it is told."""
    pointer: bool
    const: bool = False
    part: bool = False
    """Whether it is a part of a structure."""
    of_addresses: bool = False
    """Whether its elements are pointers themselves."""
    nameless: bool = False
    """Whether no field is known to lie there: it may be what nobody sets."""

    def held(self, launch: Launch) -> Held | None:
        """What the pointer points into at a launch; None for a number."""
        return next((p for p in launch.arguments[self.argument].pointers if p.at == self.at), None)

    def number(self, launch: Launch) -> int | float:
        """The scalar's value at a launch."""
        if self.dtype is None:
            return 0
        element = ELEMENTS[self.dtype]
        raw = launch.arguments[self.argument].data[self.at : self.at + element.itemsize]
        if len(raw) < element.itemsize:
            return 0
        return _number(raw, self.dtype)


def _number(raw: bytes, dtype: str) -> int | float:
    element = ELEMENTS[dtype]
    value: int | float = element.wide(np.frombuffer(raw, element.storage))[0].item()
    return value


def element_type(spelled: str) -> str:
    """`const float*` as `float`."""
    return bare_type(re.sub(r"\b__restrict__?\b", "", spelled))


def dtype_of_type(spelled: str, unit: Unit) -> str | None:
    """The type of a scalar, or of a pointer's elements; of a structure whose fields are all of one type, that type."""
    name = element_type(spelled)
    if name in DTYPES:
        return DTYPES[name]
    if (plain := dtype_of(name)) is not None:
        return plain
    bare = name.rsplit("::", 1)[-1]
    if bare in unit.enums:
        return "int32"
    kinds = {dtype_of_type(f.type, unit) if not f.stars else None for f in unit.fields.get(bare, ())}
    return kinds.pop() if len(kinds) == 1 else None


def pieces_of(kernel: Kernel, launches: Sequence[Launch], unit: Unit) -> tuple[Piece, ...]:
    """What a kernel is given, in the order of its parameters' bytes; of structures, what is not 0 at every launch."""
    pieces: list[Piece] = []
    for place, argument in enumerate(launches[0].arguments):
        name = kernel.parameters[place].name if place < len(kernel.parameters) else f"argument_{place}"
        written = kernel.parameters[place] if place < len(kernel.parameters) else None
        spelled = argument.type.strip()
        pointer = spelled.endswith("*")
        dtype = (written.dtype if written is not None else None) or dtype_of_type(spelled, unit)
        if pointer or (dtype is not None and ELEMENTS[dtype].itemsize == len(argument.data)):
            const = spelled.startswith("const ") or (written is not None and written.const)
            is_table = spelled.count("*") > 1
            pieces.append(Piece(name, place, 0, dtype, pointer, const, of_addresses=is_table))
        else:
            pieces += _parts(name, place, [run.arguments[place] for run in launches], unit)
    return tuple(pieces)


def _parts(name: str, place: int, seen: Sequence[Recorded], unit: Unit) -> Iterator[Piece]:
    first = seen[0]
    if (accessor := _accessor(first)) is not None:
        yield from _of_accessor(name, place, *accessor)
        return
    named = _fields(element_type(first.type), unit, len(first.data))
    pointers = {p.at for one in seen for p in one.pointers if p.buffer is not None}
    for at, field in sorted(named.items()):
        dtype = dtype_of_type(unit.types.get(field.type, field.type), unit)
        yield Piece(
            f"{name}_{field.name}",
            place,
            at,
            dtype,
            at in pointers or field.stars > 0,
            field.const,
            part=True,
            of_addresses=field.stars > 1,
        )
    if named:
        return
    at = 0
    while at < len(first.data):
        step = min(4, first.alignment)
        if at in pointers:
            step = 8
            yield Piece(f"{name}_at_{at}", place, at, None, pointer=True, part=True, nameless=True)
        elif any(any(one.data[at : at + step]) for one in seen):
            yield Piece(f"{name}_at_{at}", place, at, _WORDS[step], pointer=False, part=True, nameless=True)
        at += step


def _accessor(argument: Recorded) -> tuple[str, str, int] | None:
    """What PyTorch's packed accessors have: the type of their elements, that of an index, and how many extents."""
    match = _ACCESSOR.fullmatch(element_type(argument.type))
    words = at_commas(match[1]) if match is not None else []
    if len(words) != 4 or not (rank := re.match(r"\d+", words[1].strip())):
        return None
    dtype, index, extents = dtype_of(words[0].strip()), dtype_of(words[3].strip()), int(rank[0])
    if (
        dtype is None
        or index is None
        or -(-(8 + 2 * extents * ELEMENTS[index].itemsize) // 8) * 8 != len(argument.data)
    ):
        return None
    return dtype, index, extents


def _of_accessor(name: str, place: int, dtype: str, index: str, extents: int) -> Iterator[Piece]:
    """The memory by the accessor's own name, then `NAME_size_0` and on, then `NAME_stride_0` and on."""
    yield Piece(name, place, 0, dtype, pointer=True, part=True)
    words = [f"{name}_{word}_{axis}" for word in ("size", "stride") for axis in range(extents)]
    for number, word in enumerate(words):
        at = 8 + number * ELEMENTS[index].itemsize
        yield Piece(word, place, at, index, pointer=False, part=True)


def _fields(kind: str, unit: Unit, size: int) -> dict[int, HostParameter]:
    """A structure's plain fields by their places, those of structures in it by the names of both; none where they do
    not take the bytes that it has.
    """
    laid = laid_out(kind, unit)
    return laid[0] if laid is not None and laid[1] == size else {}


def laid_out(kind: str, unit: Unit, depth: int = 0) -> tuple[dict[int, HostParameter], int, int] | None:
    """A structure's plain fields by their places, its bytes, and its alignment; None where they are not told."""
    places: dict[int, HostParameter] = {}
    at, largest = 0, 1
    fields = unit.fields_of(kind) or unit.fields_of(kind.rsplit("::", 1)[-1])
    if not fields or depth == _MOST_NESTED:
        return None
    for field in fields:
        width = 8 if field.stars else _width(field.type, unit)
        inner = None if field.stars else laid_out(unit.types.get(field.type, field.type), unit, depth + 1)
        if field.array or (width is None and inner is None):
            return None
        parts = {0: field} if inner is None else _named_within(field, inner[0])
        width, alignment = (width or 0, width or 1) if inner is None else inner[1:]
        alignment = _ALIGNED.get(field.type, alignment)
        at = -(-at // alignment) * alignment
        largest = max(largest, alignment)
        places |= {at + place: part for place, part in parts.items()}
        at += width
    return places, -(-at // largest) * largest, largest


def _named_within(field: HostParameter, parts: dict[int, HostParameter]) -> dict[int, HostParameter]:
    return {place: replace(part, name=f"{field.name}_{part.name}") for place, part in parts.items()}


def _width(kind: str, unit: Unit) -> int | None:
    kind = unit.types.get(kind, kind)
    if kind in unit.enums:
        return 4
    dtype = DTYPES.get(kind)
    return ELEMENTS[dtype].itemsize if dtype is not None else bytes_of(kind)
