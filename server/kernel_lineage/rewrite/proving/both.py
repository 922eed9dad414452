"""What is proved of the baseline and not of the candidate: part of a verdict, beside what the gate has run.

A bound, a single write or an address that fits its type is proved for all sizes that the workload's promises allow. One
that the baseline keeps and the candidate loses at sizes that callers come with is a rejection, once running the kernel
has shown its counterexample; one that it loses beyond those sizes is a condition on them. The proofs run while the gate
does; what they could not say in time is said.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernel_gate.arguments import Argument
from kernel_gate.deadline import ends_within, seconds_left
from kernel_gate.expr.solver import SolverMissingError
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_gate.workload import Workload
from kernel_lineage.code.model import UnreadableError
from kernel_lineage.code.values import INTEGERS
from kernel_lineage.proofs.obligations.obligation import Kind, Obligation, Status
from kernel_lineage.proofs.obligations.overflow import no_overflow
from kernel_lineage.proofs.obligations.written import written
from kernel_lineage.proofs.prove import KINDS, Kinds
from kernel_lineage.rewrite.proving.prove import launches_of, prove_launches
from kernel_lineage.workloads.programs import ProgramError

_CODES = {
    Kind.IN_BOUNDS: Reason.OUT_OF_BOUNDS,
    Kind.WRITTEN: Reason.NOT_WRITTEN,
    Kind.WRITTEN_ONCE: Reason.RACE,
    Kind.OVERFLOW: Reason.ADDRESS_OVERFLOW,
}
"""What is asked of both; alignment is tried by the gate itself, on misaligned buffers."""
_WORDS = {
    Kind.IN_BOUNDS: "an access leaves its buffer",
    Kind.WRITTEN: "an element of an output is not written",
    Kind.WRITTEN_ONCE: "two threads write one element",
    Kind.OVERFLOW: "arithmetic of an address overflows its 32 bits",
}
_LIMIT_MS = 1000
_WAIT_SECONDS = 3.0
"""What a verdict that is there waits for the proofs."""
_LOOK_SECONDS = 0.5
_WAIT_FOR_REFUTED_SECONDS = 60.0
"""What it waits once something of the candidate is refuted: whether it may be accepted hangs on the rest."""


@dataclass(frozen=True, slots=True)
class Proofs:
    """How the candidate's proofs compare with the baseline's."""

    kept: int = 0
    """Obligations of the candidate that are proved."""
    asked: int = 0
    lost: Obligation | None = None
    """Refuted at sizes that callers come with, confirmed, and proved of the baseline."""
    condition: str = ""
    """What callers' sizes must keep for what is refuted beyond them; "" when nothing is."""
    beyond: Obligation | None = None
    """What is refuted beyond the callers' sizes."""
    open: str = ""
    """Why nothing, or not all, is known."""


def proving(
    judge: Callable[[GateRequest, Path, str], Verdict],
) -> Callable[[GateRequest, Path, str], Verdict]:
    """A judge of requests whose verdicts have the proofs of both programs."""

    def judged(request: GateRequest, candidate: Path, name: str) -> Verdict:
        return judged_with_proofs(
            lambda: judge(request, candidate, name),
            request.baseline,
            request.candidate,
            candidate,
            request.workload,
        )

    return judged


def judged_with_proofs(
    judge: Callable[[], Verdict], before: Program, after: Program, path: Path, workload: Workload
) -> Verdict:
    """The verdict of `judge`, with the proofs of both programs, which go on meanwhile."""
    answers: list[Proofs] = []
    refuted: list[Obligation] = []
    workload = workload.only_where(after.launched_where)
    asking = threading.Thread(
        target=lambda: answers.append(proofs_of_both(before, after, path, workload, refuted)), daemon=True
    )
    asking.start()
    verdict = judge()
    if verdict.outcome is Outcome.REJECTED or verdict.stage("check") is None:
        return verdict
    _wait(asking, _WAIT_SECONDS)
    if refuted:
        _wait(asking, _WAIT_FOR_REFUTED_SECONDS)
    return with_proofs(verdict, answers[0] if answers else Proofs(open=_unanswered(refuted)))


def _wait(asking: threading.Thread, seconds: float) -> None:
    """Wait for so many seconds of this process's work: what other programs take of the processors is given back."""
    with ends_within(seconds, of_work=True):
        while asking.is_alive() and (left := seconds_left(_LOOK_SECONDS)):
            asking.join(left)


