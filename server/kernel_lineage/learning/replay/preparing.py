"""A transition → a step that can run: both states as programs, and one workload for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernel_gate.program import Program
from kernel_gate.shapes import elements
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.replay.bases import base_doubt
from kernel_lineage.learning.replay.claims import Claimed
from kernel_lineage.learning.replay.codes import Code
from kernel_lineage.learning.replay.contract import (
    Contract,
    Fit,
    NoContractError,
    TypesDifferError,
    contract,
    roles_differ,
)
from kernel_lineage.learning.replay.float_build import in_float32, with_float32
from kernel_lineage.learning.replay.states import StateOf
from kernel_lineage.learning.replay.tests_of_other import draft_by_tests_of
from kernel_lineage.learning.steps import Step
from kernel_lineage.workloads.chosen_sizes import stays_small
from kernel_lineage.workloads.device_size import counts_multiprocessors
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.of_state import NoDraft
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from kernel_lineage.workloads.saved import FoundWorkload, Workloads

_TILE = 128
_MOST_ELEMENTS = 1 << 17
_MOST_TIMED = 1 << 27
"""Elements of all buffers of a timed shape: as many values are drawn by the processor in seconds."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A step, and what is known of its workload."""

    step: Step
    told_by: str
    """Where the workload comes from, for people."""
    drafted: bool
    said: tuple[str, ...] = ()
    doubts: Mapping[str, str] = field(default_factory=dict)
    """As a `Contract` has them."""
    chosen: tuple[str, ...] = ()
    """Dims whose sizes were made up, because nothing tells them."""
    blocks: tuple[int, ...] = ()
    """Numbers of threads that the launch site goes through, the one that is taken first."""
    instead_of: NotPrepared | None = None
    """Why the states cannot be run as they are, when they are run in another build."""


@dataclass(frozen=True, slots=True)
class NotPrepared:
    """Why a transition cannot be run."""

    code: Code
    reason: str
    types_differ: bool = False
    """Whether it is that an argument has another type in the other state."""


Drafts = Callable[[], Iterable[tuple[str, Draft]]]
"""Complete drafts of other versions of the lineage, nearest first, each with the name of its state."""


def prepare(
    item: Claimed,
    before: StateOf,
    after: StateOf,
    workloads: Workloads,
    others: Drafts,
    *,
    later_first: bool = False,
) -> Prepared | NotPrepared:
    """The step of a transition, under the first workload that runs both of its states.

    Asked in this order: the repository's own workload, the earlier state's launch site, the later one's, those of
    other versions of the lineage, and last what the earlier state and the later one reach when they are run (the later
    one before it with `later_first`). Never raises for what is in the repository.
    """
    try:
        before.kernel(), after.kernel()
        workload_file = workload_of(item, workloads)
        if workload_file is not None:
            prepared = _under_workload(item, before, after, workload_file)
        else:
            prepared = _under_draft(item, before, after, others, later_first)
            if isinstance(prepared, NotPrepared) and prepared.types_differ:
                prepared = _as_float32(item, (before, after), others, prepared)
    except ProgramError as error:
        prepared = NotPrepared(Code.NO_PROGRAM, str(error))
    if isinstance(prepared, Prepared):
        return prepared
    reason = prepared.reason
    for state in (before, after):  # where the states lie for a moment tells nobody anything
        reason = reason.replace(f"{state.root}/", "")
    return replace(prepared, reason=reason)


def workload_of(item: Claimed, workloads: Workloads) -> FoundWorkload | None:
    """The repository's workload for either state, or for another version of the lineage."""
    symbols = dict.fromkeys(
        [
            item.after.symbol,
            item.before.symbol,
            item.lineage.kernel,
            *(v.symbol for v in item.lineage.versions),
        ]
    )
    named = (workloads.of(symbol, item.after.path) for symbol in symbols)
    return next((w for w in named if w is not None and w.workload.language == item.after.language), None)


