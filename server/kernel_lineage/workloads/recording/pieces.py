"""The arguments of a recorded launch as a workload has them: a structure is given by what it is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernel_gate.dtypes import DTYPES as ELEMENTS
from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.following.types import bytes_of, dtype_of
from kernel_lineage.workloads.following.unit import HostParameter, Unit, bare_type
from kernel_lineage.workloads.recording.launches import Held, Launch, Recorded

_WORDS = {4: "uint32", 2: "uint16", 1: "uint8"}
_SPELLED = {
    "long int": "int64", "long long int": "int64", "long unsigned int": "uint64", "long long unsigned int": "uint64",
    "unsigned int": "uint32", "int": "int32", "short int": "int16", "short unsigned int": "uint16", "char": "int8",
    "signed char": "int8", "unsigned char": "uint8", "bool": "bool", "float": "float32", "double": "float64",
}  # fmt: skip
"""g++'s names of C++'s own types."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A scalar, a pointer, or a part of a structure."""

    name: str
    argument: int
    """Place of the launch's argument."""
    at: int
    """Bytes from the argument's start."""
    dtype: str | None
    """Of a scalar its type, of a pointer that of the elements, if it is told."""
    pointer: bool
    const: bool = False
    part: bool = False
    """Whether it is a part of a structure."""
    padding: bool = False

    @property
    def nameless(self) -> bool:
        """Whether no field is known to lie there: it may be what nobody sets."""
        return self.padding or self.name.endswith(f"_at_{self.at}")

    def held(self, launch: Launch) -> Held | None:
        """What the pointer points into at a launch; None for a number."""
        return next((p for p in launch.arguments[self.argument].pointers if p.at == self.at), None)

    def number(self, launch: Launch) -> int | float:
        """The scalar's value at a launch."""
        if self.padding or self.dtype is None:
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
    if name in _SPELLED:
        return _SPELLED[name]
    if (plain := dtype_of(name)) is not None:
        return plain
    bare = name.rsplit("::", 1)[-1]
    if bare in unit.enums:
        return "int32"
    kinds = {dtype_of_type(f.type, unit) if not f.stars else None for f in unit.fields.get(bare, ())}
    return kinds.pop() if len(kinds) == 1 else None


def pieces_of(kernel: Kernel, launches: Sequence[Launch], unit: Unit) -> tuple[Piece, ...]:
    """What a kernel is given, in the order of its parameters' bytes."""
    found: list[Piece] = []
    at = 0
    for place, argument in enumerate(launches[0].arguments):
        name = kernel.parameters[place].name if place < len(kernel.parameters) else f"argument_{place}"
        written = kernel.parameters[place] if place < len(kernel.parameters) else None
        spelled = argument.type.strip()
        pointer = spelled.endswith("*")
        dtype = (written.dtype if written is not None else None) or dtype_of_type(spelled, unit)
        start = -(-at // argument.alignment) * argument.alignment
        if pointer or (dtype is not None and ELEMENTS[dtype].itemsize == len(argument.data)):
            const = spelled.startswith("const ") or (written is not None and written.const)
            found.append(Piece(name, place, 0, dtype, pointer, const))
        else:
            found += _padding(name, place, at, start)
            found += _parts(
                name, place, len(launches[0].arguments), [r.arguments[place] for r in launches], unit
            )
        at = start + len(argument.data)
    return tuple(found)


def _padding(name: str, place: int, at: int, start: int) -> Iterator[Piece]:
    """What lies before a structure: its parts alone would begin earlier."""
    for count in range((start - at) // 4):
        yield Piece(f"{name}_before_{count}", place, 0, "uint32", pointer=False, part=True, padding=True)


def _parts(name: str, place: int, count: int, seen: Sequence[Recorded], unit: Unit) -> Iterator[Piece]:
    first = seen[0]
    last = place + 1 == count
    named = _fields(element_type(first.type), unit, len(first.data))
    pointers = {p.at for one in seen for p in one.pointers if p.buffer is not None}
    at = 0
    width = min(4, first.alignment)
    while at < len(first.data):
        field = named.get(at)
        if field is not None and (at in pointers or field.stars):
            yield Piece(
                f"{name}_{field.name}",
                place,
                at,
                dtype_of_type(field.type, unit),
                True,
                field.const,
                part=True,
            )
            at += 8
        elif at in pointers:
            yield Piece(f"{name}_at_{at}", place, at, None, pointer=True, part=True)
            at += 8
        elif field is not None and (dtype := dtype_of_type(field.type, unit)) is not None:
            yield Piece(f"{name}_{field.name}", place, at, dtype, pointer=False, part=True)
            at += ELEMENTS[dtype].itemsize
        else:
            step = width
            while step > 1 and (at % step or any(at < other < at + step for other in named)):
                step //= 2
            # Between fields, and behind the last one where an argument follows, there is what aligns the next.
            if not named:
                yield Piece(f"{name}_at_{at}", place, at, _WORDS[step], pointer=False, part=True)
            elif at > max(named) and not last:
                yield Piece(
                    f"{name}_at_{at}", place, at, _WORDS[step], pointer=False, part=True, padding=True
                )
            at += step


def _fields(kind: str, unit: Unit, size: int) -> dict[int, HostParameter]:
    """A structure's plain fields by their places; none where they do not take the bytes that it has."""
    bare = re.sub(r"<.*>", "", kind).rsplit("::", 1)[-1]
    fields = unit.fields.get(bare, ())
    found: dict[int, HostParameter] = {}
    at = largest = 0
    for field in fields:
        width = 8 if field.stars else _width(field.type, unit)
        if width is None or field.array:
            return {}
        at = -(-at // width) * width
        largest = max(largest, width)
        found[at] = field
        at += width
    return found if largest and -(-at // largest) * largest == size else {}


def _width(kind: str, unit: Unit) -> int | None:
    kind = unit.types.get(kind, kind)
    if kind in unit.enums:
        return 4
    dtype = DTYPES.get(kind) or _SPELLED.get(kind)
    return ELEMENTS[dtype].itemsize if dtype is not None else bytes_of(kind)
