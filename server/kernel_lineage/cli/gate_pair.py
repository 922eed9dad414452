"""`klineage gate BASELINE CANDIDATE`: which kernel and workload are meant, and the verdict, which is shown."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from kernel_gate.reporting.text import render
from kernel_lineage.cli.gate_reports import relative
from kernel_lineage.cli.gate_run import GateRun, clear, wrong_use
from kernel_lineage.cli.kernel_name import KernelName, only_kernel
from kernel_lineage.cli.live_line import show_line
from kernel_lineage.cli.one_case import repeated
from kernel_lineage.cli.progress import as_lines, line

if TYPE_CHECKING:
    from kernel_gate.options import GateOptions
    from kernel_gate.program import Program
    from kernel_gate.reasons import Reason
    from kernel_gate.reporting.named import NamedVerdict
    from kernel_gate.verdict import Verdict
    from kernel_lineage.workloads.on_the_spot import SpotWorkload


@dataclass(frozen=True, slots=True)
class Pair:
    """What the command line says of the two programs; names and workload are as they were given."""

    baseline: Path
    candidate: Path
    kernel: str | None
    candidate_kernel: str | None
    workload: Path | None


class _NotJudgedError(Exception):
    """No stage can be begun; the code says which of the gate's reasons it is."""

    def __init__(self, code: Reason, why: str) -> None:
        super().__init__(why)
        self.code = code


def gate_pair(
    pair: Pair,
    device: Literal["auto", "cuda", "emulated"],
    options: GateOptions,
    run: GateRun,
    remote: str | None,
) -> NamedVerdict:
    """Judge and show one pair, here or on `remote`. A kernel that cannot be judged gets a verdict that says so.

    Raises `DeviceError` and `ClusterError`.
    """
    from kernel_gate.conclusion import not_judged
    from kernel_gate.fleet.elsewhere import elsewhere
    from kernel_gate.reporting.named import NamedVerdict
    from kernel_gate.request import GateRequest
    from kernel_gate.worker import Worker
    from kernel_lineage.learning.steps import Step
    from kernel_lineage.rewrite.compiled_where import where_it_compiles
    from kernel_lineage.rewrite.instances import judged_in_all_types
    from kernel_lineage.rewrite.proving.both import judged_with_proofs
    from kernel_lineage.workloads.files import target_of
    from kernel_lineage.workloads.on_the_spot import resting_on
    from kernel_lineage.workloads.recording.recorder import recorder_for

    started = time.monotonic()
    spot: SpotWorkload | None = None
    after: Program | None = None
    try:
        name, spot, before, after = _programs(pair, options, run)
    except _NotJudgedError as error:
        name = pair.kernel or only_kernel(pair.baseline) or pair.baseline.stem
        verdict = not_judged(name, str(error), error.code)
    else:
        programs, workload = (before, after), spot.workload
        request = GateRequest.of(before, after, workload, device=device, options=options)
        with Worker() if remote is None else elsewhere(remote) as worker:

            @where_it_compiles
            def judge(asked: GateRequest) -> Verdict:
                return run.judge(asked, pair.candidate, programs[1].entry, worker)

            proved = judged_with_proofs(lambda: judge(request), *programs, pair.candidate, workload)
            if options.case is None:
                target = target_of(pair.baseline, KernelName.of(name).name)
                recorder = recorder_for(pair.baseline) if run.record else None
                proved = judged_in_all_types(
                    proved, request, pair.baseline, target, _makers(pair, name), judge, recorder
                )
            verdict = resting_on(proved, spot)
            if run.narrow_seconds:
                from kernel_lineage.learning.narrowing import narrowed_verdict

                step = Step(name, before, after, workload)
                verdict = narrowed_verdict(verdict, step, worker.judge, run.narrow_seconds)
    clear()
    _show(verdict, spot, pair, run)
    return NamedVerdict(
        kernel=after.entry if after is not None else name,
        verdict=verdict,
        candidate=relative(pair.candidate),
        baseline=relative(pair.baseline),
        line=after.first_line if after is not None else 1,
        seconds=time.monotonic() - started,
    )


