"""How a command ends where something that it asked for raises: with the error's sentence on stderr, and a status."""

from __future__ import annotations

WRONG_USE, ENVIRONMENT, NOT_JUDGED = 2, 4, 5
"""Statuses of `ExitCode`, whose module takes long to import."""

STATUS = {
    "kernel_gate.devices.error:DeviceError": ENVIRONMENT,
    "kernel_gate.expr.solver:SolverMissingError": ENVIRONMENT,
    "kernel_gate.fleet.travelling:ClusterError": ENVIRONMENT,
    "kernel_gate.workload:WorkloadError": WRONG_USE,
    "kernel_lineage.code.model:UnreadableError": WRONG_USE,
    "kernel_lineage.demo.sample:SampleExistsError": WRONG_USE,
    "kernel_lineage.history.git:RepositoryError": WRONG_USE,
    "kernel_lineage.kernels.naming:MisnamedError": WRONG_USE,
    "kernel_lineage.learning.measured_use:NoVerdictError": WRONG_USE,
    "kernel_lineage.rewrite.apply:ApplyError": WRONG_USE,
    "kernel_lineage.skills.conditions.stated:StatedFactError": WRONG_USE,
    "kernel_lineage.skills.target:TargetError": WRONG_USE,
    "kernel_lineage.workloads.on_the_spot:NoWorkloadError": NOT_JUDGED,
    "kernel_lineage.workloads.program_errors:ProgramError": WRONG_USE,
}
"""Errors that say what the user has to know, each by its module and name: none of these is imported for it."""


def status_of(error: Exception) -> int | None:
    """The status that a command ends with; None for an error of which a user can make nothing."""
    names = (f"{kind.__module__}:{kind.__name__}" for kind in type(error).__mro__)
    return next((STATUS[name] for name in names if name in STATUS), None)
