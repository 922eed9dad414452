"""One transition: prepared, judged, asked for less where that may tell more, and recorded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from kernel_gate.options import GateOptions
from kernel_gate.variations import Variation
from kernel_gate.workload import Workload
from kernel_lineage.learning.replay.bench import Ground
from kernel_lineage.learning.replay.best_blocks import at_its_best, other_blocks
from kernel_lineage.learning.replay.claims import Claim, Claimed, made_for
from kernel_lineage.learning.replay.codes import Code
from kernel_lineage.learning.replay.judging import JudgedStep, judge_step
from kernel_lineage.learning.replay.larger_sizes import on_larger_sizes
from kernel_lineage.learning.replay.lineage_drafts import LineageDrafts
from kernel_lineage.learning.replay.outcome import (
    Outcome,
    agrees,
    asks_for_less,
    is_of_the_moment,
    narrowed,
    outcome_of,
)
from kernel_lineage.learning.replay.plain_values import on_plain_values
from kernel_lineage.learning.replay.preparing import (
    Drafts,
    NotPrepared,
    Prepared,
    on_whole_tiles,
    prepare,
    same_program,
)
from kernel_lineage.learning.replay.record import Label, Record
from kernel_lineage.learning.replay.recording import record_of
from kernel_lineage.learning.replay.sight import sight_of
from kernel_lineage.learning.replay.states import StateOf, states_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.of_state import State
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.proof import Proof


def replay_transition(item: Claimed, ground: Ground, drafts: LineageDrafts) -> tuple[Record, bool]:
    """The record of a transition, and whether it may be kept."""
    started = time.monotonic()
    with states_of(ground.repository, item.before, item.after, drafts.kept) as (before, after):

        def others() -> Iterator[tuple[str, Draft]]:
            return drafts.near(item)

        prepared = prepare(item, before, after, ground.workloads, others)
        if isinstance(prepared, NotPrepared):
            outcome = Outcome("undecided", prepared.code, prepared.reason)
            return record_of(item, ground.device_name, outcome, started), True
        if same_program(prepared.step):
            what = "both states are one program to the device; what changed is host code, comments or names"
            if not prepared.drafted and prepared.said:
                what = f"both states are one kernel, and {prepared.said[0]}"
            outcome = Outcome("undecided", Code.SAME_PROGRAM, what)
            return record_of(item, ground.device_name, outcome, started, prepared), True
        if device := made_for(item.after.path):
            note = f"the file is for {device}, so no gain is claimed of another device"
            prepared = replace(prepared, said=(note, *prepared.said))
        prepared, judged, outcome = _decided(item, prepared, ground, ground.options)
        if prepared.instead_of is not None and outcome.status == "unbuildable":
            other = f"{prepared.instead_of.reason}; with {prepared.said[0]}, {outcome.reason}"
            outcome = Outcome("undecided", Code.CONTRACT_DIFFERS, other)
            return record_of(item, ground.device_name, outcome, started), True
        per_shape = prepared.step.after.language == "triton"
        everywhere, hidden = outcome, True
        if asks_for_less(outcome, judged.verdict, built_per_shape=per_shape):
            for less in _less(item, (before, after), prepared, ground, others, started + _MOST_SECONDS):
                named = narrowed(outcome, less[2])
                if named is outcome or (not agrees(named) and _farther(less[0], prepared)):
                    continue
                prepared, judged, outcome = less[0], less[1], named
                hidden = everywhere.fault_in != "earlier"
                if agrees(outcome) or outcome.status != "failed":
                    break
        prepared, judged, outcome = _at_best_blocks(
            item, (before, after), (prepared, judged, outcome), ground, others, started + _MOST_SECONDS
        )
        proof = None
        if prepared.drafted and outcome.label is not Label.INFERRED and outcome.counterexample is None:
            outcome, proof = _seen(outcome, prepared, (before, after), ground, hidden)
    record = record_of(item, ground.device_name, outcome, started, prepared, judged, proof)
    return record, not is_of_the_moment(judged.verdict)


_MOST_SECONDS = 90.0
"""After so long a transition is asked for nothing less."""
_AS_DECLARED = str(Variation.DECLARED)
_Decided = tuple[Prepared, JudgedStep, Outcome]


def _decided(item: Claimed, prepared: Prepared, ground: Ground, options: GateOptions) -> _Decided:
    """A step through the gate, and what that says."""
    judged = judge_step(
        prepared.step,
        item.claim,
        ground.judge,
        device=ground.device,
        options=options,
        drafted=prepared.drafted,
    )
    prepared = replace(prepared, step=judged.step, said=(*prepared.said, *judged.said))
    outcome = outcome_of(item.claim, judged.verdict, {**judged.doubts, **prepared.doubts})
    return prepared, judged, outcome


def _less(
    item: Claimed,
    states: tuple[StateOf, StateOf],
    prepared: Prepared,
    ground: Ground,
    others: Drafts,
    until: float,
) -> Iterator[_Decided]:
    """The step on less: on what the workload names alone, and on plain values; where its sizes are made up, on others
    that are, too.
    """
    as_named = ground.options.model_copy(update={"hidden": False})
    named = _decided(item, prepared, ground, as_named)
    yield named
    seen = named[2].counterexample
    if seen is not None and seen.inputs not in ("", _AS_DECLARED) and (plain := on_plain_values(named[0])):
        yield _decided(item, plain, ground, as_named)
    for larger in on_larger_sizes(named[0]):
        if time.monotonic() > until:
            return
        yield _decided(item, larger, ground, as_named)
    if not prepared.chosen or time.monotonic() > until:
        return
    if (tiled := on_whole_tiles(prepared)) is not None:
        yield _decided(item, tiled, ground, as_named)
    if time.monotonic() > until:
        return
    again = prepare(item, *states, ground.workloads, others, later_first=True)
    if not isinstance(again, Prepared) or again.step.workload == prepared.step.workload:
        return
    # A state that reaches too far, or not far enough, shows in extents that are no dims: the other one's are to be had.
    if _composed(again.step.workload) <= _composed(prepared.step.workload):
        yield _decided(item, again, ground, as_named)


def _farther(tried: Prepared, reference: Prepared) -> bool:
    """Whether sizes are smaller than those that are told of: a fault there says less of what callers see."""
    now, before = (prepared.step.workload.dims for prepared in (tried, reference))
    return any(max(now[name]) < max(before[name]) for name in now.keys() & before.keys())


def _composed(workload: Workload) -> int:
    """How many extents of buffers are more than a dim: `M * N + 48`, `ceil_div(M * K, 2)`."""
    return sum(not str(extent).isidentifier() for a in workload.args for extent in a.shape or ())


def _at_best_blocks(
    item: Claimed,
    states: tuple[StateOf, StateOf],
    decided: _Decided,
    ground: Ground,
    others: Drafts,
    until: float,
) -> _Decided:
    """The step with each state at the number of threads at which it is fastest, where its launch site has several."""
    as_named = ground.options.model_copy(update={"hidden": False})
    timed: dict[int, _Decided] = {}
    for block in other_blocks(decided) if item.claim is Claim.FASTER else ():
        if time.monotonic() > until:
            break
        wanted = tuple(replace(s, state=State(s.root, block), kept=None) for s in states)
        again = prepare(item, wanted[0], wanted[1], ground.workloads, others)
        if isinstance(again, Prepared) and again.blocks[:1] == (block,):
            done = _decided(item, again, ground, as_named)
            if done[2].effect is not None:
                timed[block] = done
    if not timed:
        return decided
    best = at_its_best(decided, timed, lambda prepared: _decided(item, prepared, ground, as_named))
    if best is decided or decided[2].counterexample is None:
        return best
    return best[0], best[1], narrowed(decided[2], best[2])


def _seen(
    outcome: Outcome, prepared: Prepared, states: tuple[StateOf, StateOf], ground: Ground, hidden: bool
) -> tuple[Outcome, Proof | None]:
    """Agreement under a workload that misses wrong kernels says nothing."""
    try:
        step, (before, after) = prepared.step, states
        proof = sight_of(step, before, ground.probe, ground.device, hidden=hidden)
        if not proof.tried:  # both agree, so wrong forms of the later one tell as much
            turned = replace(step, before=step.after, after=step.before)
            proof = sight_of(turned, after, ground.probe, ground.device, hidden=hidden)
    except ProgramError as error:
        return Outcome(
            "undecided", Code.WORKLOAD_BLIND, f"nothing shows that the workload can see: {error}"
        ), None
    if not proof.blind:
        return outcome, proof
    reason = f"the states agree, but the drafted workload cannot be trusted: {proof.blind}"
    return Outcome("undecided", Code.WORKLOAD_BLIND, reason), proof
