"""The draft of a workload: what a kernel's file, and the repository around it, tell of how the kernel is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from kernel_gate.deadline import ends_within, seconds_left
from kernel_gate.expressions import ExpressionError, evaluate_int
from kernel_gate.launching import THREADS_MOST
from kernel_gate.workload import WorkloadError
from kernel_lineage.kernels.budget import MOST_LAUNCHES
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.workloads.answers import with_answers
from kernel_lineage.workloads.checked_sizes import with_checked_sizes
from kernel_lineage.workloads.device_code import device_text
from kernel_lineage.workloads.divisions import with_divisions
from kernel_lineage.workloads.equal_dims import with_names_apart, with_one_of_equals
from kernel_lineage.workloads.files import Launcher, Target, data_of
from kernel_lineage.workloads.filled_variables import with_filled_variables
from kernel_lineage.workloads.following.draft import followed_drafts
from kernel_lineage.workloads.following.function_draft import takes_tensors, tensor_function_drafts
from kernel_lineage.workloads.following.launcher import draft_of_launcher
from kernel_lineage.workloads.following.roles import roles_of
from kernel_lineage.workloads.following.unit import Unit, unit_of
from kernel_lineage.workloads.index_ranges import with_repeated_indices
from kernel_lineage.workloads.loose_dims import with_ties
from kernel_lineage.workloads.measured import with_measured_shapes
from kernel_lineage.workloads.model import (
    UNRANGED,
    UNRECORDED,
    UNSHAPED,
    USUALLY_TAKEN,
    Draft,
    DraftArgument,
    Taken,
)
from kernel_lineage.workloads.preprocessed import active_text, with_headers
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from kernel_lineage.workloads.recording.build import RecordingError
from kernel_lineage.workloads.recording.recorder import Recorder
from kernel_lineage.workloads.row_offsets import with_several_rows
from kernel_lineage.workloads.saved import folder_of
from kernel_lineage.workloads.sizes_that_run import with_few_steps, with_whole_quotients
from kernel_lineage.workloads.state import State
from kernel_lineage.workloads.switches import options_of
from kernel_lineage.workloads.timed_sizes import with_timed_sizes
from kernel_lineage.workloads.triton.array_draft import array_drafts
from kernel_lineage.workloads.triton.draft import triton_drafts
from kernel_lineage.workloads.triton.function_draft import function_drafts
from kernel_lineage.workloads.unsupported import unsupported
from kernel_lineage.workloads.whole_blocks import with_whole_blocks

_CALLERS_ABOVE = 2
"""How many calls up from the file with the launch callers are looked for in other files."""
_CALLERS_BESIDE = 3
_READ_SHARE = 0.25
"""The part of the time that is left for running a kernel by what was read, where its host code can run as well."""
_MOST_TIMED = 1 << 31
"""Elements of the buffers of a launch that is timed."""
_RUN = 2
"""Drafts of one kernel that are run to see what they leave open."""


def draft_of(
    target: Target,
    path: Path,
    state: State | None = None,
    *,
    measure: bool = True,
    answers: Mapping[str, str] = MappingProxyType({}),
    recorder: Recorder | None = None,
    taken: Taken = USUALLY_TAKEN,
    among: Iterable[Draft] | None = None,
) -> Draft:
    """The draft of a kernel, or of a host function that launches some. Never raises: what is not told is missing.

    `state` is the repository, by default the one around `path`; nothing outside of it is read. With `measure`, shapes
    and sizes that no code tells are found by running the kernel on the emulated device, which takes seconds. With a
    `recorder`, host code answers what reading leaves open: it is built and run, contained. `taken` says what is
    taken where the code of a Triton launch leaves a choice. With `among`, the best of these drafts is completed.
    """
    state = state or State(folder_of(path))
    if not isinstance(target, Launcher) and (what := unsupported(target)):
        return _nothing(target, path, what)
    drafts: list[Draft] = []
    why = _no_launch(target, path)
    try:
        for draft in among if among is not None else _drafts(target, path, state, taken):
            drafts.append(draft)
            if not draft.missing and not draft.chosen and not _unusable(draft):
                break
    except RecursionError:
        why = f"the code around {target.name} nests deeper than is read: grid, block and sizes"
    if not drafts:
        drafts.append(_nothing(target, path, why))
    drafts = [
        with_divisions(
            _launchable(with_names_apart(with_one_of_equals(with_some_output(draft, target)))), target
        )
        for draft in drafts
    ]
    tried: list[Draft] = []
    # What a caller tells may be what no run keeps to, so the next best is run as well where the best one stays open.
    for likely in sorted(drafts, key=_likelihood)[:_RUN]:
        best = with_answers(likely, answers)
        with ends_within(seconds_left() * (_READ_SHARE if recorder is not None else 1.0)):
            tried.append(with_measured_shapes(best, target, path, state.root) if measure else best)
        if not measure or not tried[-1].missing or _openness(likely)[1] or not likely.way:
            break
    best = min(tried, key=_openness)
    if recorder is not None and not isinstance(target, Launcher) and (best.missing or _unusable(best)):
        recorded, why = recorded_drafts(
            target, path, state, recorder, measure=measure, answers=answers, only_one=True
        )
        best = min((*recorded, best), key=_openness)
        if why and best.missing:
            best = replace(best, assumed=(*best.assumed, f"{UNRECORDED}{why}"))
    if not best.recorded:
        best = with_few_steps(best, target, path, state.root) if measure else with_checked_sizes(best)
    best = with_several_rows(best)
    if measure and not best.missing and not _unusable(best):
        best = with_ties(best, target, path, state.root)
        best = with_repeated_indices(best, target, path, state.root)
        if not isinstance(target, Launcher):
            best = with_filled_variables(best, target, path, state.root)
            best = with_timed_sizes(best, target)
            best = with_whole_quotients(best, target, path, state.root)
            best = with_whole_blocks(best, target, path, state.root)
    return _with_an_output(_readable(best, target, path, state.root))


def _no_launch(target: Target, path: Path) -> str:
    """What is missing where no launch is reached: there is none, or the host code before it is not followed."""
    lines = () if isinstance(target, Launcher) else [launch.span.first_line for launch in target.launches]
    if not lines:
        return f"{target.name} is not launched in {path.name}: grid, block and sizes"
    which = " and ".join(map(str, lines))
    return (
        f"grid, block and sizes: the host code is not followed to the launch in line {which} of {path.name}"
    )


def _with_an_output(draft: Draft) -> Draft:
    """The draft; something is missing in one of a kernel that is given no memory."""
    if draft.missing or any(a.is_buffer and not a.variable for a in draft.arguments):
        return draft
    why = f"what {draft.kernel} writes: no launch gives it a buffer, and variables of device code are not compared"
    return replace(draft, missing=(why,))


def recorded_drafts(
    kernel: Kernel,
    path: Path,
    state: State,
    recorder: Recorder,
    *,
    measure: bool = True,
    answers: Mapping[str, str] = MappingProxyType({}),
    only_one: bool = False,
) -> tuple[list[Draft], str]:
    """The drafts of a CUDA kernel by what its host code does when it is run, and why there are none.

    With `only_one`, those up to the first that leaves nothing open.
    """
    if kernel.language is not Language.CUDA:
        return [], ""
    rooted = with_what_it_calls(kernel, path, (), state.root)
    why: list[str] = []
    for place in recorder.places(kernel, path, state):
        try:
            candidates = [
                with_some_output(draft, kernel)
                for draft in recorder.drafts(kernel, rooted, path, place, state)
            ]
        except RecordingError as error:
            why.append(str(error))
            continue
        likely = sorted((with_answers(draft, answers) for draft in candidates), key=_openness)[:_RUN]
        drafts: list[Draft] = []
        for draft in likely:
            measured = with_measured_shapes(draft, kernel, path, state.root) if measure else draft
            checked = (
                with_few_steps(measured, kernel, path, state.root)
                if measure
                else with_checked_sizes(measured)
            )
            drafts.append(with_filled_variables(checked, kernel, path, state.root) if measure else checked)
            if only_one and not measured.missing and not _unusable(measured):
                break
        return drafts, ""
    return [], "; ".join(why)


def with_some_output(draft: Draft, target: Target) -> Draft:
    """The draft of a kernel that is not seen to write, as where it writes through objects: what it may write is told
    by running it.
    """
    if isinstance(target, Launcher) or any(a.kind in ("output", "inout") for a in draft.arguments):
        return draft
    free = frozenset(p.name for p in target.parameters if p.pointer and not p.const and not p.constexpr)
    arguments = tuple(
        replace(a, kind="inout") if a.name in free and a.kind == "input" else a for a in draft.arguments
    )
    return replace(draft, arguments=arguments, unread_roles=draft.unread_roles | free)


def _launchable(draft: Draft) -> Draft:
    """The draft with the promise that no block has more threads than a device runs, where dims say how many it has."""
    threads = " * ".join(f"({extent})" for extent in draft.block)
    if not any(re.search(rf"\b{name}\b", threads) for name in draft.dims):
        return draft
    return replace(draft, promises=(*draft.promises, f"{threads} <= {THREADS_MOST}"))


def _openness(draft: Draft) -> tuple[bool, int, int, bool, bool, int]:
    """How much is left open: first what no run of the kernel can show. A launch of one size alone says less."""
    has_no_launch = not draft.grid
    unseen = sum(not m.startswith((UNSHAPED, UNRANGED)) for m in draft.missing)
    untold = sum(n not in draft.told for n in draft.chosen)
    return (has_no_launch, unseen, len(draft.missing), _unusable(draft), not draft.dims, untold)


def _likelihood(draft: Draft) -> tuple[bool, int, bool, int, bool, int]:
    """Where a draft stands among those that are run: a run may show shapes, and never an output that is not there."""
    has_no_launch, unseen, missing, unusable, is_single, untold = _openness(draft)
    return (has_no_launch, unseen, unusable, missing, is_single, untold)


def _unusable(draft: Draft) -> bool:
    """Whether a draft is no workload although nothing is missing, such as one without an output; or could be none that
    says anything, as one whose array has no elements: that of a test at the edge of what a function takes.
    """
    try:
        shapes = [a.shape for a in draft.arguments if a.shape]
        if any(evaluate_int(extent, draft.dims) <= 0 for shape in shapes for extent in shape):
            return True
        return not draft.missing and draft.workload() is None
    except (WorkloadError, ExpressionError):
        return True


def _readable(draft: Draft, target: Target, path: Path, root: Path) -> Draft:
    """A launcher's draft, with what of its statements cannot be followed among what is missing."""
    if not isinstance(target, Launcher) or draft.missing:
        return draft
    try:
        program_from_file(path, target.name, draft.workload(), data=data_of(target), root=root)
    except (ProgramError, WorkloadError) as error:
        return replace(draft, missing=(f"what {target.name} launches: {error}",))
    return draft


