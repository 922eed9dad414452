"""Replaying many transitions: those that are known are told, the others judged, until the time is spent."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any

from kernel_gate.options import GateOptions
from kernel_lineage.history.git import KERNEL_PATHSPECS, Repository, work_tree_files
from kernel_lineage.learning.replay.claims import Claimed
from kernel_lineage.learning.replay.codes import Code
from kernel_lineage.learning.replay.judging import JudgedStep, judge_step
from kernel_lineage.learning.replay.learners import Learned, Learner, Replayed
from kernel_lineage.learning.replay.lineage_drafts import LineageDrafts
from kernel_lineage.learning.replay.outcome import (
    Outcome,
    asks_for_less,
    is_of_the_moment,
    narrowed,
    outcome_of,
)
from kernel_lineage.learning.replay.preparing import (
    NotPrepared,
    Prepared,
    prepare,
    same_program,
    workload_of,
)
from kernel_lineage.learning.replay.record import Label, Record
from kernel_lineage.learning.replay.recording import record_of
from kernel_lineage.learning.replay.sight import sight_of
from kernel_lineage.learning.replay.states import StateOf, states_of
from kernel_lineage.learning.replay.store import ReplayStore, question_of
from kernel_lineage.learning.steps import Judge
from kernel_lineage.rewrite.drafting.proof import Device, Proof
from kernel_lineage.rewrite.programs import ProgramError
from kernel_lineage.rewrite.workloads import Workloads


@dataclass(frozen=True, slots=True)
class Bench:
    """What transitions are replayed on."""

    repository: Repository
    workloads: Workloads
    judge: Judge
    """For the steps."""
    probe: Judge
    """For mutants and learners; several threads call both."""
    at_once: int
    device: Device
    device_name: str
    identity: Any
    """What a record must agree with to be used again."""
    options: GateOptions
    store: ReplayStore
    learners: tuple[Learner, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known of the transitions that were asked for, and which are to be judged."""

    known: tuple[Replayed, ...]
    """From earlier runs."""
    todo: tuple[Claimed, ...]
    """In the order in which they are begun."""
    questions: Mapping[str, str]


def plan(items: Sequence[Claimed], bench: Bench, *, limit: int | None = None) -> Plan:
    """What is to be done: at most `limit` transitions anew.

    One of each lineage comes before the next of the first, so that a run that is cut short has seen them all.
    """
    work_tree = _work_tree_digest(bench.repository, items)
    questions = {item.transition.id: _question(item, bench, work_tree) for item in items}
    known: list[Replayed] = []
    waiting: list[Claimed] = []
    for item in items:
        record = bench.store.record(item.transition.id, bench.device_name, questions[item.transition.id])
        if record is None:
            waiting.append(item)
        else:
            known.append(Replayed(item, record, fresh=False))
    return Plan(tuple(known), tuple(_in_turn(waiting)[:limit]), questions)


