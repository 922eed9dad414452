"""A change of a kernel, or of a host function, asked again with the other values of parameters by which code chooses.

A draft gives a flag one value: what a change does behind another one is judged on the host function as a whole.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from kernel_gate.conclusion import not_judged
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.kernels.source import Language, SourceFile
from kernel_lineage.learning.changed_kernels import ChangedKernel
from kernel_lineage.learning.changed_programs import drafted_first, programs_of, target_before
from kernel_lineage.workloads.files import Launcher
from kernel_lineage.workloads.following.flags import numbers_told_apart
from kernel_lineage.workloads.following.unit import Unit, unit_of
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.triton.flags import flags_of, other_values
from kernel_lineage.workloads.triton.host_modules import HostModule, module_of

_MOST = 4
"""Other values that are asked: each is a check of its own."""
_Answer = tuple[str, Verdict | str]
"""A condition, and the verdict there, or why there is none."""


def judged_with_other_flags(
    verdict: Verdict,
    changed: ChangedKernel,
    functions: Iterable[ChangedKernel],
    request: GateRequest,
    judge: Callable[[GateRequest], Verdict],
) -> Verdict:
    """The verdict on a candidate that is right with the flags of a draft; a rejection where it is wrong with another
    value of one, and not judged where its host code alone is not read with one. `functions` are the change as one of
    each host function that launches the kernel. The verdict names the values with which it was asked too.

    One that is undecided because no launch compiles the change is the one with the flags that do.
    """
    unread: list[_Answer] = []
    for one in functions:
        answers = [*_answers(one, request if changed.function else None, request, judge)]
        for condition, other in answers:
            if isinstance(other, str):
                continue
            if other.outcome is Outcome.REJECTED:
                return other.of_another_workload(f"where {condition}: {other.reason}")
            if other.code is Reason.ARGUMENTS_DIFFER or (changed.function and not _is_same(other)):
                return not_judged(changed.name, f"where {condition}: {other.reason}", Reason.ARGUMENTS_DIFFER)
        if any(isinstance(other, Verdict) for _, other in answers):
            return _with_notes(verdict, answers)
        unread = unread or answers
    return _with_notes(verdict, unread)


def _with_notes(verdict: Verdict, answers: Sequence[_Answer]) -> Verdict:
    right = [(c, v) for c, v in answers if not isinstance(v, str) and v.standing.is_right]
    if verdict.code is Reason.CHANGE_NOT_COMPILED:
        if not right or not all(_is_same(v) for _, v in answers):
            return verdict
        (condition, first), *_ = right
        verdict = first.of_another_workload(f"where {condition}: {first.reason}")
        answers = [(c, v) for c, v in answers if v is not first]
    for condition, other in answers:
        why = other if isinstance(other, str) else other.reason
        is_same = _is_same(other)
        verdict = verdict.with_note(
            f"right where {condition}, too" if is_same else f"not judged where {condition}: {why}"
        )
    return verdict


def _is_same(answer: Verdict | str) -> bool:
    """Whether a candidate is right with another value, or nothing of the change is compiled with it."""
    if isinstance(answer, str):
        return False
    return answer.standing.is_right or answer.code is Reason.CHANGE_NOT_COMPILED


def _answers(
    changed: ChangedKernel,
    own: GateRequest | None,
    request: GateRequest,
    judge: Callable[[GateRequest], Verdict],
) -> Iterator[_Answer]:
    """The verdicts with other values; `own` is the request on the host function, if there is one."""
    target = target_before(changed)
    if not isinstance(target, Launcher):
        return
    flags = _flags(target)
    try:
        workload = own.workload if own is not None else _drafted(changed, target) if flags else None
        others = [*_others(workload, target, flags)] if workload is not None else []
        of_before, of_after = programs_of(changed)
        if others and own is None and workload is not None:
            of_after(workload)
    except (ProgramError, WorkloadError) as error:
        yield f"{' or '.join(sorted(flags))} is another one", str(error)
        return
    for at, (condition, there) in enumerate(others):
        if at >= _MOST:
            yield condition, f"{_MOST} other values are asked"
            continue
        try:
            before = of_before(there)
        except (ProgramError, WorkloadError) as error:
            yield condition, str(error)
            continue
        try:
            after = of_after(there)
        except (ProgramError, WorkloadError) as error:
            yield condition, not_judged(changed.name, str(error), Reason.ARGUMENTS_DIFFER)
            return
        update = {"baseline": before, "candidate": after, "workload": there.only_where(after.launched_where)}
        yield condition, judge(request.model_copy(update=update))


def _drafted(changed: ChangedKernel, target: Launcher) -> Workload:
    """The workload of a host function as it is before the change. Raises as drafting does."""
    _, draft = drafted_first(changed, target)
    if draft.missing:
        raise WorkloadError("; ".join(draft.missing))
    return draft.workload()


def _flags(target: Launcher) -> tuple[str, ...]:
    """The parameters of a host function by which its code may choose."""
    name, source = target.name, target.source
    if source.language is Language.TRITON:
        module = _module(source)
        return flags_of(name, module) if name in module.functions else ()
    unit = _unit(source)
    hosts = unit.hosts(name)
    parameters = (p for function in hosts for p in function.parameters)
    return tuple(p.name for p in parameters if p.type == "bool" or numbers_told_apart(p.name, hosts, unit))


def _others(workload: Workload, target: Launcher, flags: Collection[str]) -> Iterator[tuple[str, Workload]]:
    """The workloads with another value of one parameter, each with the condition that says which."""
    name, source = target.name, target.source
    untimed = workload.model_copy(update={"profile_dims": ()})
    if source.language is Language.CUDA:
        unit = _unit(source)
        for argument in (a for a in workload.args if a.kind == "scalar" and a.name in flags):
            numbers = numbers_told_apart(argument.name, unit.hosts(name), unit) or (1, 0)
            for number in (n for n in numbers if str(n) != str(argument.value)):
                other = argument.model_copy(update={"value": str(number)})
                args = tuple(other if a is argument else a for a in workload.args)
                yield f"{argument.name} == {number}", untimed.model_copy(update={"args": args})
        return
    for parameter, text in workload.launch.constexpr.items():
        value = _value(str(text))
        for other_value in other_values(parameter, value, name, _module(source)):
            constexpr = {**workload.launch.constexpr, parameter: repr(other_value)}
            launch = workload.launch.model_copy(update={"constexpr": constexpr})
            yield f"{parameter} == {other_value!r}", untimed.model_copy(update={"launch": launch})


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None


def _unit(source: SourceFile) -> Unit:
    return unit_of(source.data.decode("utf-8", "replace"))


def _module(source: SourceFile) -> HostModule:
    return module_of(Path(), source.module or ast.Module([], []))