def _drafts(kernel: Target, path: Path, state: State, taken: Taken) -> Iterator[Draft]:
    if isinstance(kernel, Launcher) and kernel.source.language is Language.TRITON:
        yield from function_drafts(kernel, path, state.modules, taken)
        return
    if isinstance(kernel, Launcher):
        unit = _unit(with_headers(path, state.root, data_of(kernel)))
        if any(map(takes_tensors, unit.hosts(kernel.name))):
            yield from tensor_function_drafts(kernel, unit, path.name, partial(state.callers_of, unit))
        else:
            drafted = partial(_draft_of_launcher, kernel, path.name)
            yield from _by_units(_host_sides(kernel.name, path, data_of(kernel), state), drafted)
        return
    if kernel.language is Language.TRITON:
        yield from triton_drafts(kernel, path, state.modules, taken)
        return
    sites = [] if kernel.launches else list(islice(state.files_launching(kernel.name), MOST_LAUNCHES))
    rooted = with_what_it_calls(kernel, path, (), state.root)
    for place in dict.fromkeys((path, *sites)):
        data = kernel.source.data if place == path and kernel.source is not None else None
        drafted = partial(_followed, kernel, path, place, rooted, state)
        yield from _by_units(_host_sides(kernel.name, place, data, state), drafted)
    if path.suffix == ".py":
        yield from array_drafts(kernel, path, state.modules, taken)


