"""A verdict on a candidate that compiles at callers' sizes and not at the smaller ones that are checked.

A tile of `tl.dot` takes no extent below 16, a thread block no more than its threads: what a compiler refuses at a size
that nobody comes with is no fault, but a condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from kernel_gate.expressions import ExpressionError, names
from kernel_gate.program import LaunchStep, Program
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_gate.workload import Workload

Judge = Callable[[GateRequest], Verdict]


def where_it_compiles(judge: Judge) -> Judge:
    """The judge, which asks again at callers' sizes where a candidate does not compile at others.

    A request that times nothing, as for another element type, is asked at sizes of the requests before it.
    """
    timed: list[Mapping[str, int]] = []

    def judged(request: GateRequest) -> Verdict:
        timed.extend(dims for dims in request.workload.profile_dims if dims not in timed)
        verdict = judge(request)
        if verdict.code is not Reason.CANDIDATE_DOES_NOT_COMPILE:
            return verdict
        tried: set[tuple[str, ...]] = {()}
        for bare in (True, False):
            conditions = tuple(_of_callers(request.candidate, request.workload, timed, bare))
            if conditions in tried:
                continue
            tried.add(conditions)
            narrower = _narrower(request.workload, timed, conditions)
            again = judge(request.model_copy(update={"workload": narrower}))
            if again.code is not Reason.CANDIDATE_DOES_NOT_COMPILE:
                where = (
                    f"only where {' and '.join(conditions)}: elsewhere it does not compile ({verdict.reason})"
                )
                return again.model_copy(update={"reason": f"{again.reason}; {where}"})
        return verdict

    return judged


def _narrower(workload: Workload, timed: Sequence[Mapping[str, int]], conditions: Sequence[str]) -> Workload:
    """The workload at callers' sizes of some dims, timed no more than before."""
    own = workload.model_copy(update={"profile_dims": tuple(timed)}).only_where(conditions)
    return own if workload.profile_dims else own.model_copy(update={"profile_dims": ()})


def _of_callers(
    program: Program, workload: Workload, timed: Sequence[Mapping[str, int]], bare: bool
) -> Iterator[str]:
    """That dims which are known when the program is compiled have sizes that callers come with; with `bare` only those
    that are given to a kernel as they are.
    """
    numbers = {a.name: str(a.value) for a in workload.args if a.kind == "scalar"}
    used: dict[str, None] = {}
    for text in _compiled(program, workload):
        text = numbers.get(text, text)
        try:
            used |= (
                dict.fromkeys(sorted(names(text) & workload.dims.keys()))
                if not bare or text.isidentifier()
                else {}
            )
        except ExpressionError:
            continue
    for name in used:
        sizes = sorted({dims[name] for dims in timed if name in dims})
        if sizes and not {*workload.dims[name]} <= {*sizes}:
            yield " or ".join(f"{name} == {size}" for size in sizes)


def _compiled(program: Program, workload: Workload) -> Iterator[str]:
    """What a program's kernels are compiled for, as expressions."""
    steps = [step for step in program.steps or workload.steps if isinstance(step, LaunchStep)]
    launches = [step.launch for step in steps] or [program.launch or workload.launch.spec()]
    yield from program.template_arguments
    for step in steps:
        yield from step.template_arguments
    for launch in launches:
        yield from launch.constexpr.values()
