"""A candidate made of a program's own text, for kernels that lie in no file: states of a history, states of a walk."""

from __future__ import annotations

from dataclasses import replace

from kernel_gate.program import Program
from kernel_gate.workload import Workload
from kernel_lineage.kernels.mechanisms.registry import mechanisms_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language, Launch
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.skills.kernel_facts import TRITON_DEFAULTS
from kernel_lineage.workloads.programs import with_launch


def kernel_of(program: Program) -> Kernel | None:
    """The kernel that a program launches; None for one that launches several."""
    return read(program.source.encode(), Language(program.language)).kernel(program.entry)


def with_own_launch(kernel: Kernel, program: Program) -> Kernel:
    """The kernel of a program with the launch that is told beside its text, as a launch site would say it.

    For what looks at launches; there is no text of this one to change.
    """
    spec = program.launch
    if kernel.launches or spec is None:
        return kernel
    arguments = tuple(spec.constexpr.get(p.name, p.name) for p in kernel.parameters)
    launch = Launch(kernel.name, kernel.name_span, spec.grid, (), arguments)
    if kernel.language is Language.CUDA:
        launch = replace(launch, block=spec.block, shared_bytes=spec.shared_bytes)
    else:
        counts = {"num_warps": spec.num_warps, "num_stages": spec.num_stages}
        options = {name: str(n) for name, n in counts.items() if n != TRITON_DEFAULTS[name]}
        launch = replace(launch, options={**options, **spec.constexpr})
    return replace(kernel, launches=(launch,))


def mechanisms_in(program: Program) -> frozenset[str]:
    """The ids of the mechanisms that are seen in the kernel that a program launches."""
    kernel = kernel_of(program)
    return frozenset(site.mechanism for site in mechanisms_of(kernel)) if kernel is not None else frozenset()


def with_candidate(program: Program, candidate: Candidate, workload: Workload) -> Program:
    """The program with a candidate's edits and launch; its spans are those of the program's text."""
    return replace(
        program,
        source=candidate.apply(program.source.encode()).decode(),
        launch=with_launch(program.launch, workload, candidate.launch),
        name=f"{program.name} with {candidate.skill}",
    )