def _unanswered(refuted: list[Obligation]) -> str:
    if not refuted:
        return "the proofs took too long"
    first = refuted[0]
    return f"line {first.line}: {_WORDS[first.kind]}; whether the baseline's does too took too long to prove"


def proofs_of_both(
    before: Program, after: Program, path: Path, workload: Workload, refuted: list[Obligation] | None = None
) -> Proofs:
    """Prove the candidate, and the baseline where something of the candidate is refuted, which `refuted` is told."""
    refuted = [] if refuted is None else refuted
    if workload.language == "cuda" and workload.launch.constexpr:
        return Proofs(open="sizes are compiled into the kernel, and proofs do not vary them")
    if after.beside and after.source == before.source:
        return Proofs(open="the kernel is as it was, and the host code around it may give it larger buffers")
    try:
        mine = _obligations(after, path, workload)
        refuted += [o for o in mine if o.status is Status.REFUTED and not _misaligned(o)]
        kept, asked = sum(o.status is Status.PROVED for o in mine), len(mine)
        if not asked:
            return Proofs(open="no access of it could be read")
        if not refuted:
            return _where_one_size_grows(before, after, path, workload, Proofs(kept, asked), refuted)
        of_baseline = _obligations(before, path, workload)
        lost = _lost(refuted, _kept_by(of_baseline))
        if not lost:
            if not _overflows(mine) - _overflows(of_baseline):
                return Proofs(kept, asked)
            return _where_one_size_grows(before, after, path, workload, Proofs(kept, asked), refuted)
        bounds = callers_bounds(workload)
        at_callers = workload.model_copy(update={"promises": (*workload.promises, *bounds)})
        again = {_place(o): o for o in _obligations(after, path, at_callers)}
    except (ProgramError, UnreadableError, SolverMissingError) as error:
        return Proofs(open=str(error))
    for obligation in lost:
        there = again.get(_place(obligation))
        if (
            there is not None
            and there.status is Status.REFUTED
            and there.confirmed
            and not _misaligned(there)
        ):
            return Proofs(kept, asked, lost=there)
    beyond = next(
        (o for o in lost if (there := again.get(_place(o))) is None or there.status is Status.PROVED), None
    )
    if beyond is not None:
        return Proofs(kept, asked, condition=" and ".join(bounds), beyond=beyond)
    return Proofs(kept, asked, open=f"line {lost[0].line}: {again[_place(lost[0])].reason}")


def _overflows(obligations: Sequence[Obligation]) -> set[tuple[str, str]]:
    """Buffer and arithmetic of each overflow that is refuted."""
    refuted = (o for o in obligations if o.kind is Kind.OVERFLOW and o.status is Status.REFUTED)
    return {(o.root, o.cause[1] if o.cause else o.expression) for o in refuted}


def _where_one_size_grows(
    before: Program,
    after: Program,
    path: Path,
    workload: Workload,
    proofs: Proofs,
    refuted: list[Obligation],
) -> Proofs:
    """The proofs, with the callers' size of a dim beyond which addresses of the candidate alone overflow.

    Asked of one dim at a time, the others as callers have them, where `proofs` says nothing of larger sizes: those of
    a test hold at its own sizes alone, or both programs overflow somewhere.
    """
    pins = {name: f"{name} == {sizes[0]}" for name, sizes in workload.dims.items()}
    pinned = [name for name, pin in pins.items() if pin in workload.promises]
    if not _overflows(refuted) and not pinned:
        return proofs
    bounds = dict(zip(workload.dims, callers_bounds(workload), strict=True))
    args = tuple(_of_any_data(a) if pinned else a for a in workload.args)
    for name in pinned or bounds:
        others = (bound for dim, bound in bounds.items() if dim != name)
        promises = (*(p for p in workload.promises if p != pins[name]), *others)
        larger = workload.model_copy(update={"promises": promises, "args": args})
        mine = [o for o in _obligations(after, path, larger, (no_overflow,)) if o.status is Status.REFUTED]
        if not mine:
            continue
        refuted += mine
        lost = _lost(mine, _kept_by(_obligations(before, path, larger, (no_overflow,))))
        if lost:
            return replace(proofs, condition=bounds[name], beyond=lost[0])
    return proofs


