"""A verdict on one instance of a kernel, asked again for the other element types and flags that callers launch."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from kernel_gate.expr.syntax import tree_of
from kernel_gate.expressions import evaluate, names
from kernel_gate.program import LaunchStep, Operand, Pointer, Program, Structure, Value
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.workload import Workload
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.proving.both import judged_with_proofs
from kernel_lineage.workloads.files import Launcher, Target
from kernel_lineage.workloads.following.launch_site import parts_of
from kernel_lineage.workloads.instances import other_instances
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.promises import broken, fitted_sizes
from kernel_lineage.workloads.recording.recorder import Recorder

_MOST_CONDITIONS = 3
_BEYOND = 2
"""How many times as large as its limit a number is made: a part that is left out is seen."""
_MOST_DOUBLED = 26
_MOST_ELEMENTS = 1 << 25
_MOST_EMULATED = 1 << 19
"""Elements of all buffers at sizes beyond a limit, on a GPU and without one."""
_RIGHT = (Reason.NOT_PROFILED, Reason.NO_PROFILE_DIMS)
"""How a verdict on an instance that nothing is timed of ends when it is right."""


def judged_in_all_types(
    verdict: Verdict,
    request: GateRequest,
    path: Path,
    target: Target,
    programs: Sequence[Callable[..., Program]],
    judge: Callable[[GateRequest], Verdict],
    recorder: Recorder | None = None,
    root: Path | None = None,
) -> Verdict:
    """The verdict on a request, and on the same with the other types that the host code of `path` launches.

    `programs` make the baseline and the candidate of a workload, `template_arguments` and `views`. A candidate that is
    rejected as one of them is rejected; the verdict names one for which nothing could be judged, with the reason. A
    host function, whose statements choose what it launches, has no others. `root`: as `other_instances` takes it.
    """
    if verdict.outcome is not Outcome.ACCEPTED and verdict.code is not Reason.NOT_PROFILED:
        return verdict
    notes = [*_no_longer_taken(request)]
    where = request.candidate.launched_where
    elsewhere = _elsewhere(request, programs) if where else None
    if elsewhere is not None:
        name = elsewhere.name
        other = judge(elsewhere.request)
        if other.outcome is Outcome.REJECTED:
            return _named(other, f"{name}, launched where {' and '.join(elsewhere.where)}")
        notes.append(_about(name, other))
    elif where:
        notes.append(
            f"only where {' and '.join(where)}: elsewhere another instance is launched, which is not judged"
        )
    most = _MOST_ELEMENTS if verdict.outcome is Outcome.ACCEPTED else _MOST_EMULATED
    for condition, asked in (*_at_other_numbers(request), *_beyond_limits(request)):
        if asked.workload.elements(next(asked.workload.shapes())) > most:
            notes.append(f"not judged where {condition}: it takes more than {most} elements")
            continue
        other = judge(asked)
        if other.outcome is Outcome.REJECTED:
            return _named(other, f"{asked.candidate.entry}, where {condition}")
        notes.append(_about(f"{asked.candidate.entry}, where {condition},", other))
    others = (
        ()
        if isinstance(target, Launcher)
        else other_instances(path, target, request.workload, request.baseline, recorder, root)
    )
    for instance in others:
        if instance.workload is None:
            notes.append(f"not judged as {instance.name}: {instance.why}")
            continue
        try:
            before, after = (
                program(
                    instance.workload, template_arguments=instance.template_arguments, views=instance.views
                )
                for program in programs
            )
        except (ProgramError, ValueError) as error:
            notes.append(f"not judged as {instance.name}: {error}")
            continue
        whole = instance.workload.only_where(after.launched_where)
        untimed = whole.model_copy(update={"profile_dims": ()})
        asked = request.model_copy(update={"baseline": before, "candidate": after, "workload": untimed})
        # What overflows at the sizes of this launch does so at none of those that fit into the check.
        other = judged_with_proofs(partial(judge, asked), before, after, path, whole)
        if other.outcome is Outcome.REJECTED:
            return _named(other, instance.name)
        notes.append(_about(instance.name, other))
    if not notes:
        return verdict
    about = {**verdict.environment, "other_types": notes}
    return verdict.model_copy(update={"reason": "; ".join((verdict.reason, *notes)), "environment": about})


def _about(name: str, verdict: Verdict) -> str:
    is_right = verdict.outcome is Outcome.ACCEPTED or verdict.code in _RIGHT
    return f"right as {name} too" if is_right else f"not judged as {name}: {verdict.reason}"


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """The instance of a candidate's template that its host code launches at other sizes."""

    name: str
    where: tuple[str, ...]
    """The conditions over dims on its launch."""
    request: GateRequest


