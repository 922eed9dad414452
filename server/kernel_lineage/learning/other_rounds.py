"""A change of a host function asked again with other numbers: of rounds of its loops, and those that it compares.

A loop of launches over a size is drafted with as many rounds as one shape has, one over a number with few: that there
are so many is the draft's promise, and no caller's. So is what a change compares such numbers with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from kernel_gate.arguments import Argument
from kernel_gate.conclusion import not_judged
from kernel_gate.program import LaunchStep, Program, Value
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.kernels.words import WORD
from kernel_lineage.learning.changed_kernels import ChangedKernel
from kernel_lineage.workloads.launched_beside import numbers_asked
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.promises import broken

_MOST = 64
"""Larger numbers are none of rounds that a draft goes through."""
_ROUNDS = re.compile(r"(\w+) == (\d+)")


def judged_at_other_numbers(
    verdict: Verdict,
    changed: ChangedKernel,
    request: GateRequest,
    programs: Sequence[Callable[..., Program]],
    judge: Callable[[GateRequest], Verdict],
) -> Verdict:
    """The verdict on a candidate that is right by a drafted workload; a rejection where it is wrong with one round
    less, or with two in the place of one. It is asked with numbers as well that it tests and the function before it
    does not, and not judged where it cannot be. The verdict names the numbers with which it was asked too.
    """
    for condition, ask in _of_choices(changed, request, programs):
        try:
            asked = ask()
            other = judge(asked) if asked is not None else None
        except (ProgramError, WorkloadError) as error:
            return not_judged(changed.name, f"where {condition}: {error}", Reason.ARGUMENTS_DIFFER)
        if other is None:
            continue
        if other.outcome is Outcome.REJECTED:
            return other.of_another_workload(f"where {condition}: {other.reason}")
        if not other.standing.is_right:
            return not_judged(changed.name, f"where {condition}: {other.reason}", Reason.ARGUMENTS_DIFFER)
        verdict = verdict.with_note(f"right where {condition}, too")
    for condition, ask in (*_of_dims(request, programs), *_of_numbers(request, programs)):
        try:
            asked = ask()
        except (ProgramError, WorkloadError) as error:
            verdict = verdict.with_note(f"not judged where {condition}: {error}")
            continue
        if asked is None:
            continue
        other = judge(asked)
        if other.outcome is Outcome.REJECTED:
            return other.of_another_workload(f"where {condition}: {other.reason}")
        is_right = other.standing.is_right
        note = (
            f"right where {condition}, too" if is_right else f"not judged where {condition}: {other.reason}"
        )
        verdict = verdict.with_note(note)
    return verdict


_Ask = Callable[[], GateRequest | None]
"""Gives the request with another number of rounds; None where the number is none of rounds. Raises as drafting does."""


def _of_dims(request: GateRequest, programs: Sequence[Callable[..., Program]]) -> Iterator[tuple[str, _Ask]]:
    """For each size that a draft takes to be the number of rounds, the condition, and what asks there."""
    workload = request.workload
    for promise in workload.promises:
        match = _ROUNDS.fullmatch(promise)
        if match is not None and match[1] in workload.dims:
            name, rounds = match[1], _other(int(match[2]))
            sizes = {**next(workload.shapes()), name: rounds}
            promises = (*(p for p in workload.promises if not broken(sizes, (p,))), f"{name} == {rounds}")
            dims = {n: (size,) for n, size in sizes.items()}
            there = workload.model_copy(update={"dims": dims, "promises": promises, "profile_dims": ()})
            yield promises[-1], partial(_with_other_launches, request, there, programs, name)


def _of_numbers(
    request: GateRequest, programs: Sequence[Callable[..., Program]]
) -> Iterator[tuple[str, _Ask]]:
    """The same for each number that a draft gives a host function, where another one makes for other launches."""
    for argument, value in _whole(request.workload):
        if 1 < value <= _MOST:
            yield _with(argument, _other(value), request, programs)


def _of_choices(
    changed: ChangedKernel, request: GateRequest, programs: Sequence[Callable[..., Program]]
) -> Iterator[tuple[str, _Ask]]:
    """The same for each number with which a change compares one that the draft gives, and the number behind it."""
    before, after = changed.before.kernel.source, changed.after.kernel.source
    for argument, value in _whole(request.workload):
        if before is not None and after is not None:
            asked = numbers_asked(changed.function, argument.name, before, after)
            for number in sorted({n + more for n in asked for more in (0, 1)} - {value}):
                yield _with(argument, number, request, programs, is_tested=True)


def _whole(workload: Workload) -> Iterator[tuple[Argument, int]]:
    """The whole numbers that a workload gives a host function of CUDA C++."""
    for argument in workload.args if workload.language != "triton" else ():
        if argument.kind == "scalar" and str(argument.value).isdigit():
            yield argument, int(argument.value or 0)


def _with(
    argument: Argument,
    number: int,
    request: GateRequest,
    programs: Sequence[Callable[..., Program]],
    *,
    is_tested: bool = False,
) -> tuple[str, _Ask]:
    workload, other = request.workload, argument.model_copy(update={"value": str(number)})
    args = tuple(other if a is argument else a for a in workload.args)
    there = workload.model_copy(update={"args": args, "profile_dims": ()})
    ask = partial(_with_other_launches, request, there, programs, argument.name, is_tested=is_tested)
    return f"{argument.name} == {number}", ask


def _other(rounds: int) -> int:
    return rounds - 1 if rounds > 1 else 2


def _with_other_launches(
    request: GateRequest,
    there: Workload,
    programs: Sequence[Callable[..., Program]],
    name: str,
    *,
    is_tested: bool = False,
) -> GateRequest | None:
    """For `_Ask`; `is_tested`: the change compares the number with another one, so that it has to be asked."""
    try:
        before = programs[0](there)
    except (ProgramError, WorkloadError):  # the function asks for the number that it was given
        if is_tested:
            raise
        return None
    after = programs[1](there)
    both = (before, request.baseline), (after, request.candidate)
    if not any(_chooses(program, name) or len(program.steps) != len(usual.steps) for program, usual in both):
        return None
    workload = there.only_where(after.launched_where)
    return request.model_copy(update={"baseline": before, "candidate": after, "workload": workload})


def _chooses(program: Program, name: str) -> bool:
    """Whether a number chooses how a program launches, or what it passes: `n // 8 if tuned else n`."""
    launches = [step for step in program.steps if isinstance(step, LaunchStep)]
    words = [w.value for step in launches for w in step.arguments if isinstance(w, Value)]
    texts = (*words, *(e for step in launches for e in (*step.launch.grid, *step.launch.block)))
    return any(" if " in text and name in WORD.findall(text) for text in texts)
