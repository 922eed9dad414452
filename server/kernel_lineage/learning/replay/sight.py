"""Whether a drafted workload sees a wrong kernel: the earlier state is made wrong in the telling ways, and must fail.

It is asked only where the states agree; a workload by which a state was seen to fail can see.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.request import GateRequest
from kernel_lineage.learning.replay.states import StateOf
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.workloads.mutants.model import Mutant
from kernel_lineage.workloads.mutants.registry import mutants_of
from kernel_lineage.workloads.of_state import State
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from kernel_lineage.workloads.proof import Device, Proof, Tried, fate_of, spread

_KINDS = ("zero_output", "dropped_term", "dropped_accumulation", "wrong_operator")
"""What no workload may be blind to, then one more kind for kernels that have no sum."""
_OF_ONE_KIND = 3
_MOST = 8
"""Mutants of one kernel."""
_SECONDS = 10.0
"""For checking one of them."""


def sight_of(step: Step, state: StateOf, judge: Judge, device: Device, *, hidden: bool = True) -> Proof:
    """What a step's workload notices of wrong forms of its earlier state. Raises `ProgramError`, `DeviceError`.

    It ends with the first mutants that show that the workload is not blind. Without `hidden`, only the cases that the
    workload names are run: the state itself fails in others.
    """
    options = GateOptions(check_seconds=_SECONDS, profile_seconds=0.05, need="not_slower", hidden=hidden)
    tried: list[Tried] = []
    for mutant in _chosen(state):
        try:
            program = _mutated(step.before, state, step, mutant)
        except ProgramError as error:
            tried.append(Tried(mutant, "unbuildable", str(error)))
            continue
        # Whether a wrong kernel is noticed needs no GPU, where the emulated device runs it.
        for where in dict.fromkeys(("emulated", device)):
            request = GateRequest.of(step.before, program, step.workload, device=where, options=options)
            fate = fate_of(mutant, judge(request))
            if fate.fate != "undecided":
                break
        tried.append(fate)
        killed = {t.mutant.kind for t in tried if t.fate == "killed"}
        if len(killed) > 1 and not Proof("", tuple(tried)).blind:
            break
    return Proof("", tuple(tried))


def _chosen(state: StateOf) -> Iterator[Mutant]:
    """One mutant of each kind, all zero outputs, in the order of the kinds; then more: one may compute the same."""
    # The files are read again: in another build of the state they are no longer what they were.
    kernel = State(state.root).kernel(state.version.path, state.version.symbol)
    of_kinds = [m for m in mutants_of(kernel) if m.kind in _KINDS]
    first = sorted(spread(of_kinds, 1), key=lambda m: _KINDS.index(m.kind))
    others = [m for m in spread(of_kinds, _OF_ONE_KIND) if m not in first]
    yield from [*first, *others][:_MOST]


def _mutated(program: Program, state: StateOf, step: Step, mutant: Mutant) -> Program:
    """The program of a mutant, launched as the state is."""
    made = program_from_file(
        state.file,
        state.version.symbol,
        step.workload,
        data=mutant.source,
        root=state.root,
        name=f"{state.name} (mutant)",
        arguments=program.arguments,
        template_arguments=program.template_arguments,
    )
    return replace(made, launch=program.launch)