def _programs(pair: Pair, options: GateOptions, run: GateRun) -> tuple[str, SpotWorkload, Program, Program]:
    """The kernel's name, its workload and both programs. Ends the command where it is used wrongly."""
    from kernel_gate.cases import the_case
    from kernel_gate.reasons import Reason
    from kernel_gate.workload import WorkloadError, load_workload
    from kernel_lineage.workloads.on_the_spot import (
        NoWorkloadError,
        SpotWorkload,
        in_a_line,
        workload_on_the_spot,
    )
    from kernel_lineage.workloads.programs import (
        ArgumentsDifferError,
        LaunchChangedError,
        ProgramError,
        UnknownKernelError,
    )

    try:
        workload = load_workload(pair.workload) if pair.workload is not None else None
        name = pair.kernel or (workload.kernel if workload is not None else only_kernel(pair.baseline))
        if name is None:
            wrong_use(
                f"{pair.baseline} has not just one kernel: name one with --kernel, or have each that changed judged "
                f"with `klineage gate {pair.baseline} --text {pair.candidate}`"
            )
        old = KernelName.of(name)
        if workload is not None:
            spot = SpotWorkload(workload, pair.workload)
        else:
            spot = workload_on_the_spot(pair.baseline, old.name, "emulated", show_mutants, record=run.record)
            if spot.path is None:
                clear()
                click.echo(in_a_line(old.name, pair.baseline, spot), err=True)
        before, after = (make(spot.workload) for make in _makers(pair, name))
        if options.case is not None:
            the_case(spot.workload, options.case, options.seed, options.inputs, options.memory)
    except UnknownKernelError as error:
        raise _NotJudgedError(Reason.UNKNOWN_KERNEL, str(error)) from error
    except ArgumentsDifferError as error:
        raise _NotJudgedError(Reason.ARGUMENTS_DIFFER, str(error)) from error
    except LaunchChangedError as error:
        raise _NotJudgedError(Reason.LAUNCH_NOT_COMPUTABLE, str(error)) from error
    except NoWorkloadError as error:
        click.echo(f"{name}: {error}", err=True)
        raise _NotJudgedError(Reason.NO_WORKLOAD, str(error)) from error
    except (WorkloadError, ProgramError, ValueError) as error:
        wrong_use(str(error))
    return name, spot, before, after


def _makers(pair: Pair, name: str) -> list[partial[Program]]:
    """What makes the baseline and the candidate of a workload. They raise `ProgramError` and `ValueError`."""
    from kernel_gate.files.reading import read_file
    from kernel_lineage.workloads.programs import program_from_file

    old = KernelName.of(name)
    new = KernelName.of(pair.candidate_kernel) if pair.candidate_kernel else old
    return [
        partial(
            program_from_file,
            path,
            kernel.name,
            template_arguments=kernel.template_arguments,
            changed_from=read_file(pair.baseline),
        )
        for path, kernel in ((pair.baseline, old), (pair.candidate, new))
    ]


def _show(verdict: Verdict, spot: SpotWorkload | None, pair: Pair, run: GateRun) -> None:
    if run.as_json:
        click.echo(verdict.model_dump_json(indent=2))
        return
    click.echo(render(verdict))
    checked = verdict.stage("check")
    if checked is not None and "repeat" in checked.details:
        click.echo(f"\nThis case again: {repeated(sys.argv[1:], checked.details['repeat'])}")
    if spot is not None and spot.path is None:
        click.echo(f"The workload was drafted from {pair.baseline}:")
        for assumption in spot.assumed:
            click.echo(f"  {assumption}")


def show_mutants(done: int, total: int) -> None:
    """Progress of a workload that is drafted."""
    if as_lines():
        line("workload", f"mutant {done} of {total}", done / max(total, 1))
    else:
        show_line(f"drafted workload: mutant {done} of {total}")
