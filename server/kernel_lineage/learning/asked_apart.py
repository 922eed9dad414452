"""A change asked again with tensors that do not lie row by row in memory, where the code before takes such."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from kernel_gate.deadline import ends_within
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.standing import Standing
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.workload import WorkloadError
from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.learning.changed_kernels import ChangedKernel
from kernel_lineage.learning.changed_programs import programs_of, target_before
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

_SECONDS = 20.0
"""What the draft of a host function may take here."""
_RIGHT = (Standing.ACCEPTED, Standing.RIGHT)


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
        answers = [*_asked(one, request, judge)]
        for apart, other in answers:
            if not isinstance(other, str) and other.outcome is Outcome.REJECTED:
                return other.of_another_workload(f"where {apart.where}: {other.reason}")
        if answers and (not is_open or any(apart.is_channels_last for apart, _ in answers)):
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
    return before is not None and after is not None and not _asks(before) and _asks(after)


def _asks(source: SourceFile) -> bool:
    return asks_formats(source.data.decode("utf-8", "replace"))


def _left_out(changed: ChangedKernel) -> tuple[str, ...]:
    source, later = changed.before.kernel.source, changed.after.kernel.source
    if source is None or later is None:
        return ()
    return copies_left_out(changed.before.kernel.name, source, later, changed.after.kernel.name)


def _asked(
    changed: ChangedKernel, request: GateRequest, judge: Callable[[GateRequest], Verdict]
) -> Iterator[tuple[Apart, Verdict | str]]:
    """How tensors lie, and the verdict with them, or why the candidate has none; nothing where the code before the
    change cannot be given such tensors, or does not run with them. Rows at each distance are asked for, up to the first
    rejection.
    """
    try:
        cases = _cases(changed)
        programs = programs_of(changed)
    except (ProgramError, WorkloadError):
        return
    for each in cases:
        answers = (_judged(apart, programs, request, judge) for apart in each)
        answer = next(filter(None, answers), None)
        if answer is None:
            continue
        yield answer
        if isinstance(answer[1], str) or answer[1].outcome is Outcome.REJECTED:
            return


def _judged(
    apart: Apart,
    programs: Sequence[Callable[..., Program]],
    request: GateRequest,
    judge: Callable[[GateRequest], Verdict],
) -> tuple[Apart, Verdict | str] | None:
    of_before, of_after = programs
    try:
        before = of_before(apart.workload, views=apart.views)
    except (ProgramError, WorkloadError):
        return None
    try:
        after = of_after(apart.workload, views=apart.views)
    except (ProgramError, WorkloadError) as error:
        return apart, str(error)
    workload = apart.workload.only_where(after.launched_where)
    update = {"baseline": before, "candidate": after, "workload": workload}
    other = judge(request.model_copy(update=update))
    is_told = other.outcome is Outcome.REJECTED or other.standing in _RIGHT
    return (apart, other) if is_told else None


def _cases(changed: ChangedKernel) -> list[list[Apart]]:
    """The workloads for the host function before the change, with channels that lie last where the change or the code
    before it tells such tensors apart, then for each distance between rows; none where it asks nothing of how tensors
    lie. Raises as drafting does.
    """
    from kernel_lineage.workloads.completing import InTurn  # heavy: what drafts workloads
    from kernel_lineage.workloads.state import State

    target, root = target_before(changed), changed.before.tree.root
    if not isinstance(target, Launcher):
        return []
    asked = asked_axes(target.source.data.decode("utf-8", "replace"))
    has_formats = _asks(target.source) or _asks_more_formats(changed)
    if not asked and not has_formats:
        return []
    with ends_within(_SECONDS, of_work=True):
        draft = InTurn(target, root / (changed.hosts[0] or changed.before.path), State(root)).first()
    if draft.missing:
        return []
    workload = draft.workload()
    made_outside = [a.name for a in workload.args if a.is_pointer and not a.noalias]
    tensors = [name for name in made_outside if name in asked] or made_outside
    turned = [[*with_channels_last(workload, tensors)]] if has_formats else []
    return [*turned, *([*lying_apart(workload, tensors, asked, between)] for between in BETWEEN if asked)]