def _under_workload(
    item: Claimed, before: StateOf, after: StateOf, workload_file: FoundWorkload
) -> Prepared | NotPrepared:
    workload = workload_file.workload
    try:
        programs = [_program(state, workload, None) for state in (before, after)]
    except ProgramError as error:
        return NotPrepared(
            Code.CONTRACT_DIFFERS, f"{workload_file.path.name} does not run both states: {error}"
        )
    notes = tuple(
        f"how {p.entry} is launched is not told over the workload's sizes; the workload's own launch is taken"
        for p in programs
        if p.launch is None and not workload.launches
    )
    return Prepared(_step(item, programs, workload), workload_file.path.name, drafted=False, said=notes)


def _under_draft(
    item: Claimed,
    before: StateOf,
    after: StateOf,
    others: Drafts,
    later_first: bool,
    typed: Callable[[Draft], Draft] = lambda draft: draft,
) -> Prepared | NotPrepared:
    """The step under the first draft that runs both states; `typed` gives a draft with other types."""
    states = (before, after)
    drafts = _drafts(before, after)
    first, second = ((draft if isinstance(draft, Draft) else draft.draft) for draft in drafts)
    if first is None or second is None:
        reason = "; ".join(d.reason for d in drafts if isinstance(d, NoDraft) and d.draft is None)
        return NotPrepared(Code.NO_PROGRAM, reason)
    first, second = typed(first), typed(second)
    refused: list[NoContractError | WorkloadError] = []
    missing: dict[str, str] = {}
    for name, base in _bases(states, drafts, (first, second), others, refused, missing, later_first):
        try:
            agreed = contract(typed(base), (first, second))
            programs = [
                _program(state, agreed.workload, fit) for state, fit in zip(states, agreed.fits, strict=True)
            ]
        except (NoContractError, WorkloadError) as error:
            refused.append(error)
            continue
        return _prepared(item, programs, agreed, name, base)
    if refused:
        types = any(isinstance(error, TypesDifferError) for error in refused)
        return NotPrepared(Code.CONTRACT_DIFFERS, str(refused[0]), types)
    return NotPrepared(Code.NO_WORKLOAD, "; ".join(f"{name}: {why}" for name, why in missing.items()))


def _as_float32(
    item: Claimed, states: tuple[StateOf, StateOf], others: Drafts, why_not: NotPrepared
) -> Prepared | NotPrepared:
    """Both states in float32: as that build has them where their element type is an option, or as a caller may."""
    if item.after.language == Language.TRITON:
        prepared = _under_draft(item, *states, others, later_first=False, typed=in_float32)
        if isinstance(prepared, NotPrepared):
            # What still differs then has nothing to do with types.
            return prepared if prepared.code is Code.CONTRACT_DIFFERS else why_not
        note = f"both states are run in float32: {why_not.reason}"
        return replace(prepared, said=(note, *prepared.said), instead_of=why_not)
    before, changed = with_float32(states[0])
    if states[1].root == states[0].root:
        after = replace(before, version=states[1].version)
    else:
        after, more = with_float32(states[1])
        changed = tuple(dict.fromkeys((*changed, *more)))
    if not changed:
        return why_not
    prepared = _under_draft(item, before, after, others, later_first=False)
    if isinstance(prepared, NotPrepared):
        return why_not
    note = f"{' and '.join(changed)} is float, as an option of the build has it"
    return replace(prepared, said=(note, *prepared.said), instead_of=why_not)


def _bases(
    states: Sequence[StateOf],
    drafts: Sequence[Draft | NoDraft],
    sketches: tuple[Draft, Draft],
    others: Drafts,
    refused: list[NoContractError | WorkloadError],
    missing: dict[str, str],
    later_first: bool,
) -> Iterator[tuple[str, Draft]]:
    """Complete drafts, the cheapest first: as the states tell, as other versions do, and by running the states.

    No state is run where its shapes would make no contract: why is added to `refused`.
    """
    candidates = [(s.name, d) for s, d in zip(states, drafts, strict=True) if isinstance(d, Draft)]
    yield from sorted(candidates, key=lambda pair: not pair[1].tested)
    yield from others()
    tries = [
        (state, draft, *pair)
        for state, draft, pair in zip(states, drafts, (sketches, sketches[::-1]), strict=True)
    ]
    for state, draft, own, other in reversed(tries) if later_first else tries:
        if not isinstance(draft, NoDraft):
            continue
        if differ := roles_differ(own, other):
            refused.append(NoContractError(differ))
            continue
        seen = state.draft(measure=True)
        if isinstance(seen, Draft):
            yield f"{state.name}, run to see its shapes", seen
        else:
            missing[state.name] = seen.reason


