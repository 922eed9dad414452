"""Variables of the device's code that host code fills, such as `__constant__` arrays: inputs that no launch gives.

What is read is where they are declared; the range of whole numbers is seen by running the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_gate.dtype_names import FLOAT_NAMES
from kernel_gate.dtypes import DTYPES
from kernel_gate.footprint import FootprintError, footprints
from kernel_gate.workload import WorkloadError
from kernel_lineage.code.cuda.layouts import layout_of
from kernel_lineage.code.cuda.read import expressions_of
from kernel_lineage.kernels.cuda_constants import whole_numbers_in
from kernel_lineage.kernels.cuda_text import split, text_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.device_code import device_text
from kernel_lineage.workloads.files import data_of
from kernel_lineage.workloads.following.types import bytes_of, dtype_of
from kernel_lineage.workloads.index_ranges import with_ranges_in_bounds
from kernel_lineage.workloads.model import UNRANGED, WHOLE_RANGES, Draft, DraftArgument
from kernel_lineage.workloads.programs import ProgramError, program_from_file

_DECLARED = re.compile(
    rb"(?<![\w:])([\w:\s]*?\b__(?:constant|device)__\s(?:[^;{}()=#\[\]]|\[[^;{}=#\[\]]*\])*);"
)
_HEAD = re.compile(r"(.*[\s>])(\w+)\s*((?:\[[^\]]*\]\s*)*)", re.DOTALL)
_NAME = re.compile(r"\s*(\w+)\s*((?:\[[^\]]*\]\s*)*)", re.DOTALL)
_SPECIFIER = re.compile(r"\b(?:__constant__|__device__|static|volatile|const|struct|inline)\b")
_FILLED = re.compile(rb"\bcudaMemcpyToSymbol(?:Async)?\s*\(\s*&?\s*(?:\w+\s*::\s*)*(\w+)")

_SIGNS = (b"__constant__", b"cudaMemcpyToSymbol", b'#include "')
"""What a file has some of whose kernels read such variables, its own or those of its headers."""


@dataclass(frozen=True, slots=True)
class _Variable:
    name: str
    type: str
    extents: tuple[str, ...]
    """As written."""


def with_filled_variables(draft: Draft, kernel: Kernel, path: Path, root: Path) -> Draft:
    """The draft with an input for each variable that the kernel reads and the host fills.

    A variable of a structure of several types that is not followed, or of whole numbers that the kernel does not stay
    in its buffers with, holds zeros as the module has it, and the draft says so; something is missing where the kernel
    writes nothing then.
    """
    if kernel.language is not Language.CUDA or kernel.source is None or draft.missing:
        return draft
    if not any(word in kernel.source.data for word in _SIGNS):
        return draft
    launched = {a.variable for a in draft.arguments if a.variable}
    zero: list[str] = []
    text = device_text(kernel, path, draft.template_arguments, root).encode()
    filled = {name.decode() for name in _FILLED.findall(kernel.source.data)}
    taken = {a.name for a in draft.arguments}
    for variable in (v for v in _read(text, filled) if v.name not in launched):
        argument = _argument(variable, text)
        if argument is not None and argument.name in taken:
            argument = replace(argument, name=f"{argument.name}_variable")
        if argument is None:
            note = f"{variable.name} holds zeros: what `{variable.type}` is made of is not followed"
            draft = replace(draft, assumed=(*draft.assumed, note))
            zero.append(variable.name)
            continue
        note = f"{variable.name} is filled before the launch, which does not give it"
        whole = () if argument.values or argument.dtype in FLOAT_NAMES else (f"{UNRANGED}{argument.name}",)
        more = replace(draft, arguments=(*draft.arguments, argument), missing=whole)
        more = replace(more, assumed=(*draft.assumed, note))
        if whole:
            more = with_ranges_in_bounds(more, kernel, path, root)
        if more.missing:
            note = f"{variable.name} holds zeros: no other numbers were found that keep the kernel in its buffers"
            more = replace(draft, assumed=(*draft.assumed, note))
            zero.append(variable.name)
        draft = more
    if zero and not _writes(draft, kernel, path, root):
        why = f"what {' and '.join(zero)} holds: with zeros there the kernel writes nothing"
        return replace(draft, missing=(why,))
    return draft


def _writes(draft: Draft, kernel: Kernel, path: Path, root: Path) -> bool:
    """Whether the kernel writes to some buffer; so it is taken to where it cannot be run."""
    try:
        workload = draft.workload()
        program = program_from_file(path, kernel.name, workload, data=data_of(kernel), root=root)
        (seen,) = footprints(program, workload, [dict(draft.checked)])
    except (FootprintError, ProgramError, WorkloadError):
        return True
    return any(used.writes for used in seen.values())


def _argument(variable: _Variable, text: bytes) -> DraftArgument | None:
    """The input that fills a variable; None where its type or an extent is not told."""
    dtype, size = dtype_of(variable.type), bytes_of(variable.type)
    if dtype is None:
        dtype, size = _of_one_type(variable.type, text)
    named = {name: c.value for name, c in whole_numbers_in(text).items()}
    extents = [constant(extent, named) for extent in variable.extents]
    if dtype is None or size is None or None in extents:
        return None
    if (parts := size // DTYPES[dtype].itemsize) > 1:
        extents.append(parts)  # of `float2`, or of a structure
    shape = tuple(map(str, extents)) or ("1",)
    return DraftArgument(
        variable.name, "input", dtype, shape, WHOLE_RANGES.get(dtype, ""), variable=variable.name
    )


def _of_one_type(structure: str, text: bytes) -> tuple[str | None, int | None]:
    """The type of all fields of a structure, and its bytes; None for several types, and for a structure in it."""
    kernels = read(text, Language.CUDA).kernels
    at = expressions_of(kernels[0]) if kernels else None
    layout = layout_of(at, structure) if at is not None else None
    dtypes = {element.dtype for _, element, _ in layout.members.values()} if layout is not None else set()
    if layout is None or len(dtypes) != 1 or not dtypes <= DTYPES.keys():
        return None, None
    return dtypes.pop(), layout.nbytes


def _read(text: bytes, filled: set[str]) -> Iterator[_Variable]:
    """The variables of device code that have no value there: `__constant__` ones, and those that the host copies to."""
    code = text_of(text).code
    for match in _DECLARED.finditer(code):
        parts = [code[a:b].decode("utf-8", "replace") for a, b in split(code, *match.span(1))]
        head = _HEAD.fullmatch(parts[0].strip())
        words = head[1].split() if head is not None else []
        if head is None or "extern" in words or "*" in head[1]:
            continue
        kind = " ".join(_SPECIFIER.sub(" ", head[1]).split())
        for name, extents in (
            (m[1], m[2]) for m in (re.match(_NAME, p) for p in (f"{head[2]}{head[3]}", *parts[1:])) if m
        ):
            uses = len(re.findall(rb"\b%s\b" % name.encode(), code))
            if uses > 1 and ("__constant__" in words or name in filled):
                yield _Variable(name, kind, tuple(re.findall(r"\[([^\]]*)\]", extents)))