def _elsewhere(request: GateRequest, programs: Sequence[Callable[..., Program]]) -> _Elsewhere | None:
    """The other instance at sizes at which the candidate's own is not launched; None where no such sizes are seen, and
    where no other instance is launched there.
    """
    workload, own = request.workload, request.candidate
    promises = (*(p for p in workload.promises if p not in own.launched_where), *_not_all(own.launched_where))
    try:
        other, before, after = _at_sizes_of(promises, workload, programs)
        if after.launched_where:
            # What is launched there asks for sizes of its own.
            other, before, after = _at_sizes_of((*promises, *after.launched_where), workload, programs)
    except (ProgramError, ValueError):
        return None
    if _launched(after) == _launched(own) and _passed(after) == _passed(own):
        return None
    update = {
        "baseline": before,
        "candidate": after,
        "workload": other.only_where(after.launched_where),
    }
    name = " and ".join(k for k in _launched(after) if k not in _launched(own)) or after.entry
    return _Elsewhere(name, after.launched_where or promises[-1:], request.model_copy(update=update))


def _at_other_numbers(request: GateRequest) -> Iterator[tuple[str, GateRequest]]:
    """The request at sizes at which the candidate's host code gives other numbers than at those that are checked, and
    the baseline's does not choose: with each the condition over dims that holds there.
    """
    workload, before = request.workload, _conditions_in(request.baseline, request.workload)
    shapes = [*workload.shapes(), *workload.profile_dims]
    chosen = [c for c in _conditions_in(request.candidate, workload) if c not in before]
    for condition in chosen[:_MOST_CONDITIONS]:
        if len({bool(evaluate(condition, dims)) for dims in shapes}) > 1:
            continue
        holds = bool(evaluate(condition, shapes[0]))
        promises = (*workload.promises, *(_not_all([condition]) if holds else _parts(condition)))
        sizes = fitted_sizes(shapes[0], promises)
        if broken(sizes, promises):
            continue
        yield f"not ({condition})" if holds else condition, _at(sizes, request)


def _beyond_limits(request: GateRequest) -> Iterator[tuple[str, GateRequest]]:
    """The request at sizes beyond a limit to which the candidate's host code holds a number that it passes, `1 << 22`
    of `min(n, 1 << 22)`, and the baseline's does not: with each the condition over dims that holds there. What callers
    come with may be beyond it, but sums of so many elements tell little of some that are left out.
    """
    workload, before = request.workload, [*_limits_in(request.baseline, request.workload)]
    limits = dict.fromkeys(_limits_in(request.candidate, workload))
    chosen = [pair for pair in limits if pair not in before]
    dims = next(workload.shapes())
    for pair in chosen[:_MOST_CONDITIONS]:
        less, more = sorted(pair, key=lambda text: evaluate(text, dims))
        condition = ast.unparse(tree_of(f"{less} >= {_BEYOND} * ({more})"))
        sizes = _grown_until(condition, dims, workload)
        if sizes is not None:
            yield condition, _at(sizes, request)


def _grown_until(condition: str, dims: Mapping[str, int], workload: Workload) -> dict[str, int] | None:
    """The shape of fewest elements in which one dim is doubled until a condition holds; None where none does."""
    shapes: list[dict[str, int]] = []
    for name in names(condition) & workload.dims.keys():
        grown = (
            fitted_sizes({**dims, name: dims[name] << times}, workload.promises, (name,))
            for times in range(1, _MOST_DOUBLED)
        )
        promises = (*workload.promises, condition)
        shapes += islice((sizes for sizes in grown if not broken(sizes, promises)), 1)
    return min(shapes, key=workload.elements, default=None)


def _at(sizes: Mapping[str, int], request: GateRequest) -> GateRequest:
    """The request at one shape, of which nothing is timed."""
    dims = {name: (size,) for name, size in sizes.items()}
    there = request.workload.model_copy(update={"dims": dims, "profile_dims": ()})
    return request.model_copy(update={"workload": there})


def _limits_in(program: Program, workload: Workload) -> Iterator[tuple[str, str]]:
    """The pairs over dims of which a number that a program passes is the smaller or the larger one; not those by which
    it launches blocks, which go on in loops.
    """
    launches = [step for step in program.steps if isinstance(step, LaunchStep)]
    grids = {ast.unparse(call) for step in launches for text in step.launch.grid for call in _bounded(text)}
    texts = (word.value for step in launches for word in step.arguments if isinstance(word, Value))
    for call in (call for text in dict.fromkeys(texts) for call in _bounded(text)):
        one, other = map(ast.unparse, call.args)
        if ast.unparse(call) not in grids and names(ast.unparse(call)) <= workload.dims.keys():
            yield one, other


