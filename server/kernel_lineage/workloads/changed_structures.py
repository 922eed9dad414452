"""Structures that kernels are given by value, laid out anew where a change gives their fields other types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kernel_gate.dtypes import DTYPES
from kernel_gate.program import LaunchStep, Operand, Pointer, Step, Structure, Value, Word
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.workloads.following.fields import alias_of
from kernel_lineage.workloads.following.functions import HostParameter, bare_type
from kernel_lineage.workloads.following.types import bytes_of, dtype_of
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.program_errors import ProgramError

_POINTER = 8
"""Bytes."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A plain field where it lies."""

    at: int
    dtype: str
    """"" for a pointer."""


def with_structures_after(
    steps: Sequence[Step], source: SourceFile, before: Unit, after: Unit, workload: Workload
) -> tuple[Step, ...]:
    """The steps with structures as the code after a change lays them out: fields go by their names.

    Raises `ProgramError` where a structure has other fields than before, or one that is not plain.
    """
    return tuple(
        _laid_out(step, source, before, after, workload) if isinstance(step, LaunchStep) else step
        for step in steps
    )


def _laid_out(
    step: LaunchStep, source: SourceFile, before: Unit, after: Unit, workload: Workload
) -> LaunchStep:
    kernel = source.kernel(step.entry.rpartition("::")[2])
    if kernel is None:
        return step
    kinds = [bare_type(p.type) for p in kernel.parameters]
    changed = {k for k in kinds if _declared(before.fields_of(k)) != _declared(after.fields_of(k))}
    if not changed:
        return step
    operands = list(step.arguments)
    if len(operands) != len(kinds):
        operands = _whole(kinds, operands, before)
    for number, (kind, operand) in enumerate(zip(kinds, operands, strict=True)):
        if kind in changed and isinstance(operand, Structure):
            old, new = (_plain(kind, unit.fields_of(kind), unit) for unit in (before, after))
            operands[number] = _moved(kind, operand, old, new, workload)
    return replace(step, arguments=tuple(operands))


def _whole(kinds: Sequence[str], parts: Sequence[Operand], unit: Unit) -> list[Operand]:
    """One operand for each parameter, of a launch that has one for each field. Raises `ProgramError`."""
    left = list(parts)
    operands: list[Operand] = []
    for kind in kinds:
        if not (fields := unit.fields_of(kind)):
            operands += left[:1]
            del left[:1]
            continue
        places = _plain(kind, fields, unit)
        words = [word for word in left[: len(fields)] if not isinstance(word, Structure)]
        del left[: len(fields)]
        at = [field.at for field in places.values()]
        operands.append(Structure(tuple(zip(at, words, strict=False)), *_extent(places)))
    if left or len(operands) != len(kinds):
        raise ProgramError(
            "the workload gives another number of arguments than the kernel's structures have fields"
        )
    return operands


def _declared(fields: Sequence[HostParameter]) -> list[tuple[str, str, int, bool]]:
    return [(f.name, f.type, f.stars, f.array) for f in fields]


def _plain(kind: str, fields: Sequence[HostParameter], unit: Unit) -> dict[str, _Field]:
    """Where the fields of a structure lie (C++: each at a multiple of its own size). Raises `ProgramError`."""
    places: dict[str, _Field] = {}
    end = 0
    for field in fields:
        dtype = "" if field.stars else dtype_of(alias_of(field.type, unit))
        nbytes = _POINTER if field.stars else bytes_of(alias_of(field.type, unit))
        if field.array or nbytes is None or dtype is None:
            raise ProgramError(
                f"`{kind}` is another structure than before, and `{field.name}` is no plain field of it"
            )
        at = -(-end // nbytes) * nbytes
        places[field.name], end = _Field(at, dtype), at + nbytes
    return places


def _moved(
    kind: str, structure: Structure, old: Mapping[str, _Field], new: Mapping[str, _Field], workload: Workload
) -> Structure:
    if old.keys() != new.keys():
        raise ProgramError(f"`{kind}` has other fields than before")
    names = {field.at: name for name, field in old.items()}
    if unseen := [at for at, _ in structure.fields if at not in names]:
        raise ProgramError(f"`{kind}` has no field at byte {unseen[0]} before the change")
    fields = tuple(
        (new[names[at]].at, _typed(word, new[names[at]].dtype, workload)) for at, word in structure.fields
    )
    return Structure(tuple(sorted(fields, key=lambda f: f[0])), *_extent(new))


def _extent(places: Mapping[str, _Field]) -> tuple[int, int]:
    """Bytes of a structure, and what its address is a multiple of."""
    sizes = {f.at: DTYPES[f.dtype].itemsize if f.dtype else _POINTER for f in places.values()}
    align = max(sizes.values(), default=1)
    end = max((at + size for at, size in sizes.items()), default=0)
    return -(-end // align) * align, align


def _typed(word: Word, dtype: str, workload: Workload) -> Word:
    """A number as a field of this type holds it; what points stays."""
    if isinstance(word, Pointer) or not dtype:
        return word
    if isinstance(word, Value):
        return Value(word.value, dtype)
    argument = workload.argument(word)
    if argument is None or argument.is_pointer or argument.dtype == dtype:
        return word
    return Value(word, dtype)
