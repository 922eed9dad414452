"""The proofs about an edited kernel, as a task of `learning.apart`: what the cases of its check cannot reach.

Asked is what holds for all sizes up to those that callers come with; a counterexample there is a finding. From which
larger sizes on an address overflows is said as a hint. The task ends at once when nobody waits for its answer any more.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from kernel_gate.reasons import Reason
from kernel_lineage.editor.checking import KernelTask, drafts
from kernel_lineage.learning.check_document import FindingDocument, RelatedDocument
from kernel_lineage.proofs.obligations.obligation import Kind, Obligation, Status

if TYPE_CHECKING:
    from kernel_gate.workload import Workload
    from kernel_lineage.learning.apart import Ask
    from kernel_lineage.proofs.prove import Kinds
    from kernel_lineage.workloads.on_the_spot import SpotWorkload

CODES = {
    Kind.OVERFLOW: Reason.ADDRESS_OVERFLOW,
    Kind.IN_BOUNDS: Reason.OUT_OF_BOUNDS,
    Kind.WRITTEN: Reason.NOT_WRITTEN,
    Kind.WRITTEN_ONCE: Reason.RACE,
}
"""What is asked, and the code of a finding."""
LIMIT_MS = 500
"""For one question."""
_RUN_SECONDS = 2.0
_ACCESSES = 4
"""Accesses of one operation that are named."""


class Claims(KernelTask):
    """A kernel to prove things of."""

    seconds: float
    stop: Path
    """A file that is there as soon as nobody waits for the answer."""


class Proved(BaseModel):
    """What came of it."""

    findings: list[FindingDocument]
    asked: int
    proved: int
    open: str = ""
    """Why nothing, or not all, was asked."""
    lacks: str = ""
    """What this machine needs for any proof, and how to get it."""
    in_time: bool = True
    """Whether the time was enough."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One obligation, and whether the sizes that it was asked for are those of callers."""

    obligation: Obligation
    at_callers: bool


def work(task: str, _ask: Ask) -> str:
    """A `Claims` as JSON → a `Proved` as JSON."""
    from kernel_gate.deadline import ends_within, seconds_left
    from kernel_gate.expr.solver import SolverMissingError
    from kernel_gate.expr.stopping import StoppedError, asked_until
    from kernel_gate.workload import WorkloadError
    from kernel_lineage.code.model import UnreadableError
    from kernel_lineage.workloads.programs import ProgramError

    claims = Claims.model_validate_json(task)
    answers: list[Answer] = []
    why = lacks = ""
    in_time, spot = True, None
    try:
        with ExitStack() as stack:
            stack.enter_context(ends_within(claims.seconds))
            spot = drafts(claims.around).workload_of(claims.path, claims.text, claims.kernel)
            stack.enter_context(asked_until(claims.stop.exists))
            for answer in answered(claims.path, claims.text, claims.kernel, spot.workload, beyond=True):
                answers.append(answer)
                if claims.stop.exists() or seconds_left(claims.seconds) <= 0:
                    raise StoppedError
    except StoppedError:
        why, in_time = "there was no time for more", False
    except (ProgramError, UnreadableError, WorkloadError) as error:
        why = str(error)
    except SolverMissingError as error:
        why = lacks = str(error)
    asked = [a.obligation for a in answers if a.at_callers]
    return Proved(
        findings=[] if spot is None else list(findings(claims, spot, answers)),
        asked=len(asked),
        proved=sum(o.status is Status.PROVED for o in asked),
        open=why,
        lacks=lacks,
        in_time=in_time,
    ).model_dump_json()