def replay(planned: Plan, bench: Bench, *, seconds: float | None = None) -> Iterator[Replayed]:
    """Each transition of a plan: those that are known first, then the others as they end, with what learners give.

    None is begun after `seconds`; those that are left are not given. Raises `DeviceError`; what was finished is kept,
    also when the caller stops asking.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    drafts = LineageDrafts(bench.repository)
    ended = threading.Event()

    def late() -> bool:
        return ended.is_set() or (deadline is not None and time.monotonic() > deadline)

    def one(item: Claimed) -> Replayed | None:
        if late():
            return None
        question = planned.questions[item.transition.id]
        record, kept = _replayed(item, bench, drafts)
        if kept:
            bench.store.keep(record, bench.device_name, question)
        return _learned(Replayed(item, record, fresh=True), question, bench)

    for known in planned.known:
        yield _learned(known, planned.questions[known.item.transition.id], bench)
    # One more than there are workers: the next step is made ready while the others are judged.
    with ThreadPoolExecutor(bench.at_once + 1) as threads:
        try:
            running = {threads.submit(one, item) for item in planned.todo}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    if (replayed := future.result()) is not None:
                        yield replayed
        finally:
            ended.set()
            threads.shutdown(cancel_futures=True)


def _question(item: Claimed, bench: Bench, work_tree: str) -> str:
    found = workload_of(item, bench.workloads)
    return question_of(
        item,
        device=bench.identity,
        options=bench.options,
        workload=found.workload if found is not None else None,
        work_tree=work_tree,
    )


def _in_turn(items: Sequence[Claimed]) -> list[Claimed]:
    """The first of each lineage, then the second of each, and so on."""
    seen: dict[str, int] = {}
    places = []
    for item in items:
        seen[item.lineage.id] = seen.get(item.lineage.id, 0) + 1
        places.append(seen[item.lineage.id])
    order = sorted(range(len(items)), key=lambda i: places[i])
    return [items[i] for i in order]


def _work_tree_digest(repository: Repository, items: Sequence[Claimed]) -> str:
    if all(item.before.commit and item.after.commit for item in items):
        return ""
    whole = hashlib.sha256()
    for path in work_tree_files(repository, KERNEL_PATHSPECS):
        file = repository.top / path
        if file.is_file():
            whole.update(path.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def _replayed(item: Claimed, bench: Bench, drafts: LineageDrafts) -> tuple[Record, bool]:
    """The record of a transition, and whether it may be kept."""
    started = time.monotonic()
    with states_of(bench.repository, item.before, item.after) as (before, after):
        prepared = prepare(item, before, after, bench.workloads, lambda: drafts.near(item))
        if isinstance(prepared, NotPrepared):
            outcome = Outcome("undecided", prepared.code, prepared.reason)
            return record_of(item, bench.device_name, outcome, started), True
        if same_program(prepared.step):
            what = "both states are one program to the device; what changed is host code, comments or names"
            if not prepared.drafted and prepared.said:
                what = f"both states are one kernel, and {prepared.said[0]}"
            outcome = Outcome("undecided", Code.SAME_PROGRAM, what)
            return record_of(item, bench.device_name, outcome, started, prepared), True
        judged = _judged(item, prepared, bench, bench.options)
        prepared = replace(prepared, step=judged.step, said=(*prepared.said, *judged.said))
        outcome = outcome_of(item.claim, judged.verdict, {**judged.doubts, **prepared.doubts})
        if asks_for_less(outcome, judged.verdict):
            as_named = bench.options.model_copy(update={"hidden": False})
            again = _judged(item, prepared, bench, as_named)
            less = narrowed(outcome, outcome_of(item.claim, again.verdict))
            judged = again if less.status != outcome.status else judged
            outcome = less
        proof = None
        if prepared.drafted and outcome.label is not Label.INFERRED and outcome.counterexample is None:
            outcome, proof = _seen(outcome, prepared, before, bench)
    record = record_of(item, bench.device_name, outcome, started, prepared, judged, proof)
    return record, not is_of_the_moment(judged.verdict)


def _judged(item: Claimed, prepared: Prepared, bench: Bench, options: GateOptions) -> JudgedStep:
    return judge_step(
        prepared.step,
        item.claim,
        bench.judge,
        device=bench.device,
        options=options,
        drafted=prepared.drafted,
    )


def _seen(
    outcome: Outcome, prepared: Prepared, before: StateOf, bench: Bench
) -> tuple[Outcome, Proof | None]:
    """Agreement under a workload that misses wrong kernels says nothing."""
    try:
        proof = sight_of(prepared.step, before, bench.probe, bench.device)
    except ProgramError as error:
        return Outcome(
            "undecided", Code.WORKLOAD_BLIND, f"nothing shows that the workload can see: {error}"
        ), None
    if not proof.blind:
        return outcome, proof
    reason = f"the states agree, but the drafted workload cannot be trusted: {proof.blind}"
    return Outcome("undecided", Code.WORKLOAD_BLIND, reason), proof


def _learned(replayed: Replayed, question: str, bench: Bench) -> Replayed:
    """The transition with what each learner gives for it."""
    gives: list[Learned] = []
    for learner in bench.learners:
        known = bench.store.learned(question, learner.name) if learner.kept else None
        if known is None:
            known = learner.learn(replayed, bench.probe)
            if learner.kept:
                bench.store.keep_learned(known, question, learner.name)
        gives.append(known)
    return replace(replayed, learned=tuple(gives))
