"""The launches of a kernel beside the one that its workload describes: with other strides, and other element types.

A workload has one type for each buffer, and one expression for each number. A rewrite of `axpy<T>` that is right in
float and wrong in half would be right by it, as would one that takes a pitch for the width. Both programs are asked
again with the other types that the host code launches: the same workload, in which what the kernel declares by its type
parameter has another dtype; and with the numbers of a launch that passes others. Triton kernels are asked so too, and
with the flags that their callers give.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from math import prod
from pathlib import Path

from kernel_gate.dtypes import DTYPES as ELEMENTS
from kernel_gate.launch_tables import KernelLaunch
from kernel_gate.program import Program
from kernel_gate.workload import Workload
from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_text import at_commas
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.draft import with_what_it_calls
from kernel_lineage.workloads.following.dispatches import AS_PYTORCH, cases_of, further_types
from kernel_lineage.workloads.following.draft import drafts_of_all_launches
from kernel_lineage.workloads.following.types import plain_type
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.host_work import host_code
from kernel_lineage.workloads.layouts import other_numbers, workload_of_launch
from kernel_lineage.workloads.model import Draft, View
from kernel_lineage.workloads.read_from import repository_around
from kernel_lineage.workloads.recording.build import RecordingError
from kernel_lineage.workloads.recording.recorder import Recorder
from kernel_lineage.workloads.saved import folder_of
from kernel_lineage.workloads.state import State
from kernel_lineage.workloads.triton.other_launches import other_launches

_MOST = 3
"""Other launches that are tried: each is a check of its own."""
_DISPATCH = re.compile(r"\bAT_DISPATCH_(\w+)\s*\(([^{};]*?)\[")
"""A dispatch of PyTorch's, its arguments up to the lambda."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A kernel with other types or flags, and its workload."""

    name: str
    """`axpy<__half>`, `rows in float16`."""
    template_arguments: tuple[str, ...]
    workload: Workload | None
    why: str = ""
    """Why it has no workload."""
    views: Mapping[str, View] = field(default_factory=dict)
    """Triton: the host's tensors that are parts of the memory which the workload gives, by its arguments."""


def other_instances(
    path: Path,
    kernel: Kernel,
    workload: Workload,
    program: Program,
    recorder: Recorder | None = None,
    root: Path | None = None,
) -> tuple[Instance, ...]:
    """The launches of a kernel by the host code around it with other strides, with other numbers of its template, with
    other element types, and of a Triton kernel with other flags. With a `recorder`, host code is run for them, too.

    `root` is the folder whose callers count; None for the repository around the file.
    """
    state = State(root if root is not None else folder_of(path))
    if kernel.language is Language.TRITON:
        others = other_launches(path, kernel, workload, state, _MOST)
        return tuple(
            Instance(name, (), None, answer)
            if isinstance(answer, str)
            else Instance(name, (), answer, views=views)
            for name, answer, views in others
        )
    if kernel.source is None:
        return ()
    unit = host_code(path, root or repository_around(path), kernel.source.data)
    launched = _template_of(kernel, workload) or program.template_arguments
    laid_out = islice(_laid_out(path, kernel, workload, unit, state), 1)
    numbered = _of_other_numbers(path, kernel, launched, unit, state, recorder)
    return tuple(islice((*laid_out, *numbered, *_of_other_types(kernel, workload, launched, unit)), _MOST))


def _laid_out(path: Path, kernel: Kernel, workload: Workload, unit: Unit, state: State) -> Iterator[Instance]:
    """The instances with numbers that the workload does not have at the same sizes, such as the pitch of a part."""
    rooted = with_what_it_calls(kernel, path, (), state.root)
    seen: set[frozenset[str]] = set()
    for draft in drafts_of_all_launches(kernel, unit, path.name, rooted):
        numbers = other_numbers(workload, draft)
        if draft.chosen or not numbers or frozenset(numbers) in seen:
            continue
        seen.add(frozenset(numbers))
        name = f"{kernel.name} with {', '.join(f'{n} = {v}' for n, v in numbers.items())}"
        answer = workload_of_launch(draft, kernel, path, state)
        if isinstance(answer, str):
            yield Instance(name, (), None, answer)
        else:
            yield Instance(name, draft.template_arguments, answer)