def answered(
    path: Path,
    text: bytes,
    kernel: str,
    workload: Workload,
    *,
    limit_ms: int = LIMIT_MS,
    beyond: bool = False,
) -> Iterator[Answer]:
    """What is asked of a kernel, as it is answered: at callers' sizes, overflows first.

    With `beyond` it is then asked from which sizes on addresses overflow at all. Raises `ProgramError`,
    `UnreadableError`, `SolverMissingError`.
    """
    from kernel_lineage.proofs.obligations.in_bounds import in_bounds
    from kernel_lineage.proofs.obligations.overflow import no_overflow
    from kernel_lineage.proofs.obligations.written import written
    from kernel_lineage.proofs.obligations.written_once import written_once
    from kernel_lineage.rewrite.proving.both import callers_bounds
    from kernel_lineage.rewrite.proving.prove import launches_of_file, proving

    bounded = workload.model_copy(update={"promises": (*workload.promises, *callers_bounds(workload))})
    asked: list[tuple[Workload, Kinds]] = [(bounded, (no_overflow, in_bounds, written_once, written))]
    asked += [(workload, (no_overflow,))] if beyond else []
    for each, kinds in asked:
        launches = launches_of_file(path, kernel, each, data=text)
        for obligation in itertools.chain.from_iterable(
            proving(launched, path, kinds=kinds, limit_ms=limit_ms, run_seconds=_RUN_SECONDS)
            for launched in launches
        ):
            example = obligation.counterexample
            # What was not decided for callers may turn out to be so at their sizes.
            within = each is bounded or (example is not None and bounded.keeps_promises(example.dims))
            yield Answer(obligation, within)


def findings(claims: Claims, spot: SpotWorkload, answers: list[Answer]) -> Iterator[FindingDocument]:
    """One finding for each place that is guilty, the accesses that it leads to beside it."""
    from kernel_lineage.editor.checked import loose_dims
    from kernel_lineage.rewrite.proving.both import callers_bounds

    drafted = spot.path is None
    places: dict[tuple[Kind, int, str], list[Answer]] = {}
    wrong: set[tuple[int, str]] = set()
    """Accesses whose address overflows for callers; from which sizes on they do beyond them says nothing more."""
    for answer in answers:
        o = answer.obligation
        if not answer.at_callers and (o.line, o.expression) in wrong:
            continue
        if o.status is not Status.REFUTED or not o.confirmed or o.counterexample is None:
            continue
        if drafted and o.kind is not Kind.OVERFLOW and loose_dims(spot.workload, o.root):
            continue  # the draft's own guess of an extent may be what is wrong
        if answer.at_callers and o.kind is Kind.OVERFLOW:
            wrong.add((o.line, o.expression))
        line, what = o.cause or (o.line, o.root)
        places.setdefault((o.kind, line, what), []).append(answer)
    bounds = ", ".join(callers_bounds(spot.workload))
    for (kind, line, what), same in places.items():
        first = same[0].obligation
        words, at_callers = _in_words(first, what), same[0].at_callers
        if at_callers:
            shown = (
                "the source does" if kind is Kind.OVERFLOW else "the source does, and a run has confirmed it"
            )
            message = f"{claims.kernel}: {words}\nNo case of the check shows it: {shown}."
            message += f"\nCallers come with {bounds}." if bounds else ""
            message += "\nThe workload is a draft; its sizes may not be the callers'." if drafted else ""
        else:
            message = f"{claims.kernel}: {words}\nThose are larger than what callers come with: {bounds or 'no sizes'}."
        accesses = list(dict.fromkeys((a.obligation.line, a.obligation.expression) for a in same))[:_ACCESSES]
        yield FindingDocument(
            line=line,
            message=message,
            severity=("warning" if drafted else "error") if at_callers else "hint",
            code=CODES[kind],
            related=[
                RelatedDocument(line=at, message=f"`{access}` is addressed by it")
                for at, access in accesses
                if first.cause is not None
            ],
        )


def _in_words(obligation: Obligation, what: str) -> str:
    """What happens, at which sizes, in the code's words."""
    example = obligation.counterexample
    assert example is not None
    sizes = ", ".join(f"{name} {size}" for name, size in example.dims.items())
    where = ""
    if example.block is not None:
        where = f"; block {example.block}" + (f", thread {example.thread}" if example.thread else "")
    match obligation.kind:
        case Kind.OVERFLOW:
            words = f"{obligation.reason.partition(' from ')[0]}: {example.note}".replace(
                f": `{what}` is ", ", it is "
            )
            return f"{words}; {sizes}{where}"
        case Kind.WRITTEN:
            return f"{what}[{example.element}] is not written; {sizes}"
        case _:
            return f"{example.note}; {sizes}"
