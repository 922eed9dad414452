"""A verdict on one instance of a kernel, asked again for the other element types and flags that callers launch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.instances import other_instances
from kernel_lineage.workloads.programs import ProgramError

_RIGHT = (Reason.NOT_PROFILED, Reason.NO_PROFILE_DIMS)
"""How a verdict on an instance that nothing is timed of ends when it is right."""


def judged_in_all_types(
    verdict: Verdict,
    request: GateRequest,
    path: Path,
    kernel: Kernel,
    programs_of: Callable[[Workload, tuple[str, ...]], tuple[Program, Program]],
    judge: Callable[[GateRequest], Verdict],
) -> Verdict:
    """The verdict on a request, and on the same with the other types that the host code of `path` launches.

    `programs_of` makes both programs for a workload and the kernel's template arguments. A candidate that is rejected
    with one of the types is rejected; the verdict names a type for which nothing could be judged, with the reason.
    """
    if verdict.outcome is not Outcome.ACCEPTED and verdict.code is not Reason.NOT_PROFILED:
        return verdict
    where = " and ".join(request.candidate.launched_where)
    notes = (
        [f"only where {where}: elsewhere another instance is launched, which is not judged"] if where else []
    )
    for instance in other_instances(path, kernel, request.workload, request.baseline):
        if instance.workload is None:
            notes.append(f"not judged as {instance.name}: {instance.why}")
            continue
        try:
            before, after = programs_of(instance.workload, instance.template_arguments)
        except (ProgramError, ValueError) as error:
            notes.append(f"not judged as {instance.name}: {error}")
            continue
        update = {"baseline": before, "candidate": after, "workload": instance.workload}
        other = judge(request.model_copy(update=update))
        if other.outcome is Outcome.REJECTED:
            return _named(other, instance.name)
        is_right = other.outcome is Outcome.ACCEPTED or other.code in _RIGHT
        notes.append(
            f"right as {instance.name} too" if is_right else f"not judged as {instance.name}: {other.reason}"
        )
    if not notes:
        return verdict
    about = {**verdict.environment, "other_types": notes}
    return verdict.model_copy(update={"reason": "; ".join((verdict.reason, *notes)), "environment": about})


def _named(verdict: Verdict, name: str) -> Verdict:
    """The verdict on an instance by its name, without the options that would repeat a case of the usual one."""
    stages = tuple(
        s.model_copy(update={"details": {k: v for k, v in s.details.items() if k != "repeat"}})
        for s in verdict.stages
    )
    return verdict.model_copy(update={"reason": f"as {name}: {verdict.reason}", "stages": stages})
