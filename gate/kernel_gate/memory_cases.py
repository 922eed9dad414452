"""Cases that differ in where buffers lie: addresses of little alignment, and outputs that lie in an input."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kernel_gate.arguments import Argument
from kernel_gate.cases import Case, Memory
from kernel_gate.cuda_text import code_alone
from kernel_gate.dtypes import DTYPES
from kernel_gate.program import Program
from kernel_gate.shapes import named_shapes, typical_shape
from kernel_gate.workload import Workload

ALLOCATOR_ALIGNMENT = 256
"""Bytes; cudaMalloc's own. A workload's promise of more is kept by placing the buffer as an allocator would."""
_PARTLY_ALIGNED = (4, 8)
"""Bytes past an address for the widest access: a test of half that width lets the buffer through."""
_MOST_ALIASES = 4
_MOST_ALONE = 8
"""Buffers that are misplaced alone."""


def memory_cases(
    workload: Workload, baseline: Program, seed: int, shapes: Sequence[Mapping[str, int]] = ()
) -> list[Case]:
    """The cases on one small named shape, and those of these shapes that are hidden.

    Required: addresses exactly as aligned as the workload promises, and outputs that it says may lie in an input.
    Hidden, so that they count only where the baseline takes them: addresses aligned to one element where nothing is
    promised, and outputs in an input of their shape and type, unless the workload or `__restrict__` excludes it.
    """
    named = named_shapes(workload)
    if not named:
        return []
    cases = _on_shape(workload, baseline, seed, typical_shape(named))
    for number, dims in enumerate(shapes, 1):
        others = _on_shape(workload, baseline, seed + 200 * number, dims)
        cases += [replace(case, origin="hidden") for case in others]
    return cases


def _on_shape(workload: Workload, baseline: Program, seed: int, dims: Mapping[str, int]) -> list[Case]:
    pointers = [a for a in workload.args if a.is_pointer]
    promised = tuple(
        (a.name, a.align) for a in pointers if a.align is not None and a.align < ALLOCATOR_ALIGNMENT
    )
    open_ones = tuple((a.name, DTYPES[a.dtype].itemsize) for a in pointers if a.align is None)
    cases = []
    if promised:
        cases.append(Case(dims, seed + 3000, memory=Memory(promised)))
    if open_ones:
        together = Case(dims, seed + 3001, origin="hidden", memory=Memory(open_ones))
        # A candidate may ask for the alignment of some of its buffers, and not of others. Triton programs do not ask:
        # they are built for the addresses of each case.
        cases.append(together)
        if baseline.language == "cuda":
            cases += [*each_alone(together), *_partly_aligned(together)]
    for number, (output, source) in enumerate(_pairs(workload, baseline, dims)):
        memory = Memory(alias=(output.name, source.name))
        if source.name in output.may_alias:
            cases.append(Case(dims, seed + 3100 + number, memory=memory))
        elif number < _MOST_ALIASES:
            cases.append(Case(dims, seed + 3100 + number, origin="hidden", memory=memory))
    return cases


def _partly_aligned(case: Case) -> Iterator[Case]:
    """The case with its buffers at larger offsets than one element, as far as these are smaller."""
    for number, offset in enumerate(_PARTLY_ALIGNED, 1):
        larger = tuple((name, offset) for name, size in case.memory.offsets if size < offset)
        if larger:
            yield replace(case, seed=case.seed + number, memory=Memory(larger))


def each_alone(case: Case) -> list[Case]:
    """One case for each buffer of a case that misplaces several; none for others."""
    if len(case.memory.offsets) < 2:
        return []
    return [replace(case, memory=Memory((placed,))) for placed in case.memory.offsets[:_MOST_ALONE]]


def _pairs(
    workload: Workload, baseline: Program, dims: Mapping[str, int]
) -> Iterator[tuple[Argument, Argument]]:
    restricted = restricted_arguments(workload, baseline)
    callers = [*named_shapes(workload), *workload.profile_dims]
    for output in (a for a in workload.args if a.kind == "output"):
        for source in (a for a in workload.args if a.kind == "input"):
            promised = source.name in output.may_alias
            excluded = output.noalias or source.noalias or bool({output.name, source.name} & restricted)
            # A resize to the same size is in place; that callers come with other sizes says that it is none.
            shapes = [dims, *([] if promised else callers)]
            alike = all(workload.extents(output, d) == workload.extents(source, d) for d in shapes)
            if output.dtype == source.dtype and alike and (promised or not excluded):
                yield output, source


_PARAMETERS = r"\b{entry}\s*\((?P<parameters>[^(){{}};]*)\)\s*\{{"


def restricted_arguments(workload: Workload, program: Program) -> frozenset[str]:
    """The workload's arguments whose parameters a CUDA kernel declares `__restrict__` (also by a macro of that name).

    For a program of several launches, those of any of its kernels are not looked at: each has its own parameters.
    """
    if program.language != "cuda" or program.steps:
        return frozenset()
    head = re.search(_PARAMETERS.format(entry=re.escape(program.entry)), code_alone(program.source))
    if head is None:
        return frozenset()
    order = program.arguments or tuple(a.name for a in workload.args)
    parameters = head["parameters"].split(",")
    return frozenset(
        name
        for name, text in zip(order, parameters, strict=False)
        if re.search("restrict", text, re.IGNORECASE)
    )
