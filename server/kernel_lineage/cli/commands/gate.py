"""`klineage gate BASELINE CANDIDATE --kernel K --workload W`: one verdict."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from kernel_gate.verdict import ExitCode, Verdict

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(name="gate")
@click.argument("baseline", type=_FILE)
@click.argument("candidate", type=_FILE)
@click.option("--kernel", required=True, help="The kernel's name in BASELINE.")
@click.option("--candidate-kernel", help="Its name in CANDIDATE, when it is another one.")
@click.option("--workload", "workload_path", required=True, type=_FILE, help="How to run it (.toml).")
@click.option("--device", type=click.Choice(["auto", "cuda", "emulated"]), default="auto", show_default=True)
@click.option("--need", type=click.Choice(["faster", "not_slower"]), default="faster", show_default=True)
@click.option(
    "--guard", help="Condition over dims under which the new path runs; elsewhere it may be slower."
)
@click.option("--seed", type=int, default=91, show_default=True)
@click.option("--timeout", type=float, default=600.0, show_default=True, help="Seconds for the whole run.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one JSON document.")
def command(
    baseline: Path,
    candidate: Path,
    kernel: str,
    candidate_kernel: str | None,
    workload_path: Path,
    device: Literal["auto", "cuda", "emulated"],
    need: Literal["faster", "not_slower"],
    guard: str | None,
    seed: int,
    timeout: float,
    as_json: bool,
) -> None:
    """Judge whether CANDIDATE may take the place of BASELINE: build, check, sanitize, profile.

    Exit status: 0 accepted, 1 rejected, 2 wrong use, 3 inconclusive, 4 the environment lacks something.
    """
    from kernel_gate.devices.base import DeviceError
    from kernel_gate.options import GateOptions
    from kernel_gate.request import GateRequest
    from kernel_gate.worker import run_in_child
    from kernel_gate.workload import WorkloadError, load_workload
    from kernel_lineage.rewrite.programs import ProgramError, program_from_file

    try:
        workload = load_workload(workload_path)
        before = program_from_file(baseline, kernel, workload)
        after = program_from_file(candidate, candidate_kernel or kernel, workload)
    except (WorkloadError, ProgramError) as error:
        click.echo(str(error), err=True)
        sys.exit(ExitCode.WRONG_USE)
    request = GateRequest.of(
        before, after, workload, device=device, options=GateOptions(seed=seed, need=need, guard=guard)
    )
    try:
        verdict = run_in_child(request, timeout=timeout, on_progress=_show if sys.stderr.isatty() else None)
    except DeviceError as error:
        click.echo(str(error), err=True)
        sys.exit(ExitCode.ENVIRONMENT)
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
    click.echo(verdict.model_dump_json(indent=2) if as_json else _text(verdict))
    sys.exit(verdict.exit_code)


def _show(stage: str, what: str, share: float) -> None:
    click.echo(f"\r\033[K{stage} {share:4.0%}  {what}"[:100], err=True, nl=False)


def _text(verdict: Verdict) -> str:
    lines = [f"{verdict.outcome.value}: {verdict.reason}", ""]
    lines += [f"  {s.name:<9}{s.status.value:<12}{s.reason}" for s in verdict.stages]
    if verdict.speedup is not None:
        lines.append("")
        for shape in verdict.speedup.by_shape:
            dims = ", ".join(f"{k} {v}" for k, v in shape.dims.items())
            times = f"{shape.baseline_us:.1f} → {shape.candidate_us:.1f} µs"
            interval = f"{shape.median:.3f}× ({shape.low:.3f} … {shape.high:.3f})"
            lines.append(f"  {dims}: {interval}, {times}, noise ±{shape.noise:.2%}, {shape.state.value}")
    return "\n".join(lines)