def _of_any_data(argument: Argument) -> Argument:
    """The same without limits of its integers that a test's numbers are: no more is asked than what callers keep.

    An index that data hold is then any that stays in its buffer.
    """
    kind, limits = argument.values_spec
    numbers = all(limit.lstrip("-").isdigit() for limit in limits)
    if argument.kind == "input" and argument.dtype in INTEGERS and kind in ("integers", "listed") and numbers:
        return argument.model_copy(update={"values": "integers"})
    return argument


def _lost(refuted: Sequence[Obligation], kept: _Kept) -> list[Obligation]:
    """What the baseline is proved to keep, or has no such access of."""
    return [o for o in refuted if (o.kind, o.root) in kept or not kept.has(o)]


def with_proofs(verdict: Verdict, proofs: Proofs) -> Verdict:
    """A verdict that the candidate has not been rejected by, and what the proofs say to it."""
    details: dict[str, Any] = {"proved": proofs.kept, "asked": proofs.asked}
    if proofs.lost is not None:
        reason = _sentence(proofs.lost)
        code = _CODES[proofs.lost.kind]
        example = proofs.lost.counterexample
        details["counterexample"] = dict(example.dims) if example is not None else {}
        stage = Stage(name="prove", status=StageStatus.FAIL, code=code, reason=reason, details=details)
        return verdict.model_copy(
            update={
                "outcome": Outcome.REJECTED,
                "code": code,
                "reason": f"Rejected by prove: {reason}",
                "stages": [*verdict.stages, stage],
            }
        )
    words = f"{proofs.kept} of {proofs.asked} proved" if not proofs.open else f"not proved: {proofs.open}"
    text = verdict.reason
    if proofs.beyond is not None:
        words = f"only if {proofs.condition}, which the baseline does not need: {_sentence(proofs.beyond)}"
        details["conditions"] = [{"expr": proofs.condition, "kind": "validity", "evidence": words}]
        text = f"{text}; {words}"
    stage = Stage(name="prove", status=StageStatus.PASS, reason=words, details=details)
    return verdict.model_copy(update={"reason": text, "stages": [*verdict.stages, stage]})


def callers_bounds(workload: Workload) -> tuple[str, ...]:
    """The largest extent of each dim that the workload names or times, as conditions."""
    largest = {name: max(extents) for name, extents in workload.dims.items()}
    for shape in workload.profile_dims:
        largest |= {name: max(largest[name], extent) for name, extent in shape.items()}
    return tuple(f"{name} <= {extent}" for name, extent in largest.items())


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is proved of a program, by kind and buffer."""

    proved: frozenset[tuple[Kind, str]]
    asked: frozenset[tuple[Kind, str]]

    def __contains__(self, key: object) -> bool:
        return key in self.proved

    def __bool__(self) -> bool:
        return True

    def has(self, obligation: Obligation) -> bool:
        """Whether the program has such an access at all."""
        return (obligation.kind, obligation.root) in self.asked


def _kept_by(obligations: Sequence[Obligation]) -> _Kept:
    asked = frozenset((o.kind, o.root) for o in obligations)
    open_ones = {(o.kind, o.root) for o in obligations if o.status is not Status.PROVED}
    return _Kept(asked - open_ones, asked)


def _obligations(program: Program, path: Path, workload: Workload, kinds: Kinds = KINDS) -> list[Obligation]:
    launches = launches_of(program, path, workload)
    if program.beside or program.of_torch:  # who else writes, and what is read of it, is not seen
        kinds = [kind for kind in kinds if kind is not written]
    obligations = prove_launches(launches, path, limit_ms=_LIMIT_MS, kinds=kinds)
    return [o for o in obligations if o.kind in _CODES]


def _misaligned(obligation: Obligation) -> bool:
    """Whether it is refuted only of buffers that allocators do not give; the gate has cases of those."""
    example = obligation.counterexample
    return example is not None and bool(example.addresses)


def _place(obligation: Obligation) -> tuple[Kind, int, str, str]:
    return obligation.kind, obligation.line, obligation.expression, obligation.root


def _sentence(obligation: Obligation) -> str:
    example = obligation.counterexample
    sizes = ", ".join(f"{n} {e}" for n, e in example.dims.items()) if example is not None else ""
    element = ""
    if example is not None and example.buffer is not None and example.element is not None:
        element = f" ({example.buffer}[{example.element}])"
    where = f"line {obligation.line}: `{obligation.expression}`"
    return f"{_WORDS[obligation.kind]}{element}; {sizes}; {where}; the baseline is proved not to"
