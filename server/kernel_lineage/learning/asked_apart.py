"""A change asked again with tensors that do not lie row by row in memory, where the code before takes such."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.learning.changed_kernels import ChangedKernel
from kernel_lineage.learning.changed_programs import drafted_first, programs_of, target_before
from kernel_lineage.workloads.files import Launcher
from kernel_lineage.workloads.lying_apart import (
    BETWEEN,
    Apart,
    asked_axes,
    asks_formats,
    lying_apart,
    with_channels_last,
)
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.torch_beside import copies_left_out

if TYPE_CHECKING:
    from kernel_lineage.workloads.model import Draft


def judged_apart(
    verdict: Verdict,
    changed: ChangedKernel,
    functions: Iterable[ChangedKernel],
    request: GateRequest,
    judge: Callable[[GateRequest], Verdict],
) -> Verdict:
    """The verdict on a kernel that is right with tensors that lie row by row; a rejection where it is wrong with some
    that lie apart, which the host function before the change takes: it asks their strides, or copies them.

    `functions` are the change as one of each host function that may be asked. The verdict names the tensors with which
    it was asked too; and those of which the change leaves out the copy, where it could not be asked with them. It is
    undecided where the change alone tells tensors whose channels lie last from others, and it could not be asked.
    """
    left_out, is_open = _left_out(changed), _asks_more_formats(changed)
    for one in functions:
        answers = _asked(one, request, judge)
        for apart, other in answers:
            if not isinstance(other, str) and other.outcome is Outcome.REJECTED:
                return other.of_another_workload(f"where {apart.where}: {other.reason}")
        last = (a.is_channels_last and not isinstance(other, str) for a, other in answers)
        if answers and (not is_open or any(last)):
            notes = (
                f"not judged where {apart.where}: {other}"
                if isinstance(other, str)
                else f"right where {apart.where}, too"
                for apart, other in answers
            )
            return verdict.with_note("; ".join(dict.fromkeys(notes)))
    if is_open:
        why = "not judged where channels lie last, which the change alone tells from other tensors"
        undecided = {"outcome": Outcome.INCONCLUSIVE, "code": Reason.WORK_BESIDE, "speedup": None}
        return verdict.with_note(why).model_copy(update=undecided)
    if left_out:
        why = f"not judged where {' or '.join(left_out)} does not lie row by row"
        return verdict.with_note(f"{why}: the change leaves out `contiguous()`")
    return verdict


def _asks_more_formats(changed: ChangedKernel) -> bool:
    """Whether the file after a change alone tells the formats of tensors apart."""
    before, after = (one.kernel.source for one in (changed.before, changed.after))
    if before is None or after is None:
        return False
    return not asks_formats(_text(before)) and asks_formats(_text(after))


def _left_out(changed: ChangedKernel) -> tuple[str, ...]:
    source, later = changed.before.kernel.source, changed.after.kernel.source
    if source is None or later is None:
        return ()
    return copies_left_out(changed.before.kernel.name, source, later, changed.after.kernel.name)


def _asked(
    changed: ChangedKernel, request: GateRequest, judge: Callable[[GateRequest], Verdict]
) -> list[tuple[Apart, Verdict | str]]:
    """How tensors lie, and the verdict with them, or why there is none; nothing where the code before the change cannot
    be given such tensors, or asks nothing of how tensors lie.
    """
    from kernel_lineage.workloads.completing import left_alone  # heavy: what drafts workloads

    try:
        target, programs = target_before(changed), programs_of(changed)
        if not isinstance(target, Launcher) or not _may_lie_apart(changed, target.source):
            return []
        draft: Draft | None
        turn, draft = drafted_first(changed, target)
        answers: list[tuple[Apart, Verdict | str]] = []
        while draft is not None and not draft.missing:
            cases = _cases(changed, target.source, draft.workload())
            answers = _answers(cases, lambda apart: _judged(apart, programs, request, judge))
            # An output that is written in part keeps what its caller put there: only a run tells.
            in_part = next((str(why) for _, why in _untold(answers) if left_alone(str(why))), "")
            draft = turn.after_reading(draft, in_part) if in_part else None
    except (ProgramError, WorkloadError):
        return []
    return [one for one in answers if _is_told(one[1])] or [*_untold(answers)][:1]


def _answers(
    cases: Iterable[Iterable[Apart]], ask: Callable[[Apart], Verdict | str | None]
) -> list[tuple[Apart, Verdict | str]]:
    """What comes of the first workload of each case that tells something, with those before it that do not; nothing
    after a rejection, a candidate that cannot be asked, or an output that is not written.
    """
    from kernel_lineage.workloads.completing import left_alone  # heavy: what drafts workloads

    answers: list[tuple[Apart, Verdict | str]] = []
    for each in cases:
        for apart in each:
            answer = ask(apart)
            if answer is None:
                continue
            answers.append((apart, answer))
            if isinstance(answer, str) or answer.outcome is Outcome.REJECTED or left_alone(answer.reason):
                return answers
            if _is_told(answer):
                break
    return answers


def _is_told(answer: Verdict | str) -> bool:
    return isinstance(answer, str) or answer.outcome is Outcome.REJECTED or answer.standing.is_right


def _untold(answers: Iterable[tuple[Apart, Verdict | str]]) -> Iterator[tuple[Apart, Verdict | str]]:
    """The workloads with which nothing can be told, and why."""
    return ((a, v.reason) for a, v in answers if isinstance(v, Verdict) and not _is_told(v))


def _judged(
    apart: Apart,
    programs: Sequence[Callable[..., Program]],
    request: GateRequest,
    judge: Callable[[GateRequest], Verdict],
) -> Verdict | str | None:
    """The verdict, or why the candidate cannot be asked; None where the code before the change cannot."""
    of_before, of_after = programs
    try:
        before = of_before(apart.workload, views=apart.views)
    except (ProgramError, WorkloadError):
        return None
    try:
        after = of_after(apart.workload, views=apart.views)
    except (ProgramError, WorkloadError) as error:
        return str(error)
    workload = apart.workload.only_where(after.launched_where)
    update = {"baseline": before, "candidate": after, "workload": workload}
    return judge(request.model_copy(update=update))


def _may_lie_apart(changed: ChangedKernel, source: SourceFile) -> bool:
    """Whether a host function asks, or its change, how tensors lie."""
    return bool(asked_axes(_text(source))) or asks_formats(_text(source)) or _asks_more_formats(changed)


def _cases(changed: ChangedKernel, source: SourceFile, workload: Workload) -> list[list[Apart]]:
    """The workloads for the host function before the change, with channels that lie last where the change or the code
    before it tells such tensors apart, then for each distance between rows.
    """
    asked = asked_axes(_text(source))
    made_outside = [a.name for a in workload.args if a.is_pointer and not a.noalias]
    tensors = [name for name in made_outside if name in asked] or made_outside
    has_formats = asks_formats(_text(source)) or _asks_more_formats(changed)
    turned = [[*with_channels_last(workload, tensors)]] if has_formats else []
    return [*turned, *([*lying_apart(workload, tensors, asked, between)] for between in BETWEEN if asked)]


def _text(source: SourceFile) -> str:
    return source.data.decode("utf-8", "replace")
