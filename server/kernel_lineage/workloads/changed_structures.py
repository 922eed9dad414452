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
from kernel_lineage.workloads.recording.pieces import laid_out


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the plain fields of a structure lie."""

    places: Mapping[str, int]
    dtypes: Mapping[str, str]
    """"" for a pointer."""
    nbytes: int
    align: int


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
            old, new = (_layout(kind, unit) for unit in (before, after))
            operands[number] = _moved(kind, operand, old, new, workload)
    return replace(step, arguments=tuple(operands))


def _whole(kinds: Sequence[str], parts: Sequence[Operand], unit: Unit) -> list[Operand]:
    """One operand for each parameter, of a launch that has one for each field. Raises `ProgramError`."""
    left = list(parts)
    operands: list[Operand] = []
    for kind in kinds:
        if not unit.fields_of(kind):
            operands += left[:1]
            del left[:1]
            continue
        layout = _layout(kind, unit)
        words = [word for word in left[: len(layout.places)] if not isinstance(word, Structure)]
        del left[: len(layout.places)]
        fields = tuple(zip(layout.places.values(), words, strict=False))
        operands.append(Structure(fields, layout.nbytes, layout.align))
    if left or len(operands) != len(kinds):
        raise ProgramError(
            "the workload gives another number of arguments than the kernel's structures have fields"
        )
    return operands


def _declared(fields: Sequence[HostParameter]) -> list[tuple[str, str, int, bool]]:
    return [(f.name, f.type, f.stars, f.array) for f in fields]


def _layout(kind: str, unit: Unit) -> _Layout:
    """Raises `ProgramError` for a structure whose fields are not all plain."""
    laid = laid_out(kind, unit)
    if laid is None:
        raise ProgramError(f"`{kind}` is another structure than before, and not all of its fields are plain")
    fields, nbytes, align = laid
    dtypes = {f.name: "" if f.stars else dtype_of(alias_of(f.type, unit)) or "" for f in fields.values()}
    vectors = [f.name for f in fields.values() if not f.stars and not _is_one_number(f.type, unit)]
    if vectors:
        raise ProgramError(
            f"`{kind}` is another structure than before, and its field `{vectors[0]}` is no number"
        )
    return _Layout({f.name: at for at, f in fields.items()}, dtypes, nbytes, align)


def _is_one_number(written: str, unit: Unit) -> bool:
    kind = alias_of(written, unit)
    dtype = dtype_of(kind)
    return dtype is not None and bytes_of(kind) == DTYPES[dtype].itemsize


def _moved(kind: str, structure: Structure, old: _Layout, new: _Layout, workload: Workload) -> Structure:
    if old.places.keys() != new.places.keys():
        raise ProgramError(f"`{kind}` has other fields than before")
    names = {at: name for name, at in old.places.items()}
    if unseen := [at for at, _ in structure.fields if at not in names]:
        raise ProgramError(f"`{kind}` has no field at byte {unseen[0]} before the change")
    fields = (
        (new.places[names[at]], _typed(word, new.dtypes[names[at]], workload))
        for at, word in structure.fields
    )
    return Structure(tuple(sorted(fields, key=lambda f: f[0])), new.nbytes, new.align)


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