def _followed(
    kernel: Kernel, path: Path, place: Path, rooted: Kernel, state: State, unit: Unit
) -> Iterator[Draft]:
    """The drafts of a kernel by the host code of a unit, which launches it in a file `place`."""
    for draft in followed_drafts(
        kernel, unit, path.name, rooted, state.block, partial(state.callers_of, unit)
    ):
        if place != path:
            way = "" if draft.tested else f"that of {draft.way or 'a function'} "
            where = f"the launch is {way}in {place.name}"
            draft = replace(draft, assumed=(where, *draft.assumed))
        yield draft


def _draft_of_launcher(launcher: Launcher, path_name: str, unit: Unit) -> Iterator[Draft]:
    yield draft_of_launcher(launcher, unit, path_name)


def _by_units(
    units: Iterator[tuple[Unit, bool]], drafted: Callable[[Unit], Iterator[Draft]]
) -> Iterator[Draft]:
    """The drafts by each unit; of those by whole programs, such as a test and a benchmark, the largest that is timed
    first.
    """
    programs: list[Draft] = []
    for unit, is_program in units:
        if is_program:
            programs += drafted(unit)
        else:
            yield from drafted(unit)
    largest = [(draft.elements(draft.dims), draft) for draft in programs]
    yield from (d for _, d in sorted(largest, key=lambda one: -one[0] if one[0] <= _MOST_TIMED else 0))