def _bounded(text: str) -> Iterator[ast.Call]:
    """The `min` and `max` of two numbers in an expression."""
    for node in ast.walk(tree_of(text)):
        match node:
            case ast.Call(func=ast.Name("min" | "max"), args=[_, _]):
                yield node


def _conditions_in(program: Program, workload: Workload) -> list[str]:
    """The conditions over dims by which numbers of a program's launches are chosen."""
    launches = [step for step in program.steps if isinstance(step, LaunchStep)]
    specs = [step.launch for step in launches] or ([program.launch] if program.launch is not None else [])
    texts = [text for spec in specs for text in (*spec.grid, *spec.block, spec.shared_bytes)]
    texts += [word.value for step in launches for word in step.arguments if isinstance(word, Value)]
    tests = (n.test for text in texts for n in ast.walk(tree_of(text)) if isinstance(n, ast.IfExp))
    return [c for c in dict.fromkeys(map(ast.unparse, tests)) if names(c) <= workload.dims.keys()]


def _parts(condition: str) -> Iterator[str]:
    yield from map(ast.unparse, parts_of([tree_of(condition)]))


def _not_all(conditions: Sequence[str]) -> Iterator[str]:
    """That conditions do not all hold: what one denies is asked for part by part, as sizes are looked for so."""
    tree = tree_of(conditions[0])
    if len(conditions) > 1 or not isinstance(tree, ast.UnaryOp) or not isinstance(tree.op, ast.Not):
        yield f"not ({' and '.join(f'({c})' for c in conditions)})"
    else:
        yield from _parts(ast.unparse(tree.operand))


def _at_sizes_of(
    promises: tuple[str, ...], workload: Workload, programs: Sequence[Callable[..., Program]]
) -> tuple[Workload, Program, Program]:
    """The workload at sizes that keep promises, with both programs there. Raises `ValueError` where none are seen, and
    `ProgramError`.
    """
    sizes = fitted_sizes({name: extents[0] for name, extents in workload.dims.items()}, promises)
    if broken(sizes, promises):
        raise ValueError("no sizes keep the promises")
    dims = {name: (size,) for name, size in sizes.items()}
    other = workload.model_copy(update={"dims": dims, "promises": promises, "profile_dims": ()})
    before, after = (program(other) for program in programs)
    return other, before, after


def _passed(program: Program) -> tuple[object, ...]:
    """What a program's launches are given."""
    return program.steps, program.launch, program.arguments


def _launched(program: Program) -> tuple[str, ...]:
    """The kernels that a program launches, with the arguments of their templates, in order."""
    launches = [
        (step.entry, step.template_arguments) for step in program.steps if isinstance(step, LaunchStep)
    ]
    return tuple(
        f"{entry}<{', '.join(arguments)}>" if arguments else entry
        for entry, arguments in launches or [(program.entry, program.template_arguments)]
    )


def _no_longer_taken(request: GateRequest) -> Iterator[str]:
    """The numbers that the baseline takes and the candidate does not, which the workload gives by one expression."""
    before, after = (_taken(program, request.workload) for program in (request.baseline, request.candidate))
    dropped = [
        f"{a.name} = {a.value}"
        for a in request.workload.args
        if a.kind == "scalar" and a.name in before - after
    ]
    if dropped:
        yield f"only where {' and '.join(dropped)}, which the candidate no longer takes"


def _taken(program: Program, workload: Workload) -> set[str]:
    """The workload's arguments that a program's launches name."""
    launches = [step for step in program.steps or workload.steps if isinstance(step, LaunchStep)]
    if not launches:
        return set(program.arguments or (a.name for a in workload.args))
    words = (word for step in launches for word in step.arguments)
    return {name for word in words for name in WORD.findall(_text(word))}


def _text(operand: Operand) -> str:
    """What names arguments in an operand."""
    match operand:
        case Structure(fields=fields):
            return " ".join(_text(word) for _, word in fields)
        case Pointer(buffer=name) | Value(value=name):
            return name
        case _:
            return operand


def _named(verdict: Verdict, name: str) -> Verdict:
    """The verdict on an instance by its name."""
    return verdict.of_another_workload(f"as {name}: {verdict.reason}")
