"""A change of a host function asked again with another number of rounds of its loops.

A loop of launches over a size is drafted with as many rounds as one shape has, one over a number with few: that there
are so many is the draft's promise, and no caller's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from kernel_gate.program import Program
from kernel_gate.request import GateRequest
from kernel_gate.standing import Standing
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.promises import broken

_MOST = 64
"""Larger numbers are none of rounds that a draft goes through."""
_ROUNDS = re.compile(r"(\w+) == (\d+)")


def judged_at_other_rounds(
    verdict: Verdict,
    request: GateRequest,
    programs: Sequence[Callable[..., Program]],
    judge: Callable[[GateRequest], Verdict],
) -> Verdict:
    """The verdict on a candidate that is right by a drafted workload; a rejection where it is wrong with one round
    less, or with two in the place of one. The verdict names the numbers of rounds with which it was asked too.
    """
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
        is_right = other.standing in (Standing.ACCEPTED, Standing.RIGHT)
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
            yield promises[-1], partial(_with_other_launches, request, there, programs)


def _of_numbers(
    request: GateRequest, programs: Sequence[Callable[..., Program]]
) -> Iterator[tuple[str, _Ask]]:
    """The same for each number that a draft gives a host function, where another one makes for other launches."""
    workload = request.workload
    for argument in workload.args if workload.language != "triton" else ():
        if (
            argument.kind == "scalar"
            and str(argument.value).isdigit()
            and 1 < int(argument.value or 0) <= _MOST
        ):
            number = _other(int(argument.value or 0))
            args = tuple(
                a.model_copy(update={"value": str(number)}) if a is argument else a for a in workload.args
            )
            there = workload.model_copy(update={"args": args, "profile_dims": ()})
            yield f"{argument.name} == {number}", partial(_with_other_launches, request, there, programs)


def _other(rounds: int) -> int:
    return rounds - 1 if rounds > 1 else 2


def _with_other_launches(
    request: GateRequest, there: Workload, programs: Sequence[Callable[..., Program]]
) -> GateRequest | None:
    try:
        before = programs[0](there)
    except (ProgramError, WorkloadError):  # the function asks for the number that it was given
        return None
    if len(before.steps) == len(request.baseline.steps):
        return None
    after = programs[1](there)
    workload = there.only_where(after.launched_where)
    return request.model_copy(update={"baseline": before, "candidate": after, "workload": workload})