def _host_sides(kernel: str, place: Path, data: bytes | None, state: State) -> Iterator[tuple[Unit, bool]]:
    """The text of a file with a launch, or with a host function, with the files whose functions call the one that
    launches, and False.

    Last, the programs that call it, and True: each of them alone, as programs define the same names.
    """
    text = with_headers(place, state.root, data)
    options = options_of(text, [kernel])
    # A kernel that the text's own options leave out is one of another build: its callers stand in any branch.
    active = _unit(text, options)
    is_active = kernel not in text or kernel in active.kernels or bool(active.hosts(kernel))
    callers: dict[Path, None] = {}
    programs: dict[Path, None] = {}
    while True:
        unit = _unit(text, options) if is_active else unit_of(text)
        outer = unit.outermost(kernel)
        calling = state.files_calling(outer, place)
        programs |= dict.fromkeys(state.programs_among(calling, outer))
        more = [p for p in calling if p not in callers and not state.is_program(p)][:_CALLERS_BESIDE]
        if not more or len(callers) >= _CALLERS_ABOVE * _CALLERS_BESIDE:
            break
        callers |= dict.fromkeys(more)
        text = with_headers(place, state.root, data, callers)
    yield unit, False
    if is_active and unit_of(text).is_led_to(kernel) > unit.is_led_to(kernel):
        yield unit_of(text), False  # the branch in which it is launched is one of another build
    for program in [*programs][:_CALLERS_BESIDE]:
        text = with_headers(place, state.root, data, (*callers, program))
        yield (_unit(text, options) if is_active else unit_of(text)), True


def _unit(text: str, definitions: Mapping[str, str] = MappingProxyType({})) -> Unit:
    return unit_of(active_text(text, definitions))


def with_what_it_calls(kernel: Kernel, path: Path, names: tuple[str, ...], root: Path) -> Kernel:
    """The kernel beside the device functions of its headers, which may do its reading and writing."""
    if kernel.source is None or b'#include "' not in kernel.source.data:
        return kernel
    return read(device_text(kernel, path, names, root).encode(), Language.CUDA).kernel(kernel.name) or kernel


def _nothing(target: Target, path: Path, why: str) -> Draft:
    kernel = target.kernels[0] if isinstance(target, Launcher) else target
    parameters = [p for p in kernel.parameters if not p.constexpr]
    roles = roles_of(kernel) if kernel.language is Language.CUDA else {}
    arguments = tuple(
        DraftArgument(p.name, roles.get(p.name, "input") if p.pointer else "scalar", p.dtype)
        for p in parameters
    )
    return Draft(target.name, kernel.language, path.name, {}, {}, arguments, missing=(why,))