def _drafts(before: StateOf, after: StateOf) -> list[Draft | NoDraft]:
    """What the states tell; where the tests of one alone reach the kernel, they are read for the other as well."""
    drafts = [state.draft() for state in (before, after)]
    tested = [isinstance(draft, Draft) and draft.tested for draft in drafts]
    if tested == [True, False]:
        drafts[1] = draft_by_tests_of(after, before) or drafts[1]
    if tested == [False, True]:
        drafts[0] = draft_by_tests_of(before, after) or drafts[0]
    return drafts


def _prepared(item: Claimed, programs: list[Program], agreed: Contract, name: str, base: Draft) -> Prepared:
    workload, shrunk = timed_within(agreed.workload)
    other_numbers = base_doubt(programs[0], programs[1])
    return Prepared(
        _step(item, programs, workload),
        f"drafted from {name}",
        drafted=True,
        said=(*agreed.said, *shrunk),
        doubts={"": other_numbers, **agreed.doubts} if other_numbers else agreed.doubts,
        chosen=base.chosen,
        blocks=base.blocks,
    )


def timed_within(workload: Workload, most: int = _MOST_TIMED) -> tuple[Workload, tuple[str, ...]]:
    """The workload with timed shapes of so many elements at most, and what is said of it.

    The dims that come first are made smaller first: they count rows, and the length of a row decides what pays. The
    device is not made smaller.
    """
    shapes, notes = [], []
    for named in workload.profile_dims:
        dims = dict(named)
        rows = [name for name in dims if not counts_multiprocessors(name)]
        while elements(workload, dims) > most and any(dims[name] > 1 for name in rows):
            dims[next(n for n in rows if dims[n] > 1)] //= 2
        if dims != named:
            notes.append(
                f"timed at {', '.join(f'{n} {e}' for n, e in dims.items())}: more takes minutes to draw"
            )
        shapes.append(dims)
    return workload.model_copy(update={"profile_dims": tuple(shapes)}), tuple(notes)


def _step(item: Claimed, programs: list[Program], workload: Workload) -> Step:
    return Step(item.transition.id, programs[0], programs[1], workload, item.transition.added)


def _program(state: StateOf, workload: Workload, fit: Fit | None) -> Program:
    """The program of a state. Raises `ProgramError`, and `NoContractError` when nothing tells its launch."""
    program = program_from_file(
        state.file,
        state.version.symbol,
        workload,
        source=state.state.source(state.version.path),
        root=state.root,
        name=state.name,
        arguments=fit.arguments if fit is not None else None,
        template_arguments=fit.template_arguments if fit is not None else (),
    )
    if fit is None:
        return program
    launch = fit.launch or program.launch
    if launch is None:
        raise NoContractError(f"how {state.version.symbol} is launched is not told over the workload's sizes")
    return replace(program, launch=launch)


def on_whole_tiles(prepared: Prepared) -> Prepared | None:
    """The same with made-up sizes that a kernel of whole tiles takes; None where they are so, or become too large."""
    workload = prepared.step.workload
    dims = {
        name: tuple(-(-s // _TILE) * _TILE for s in sizes)
        if name in prepared.chosen and not stays_small(name)
        else sizes
        for name, sizes in workload.dims.items()
    }
    larger = workload.model_copy(update={"dims": dims})
    if dims == workload.dims or any(elements(larger, shape) > _MOST_ELEMENTS for shape in larger.shapes()):
        return None
    note = f"sizes that nothing tells are multiples of {_TILE}"
    return replace(prepared, step=replace(prepared.step, workload=larger), said=(*prepared.said, note))


def same_program(step: Step) -> bool:
    """Whether both states are one program to the device, names aside."""
    before, after = (_bare(program) for program in (step.before, step.after))
    return before == after


def _bare(program: Program) -> tuple[object, ...]:
    from kernel_lineage.history.similarity import code_lines

    text = program.source.replace(program.entry, "kernel")
    lines = tuple(code_lines(text, program.language == "triton"))
    return (
        lines,
        replace(program, source="", entry="", name="", first_line=1, includes={}),
        dict(program.includes),
    )