def _of_other_numbers(
    path: Path,
    kernel: Kernel,
    launched: Sequence[str],
    unit: Unit,
    state: State,
    recorder: Recorder | None,
) -> Iterator[Instance]:
    """The one whose template has the largest numbers, else the smallest: rounds and tails depend on them."""
    places = [i for i, p in enumerate(kernel.template_parameters) if p.type is not None]
    if not places or len(launched) != len(kernel.template_parameters):
        return
    rooted = with_what_it_calls(kernel, path, (), state.root)
    others: dict[tuple[int, ...], Draft] = {}
    for draft in _all_drafts(path, kernel, rooted, unit, state, recorder):
        words = draft.template_arguments
        same = len(words) == len(launched) and all(
            plain_type(a) == plain_type(b)
            for i, (a, b) in enumerate(zip(words, launched, strict=True))
            if i not in places
        )
        if same and all(words[i].isdigit() for i in places):
            others.setdefault(tuple(int(words[i]) for i in places), draft)
    own = tuple(int(launched[i]) if launched[i].isdigit() else 0 for i in places)
    by_size = sorted((numbers for numbers in others if numbers != own), key=prod)
    if not by_size:
        return
    draft = others[by_size[-1] if prod(by_size[-1]) > prod(own) else by_size[0]]
    name = f"{kernel.name}<{', '.join(draft.template_arguments)}>"
    answer = workload_of_launch(draft, kernel, path, state)
    if isinstance(answer, str):
        yield Instance(name, (), None, answer)
    else:
        yield Instance(name, draft.template_arguments, answer.model_copy(update={"profile_dims": ()}))


def _all_drafts(
    path: Path, kernel: Kernel, rooted: Kernel, unit: Unit, state: State, recorder: Recorder | None
) -> Iterator[Draft]:
    if recorder is not None:
        for place in recorder.places(kernel, path, state):
            with suppress(RecordingError):
                yield from recorder.drafts(kernel, rooted, path, place, state)
    yield from drafts_of_all_launches(kernel, unit, path.name, rooted)


def _of_other_types(
    kernel: Kernel, workload: Workload, launched: Sequence[str], unit: Unit
) -> Iterator[Instance]:
    """Those with other element types; none where the types of a template are not those of one parameter."""
    types = [
        (p.name, a) for p, a in zip(kernel.template_parameters, launched, strict=False) if p.type is None
    ]
    taken = {a for _, a in types if _dtype(a) is not None}
    if len(taken) != 1:
        return
    (own,) = taken
    names = {n for n, a in types if a == own}
    dtypes = {_dtype(own)}
    for other in _types_launched(unit, kernel.name):
        dtype = _dtype(other)
        if dtype is not None and dtype not in dtypes:
            dtypes.add(dtype)
            typed = _retyped(kernel, workload, names, (own, other))
            arguments = tuple(other if a == own else a for a in launched)
            if typed is not None:
                yield Instance(f"{kernel.name}<{', '.join(arguments)}>", arguments, typed)


def _template_of(kernel: Kernel, workload: Workload) -> tuple[str, ...]:
    return next(
        (t.template_arguments for t in _launches(workload) if t.kernel.rpartition("::")[2] == kernel.name), ()
    )


def _launches(workload: Workload) -> Iterator[KernelLaunch]:
    yield from (t for t in workload.launches if isinstance(t, KernelLaunch))


def _dtype(name: str) -> str | None:
    """The dtype of a type with a fraction; None for another one."""
    dtype = DTYPES.get(plain_type(name))
    return dtype if dtype is not None and ELEMENTS[dtype].is_float else None


def _types_launched(unit: Unit, kernel: str) -> Iterator[str]:
    """The types that templates which lead to a kernel are named with, then those of dispatches around their calls."""
    leading = unit.leading_to(kernel)
    texts = [text_of(f.node) for name in leading for f in unit.functions.get(name, ()) if f.of_host]
    texts += [m.body for name in leading if (m := unit.macros.get(name)) is not None]
    called = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(leading)))})\s*<([^<>;(){{}}]*)>")
    for text in texts:
        for match in called.finditer(text):
            yield from (a.strip() for a in at_commas(match[1]))
    for text in texts:
        for match in _DISPATCH.finditer(text):
            yield from (AS_PYTORCH.get(n, n) for n in further_types(match[1], match[2]))
        yield from (AS_PYTORCH.get(n, n) for n in cases_of(text))


def _retyped(kernel: Kernel, workload: Workload, names: set[str], types: tuple[str, str]) -> Workload | None:
    """The workload in which what is declared by type parameters of these names has another dtype, and nothing is timed.

    None where an argument that is declared so has no dtype of its own to change.
    """
    before, after = map(_dtype, types)
    order = next(
        (t.arguments for t in _launches(workload) if t.kernel.rpartition("::")[2] == kernel.name), None
    )
    places = order if order is not None else tuple(a.name for a in workload.args)
    declared = {
        place
        for parameter, place in zip(kernel.parameters, places, strict=False)
        if names & set(WORD.findall(parameter.type)) and isinstance(place, str)
    }
    changed = [a for a in workload.args if a.name in declared]
    if not changed or any(a.dtype != before for a in changed):
        return None
    tables = tuple(
        t.model_copy(
            update={
                "template_arguments": tuple(types[1] if a == types[0] else a for a in t.template_arguments)
            }
        )
        if isinstance(t, KernelLaunch)
        else t
        for t in workload.launches
    )
    args = tuple(a.model_copy(update={"dtype": after}) if a.name in declared else a for a in workload.args)
    return workload.model_copy(update={"args": args, "launches": tables, "profile_dims": ()})
