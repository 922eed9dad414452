"""`klineage gate`: one verdict on two files, or one on each kernel that a change touched."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from kernel_gate.reporting.text import render
from kernel_gate.standing import ExitCode
from kernel_lineage.cli.gate_limits import limit_options, take_limits
from kernel_lineage.cli.gate_reports import relative, report_options, write_reports
from kernel_lineage.cli.gate_run import GateRun, clear, wrong_use
from kernel_lineage.cli.gate_since import Where, gate_since
from kernel_lineage.cli.one_case import one_case_options, repeated

if TYPE_CHECKING:
    from kernel_gate.options import GateOptions
    from kernel_gate.reporting.named import NamedVerdict

Device = Literal["auto", "cuda", "emulated"]
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(name="gate")
@click.argument("files", nargs=-1, metavar="BASELINE CANDIDATE", type=click.Path(path_type=Path))
@click.option(
    "--since", metavar="REV", help="Gate the kernels that the work tree, or A..B, changed; FILE… narrows it."
)
@click.option("--kernel", help="The kernel's name in BASELINE.")
@click.option("--candidate-kernel", help="Its name in CANDIDATE, when it is another one.")
@click.option(
    "--workload",
    "workload_path",
    type=_FILE,
    help="How to run it (.toml). Default: the repository's for this kernel, else one is drafted from BASELINE.",
)
@click.option(
    "--import-path",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Where the packages lie that a wrapper imports; by default above the package around each file.",
)
@click.option("--device", type=click.Choice(["auto", "cuda", "emulated"]), default="auto", show_default=True)
@click.option(
    "--need",
    type=click.Choice(["faster", "not_slower"]),
    help="What the profile must show. Default: faster; with --since, not_slower.",
)
@click.option(
    "--guard", help="Condition over dims under which the new path runs; elsewhere it may be slower."
)
@click.option("--counters", is_flag=True, help="Read hardware counters with ncu, for the report.")
@click.option("--warm", is_flag=True, help="Time with a warm L2 cache as well; the cold times decide.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default="drawn for each verdict",
    help="Of inputs and hidden shapes: the seed that a verdict names repeats it.",
)
@one_case_options
@click.option(
    "--jobs", type=click.IntRange(1), help="With --since: verdicts at once. Default: one on each GPU."
)
@click.option(
    "--cluster",
    metavar="WHERE",
    help="With --since: a Dask cluster (tcp://host:port, local or slurm) judges.",
)
@click.option("--timeout", type=float, default=600.0, show_default=True, help="Seconds for one verdict.")
@limit_options
@click.option(
    "--allow-uncontained", is_flag=True, help="Run Triton programs, which you trust, without a sandbox."
)
@click.option("--no-cache", is_flag=True, help="Judge anew, and keep nothing in .klineage/cache.sqlite.")
@report_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    files: tuple[Path, ...],
    since: str | None,
    kernel: str | None,
    candidate_kernel: str | None,
    workload_path: Path | None,
    import_path: Path | None,
    device: Device,
    need: Literal["faster", "not_slower"] | None,
    guard: str | None,
    counters: bool,
    warm: bool,
    seed: int,
    case: str | None,
    inputs: str,
    memory: str,
    jobs: int | None,
    cluster: str | None,
    timeout: float,
    allow_uncontained: bool,
    no_cache: bool,
    as_json: bool,
    **rest: Any,
) -> None:
    """Judge whether CANDIDATE may take the place of BASELINE: build, check, sanitize, profile.

    With --since REV [FILE…]: the same for each kernel that changed, old version against new, with the workloads that
    the repository has for them.

    Exit status: 0 accepted, 1 rejected, 2 wrong use, 3 inconclusive, 4 the environment lacks something. With --since,
    the worst of all; 0 when no kernel changed.
    """
    from kernel_gate.cases import parse_dims
    from kernel_gate.devices.base import DeviceError
    from kernel_gate.options import GateOptions

    wanted = need or ("not_slower" if since is not None else "faster")
    try:
        one_case = {
            "case": parse_dims(case) if case is not None else None,
            "inputs": inputs,
            "memory": memory,
        }
    except ValueError as error:
        wrong_use(str(error))
    options = GateOptions(
        seed=seed,
        need=wanted,
        guard=guard,
        counters=counters,
        warm=warm,
        allow_uncontained=allow_uncontained,
        **take_limits(rest),
        **one_case,
    )
    try:
        if since is not None:
            if kernel or candidate_kernel or workload_path or case:
                wrong_use(
                    "--since finds kernels and workloads itself; leave --kernel, --workload and --case out"
                )
            run = GateRun(timeout, no_cache, as_json)
            judged, code = gate_since(since, files, device, options, run, Where(device, jobs, cluster))
        else:
            if len(files) != 2 or not kernel or jobs or cluster:
                wrong_use(
                    "give BASELINE, CANDIDATE and --kernel, or --since REV; --jobs and --cluster go with --since"
                )
            names = (kernel, candidate_kernel or kernel)
            run = GateRun(timeout, no_cache, as_json, import_path)
            judged, code = _pair(files[0], files[1], names, workload_path, device, options, run)
    except DeviceError as error:
        click.echo(str(error), err=True)
        sys.exit(ExitCode.ENVIRONMENT)
    write_reports(judged, **rest)
    sys.exit(code)


def _pair(
    baseline: Path,
    candidate: Path,
    names: tuple[str, str],
    workload_path: Path | None,
    device: Device,
    options: GateOptions,
    run: GateRun,
) -> tuple[list[NamedVerdict], ExitCode]:
    from kernel_gate.cases import the_case
    from kernel_gate.reporting.named import NamedVerdict
    from kernel_gate.request import GateRequest
    from kernel_gate.worker import Worker
    from kernel_gate.workload import WorkloadError, load_workload
    from kernel_lineage.rewrite.proving.both import judged_with_proofs
    from kernel_lineage.workloads.on_the_spot import SpotWorkload, told, workload_on_the_spot
    from kernel_lineage.workloads.programs import ProgramError, program_from_file

    started = time.monotonic()
    try:
        if workload_path is not None:
            spot = SpotWorkload(load_workload(workload_path), workload_path)
        else:
            spot = workload_on_the_spot(baseline, names[0], "emulated", _show_mutants)
        before = program_from_file(baseline, names[0], spot.workload, import_path=run.import_path)
        after = program_from_file(candidate, names[1], spot.workload, import_path=run.import_path)
        if options.case is not None:
            the_case(spot.workload, options.case, options.seed, options.inputs, options.memory)
    except (WorkloadError, ProgramError, ValueError) as error:
        wrong_use(str(error))
    request = GateRequest.of(before, after, spot.workload, device=device, options=options)
    with Worker() as worker:
        verdict = told(
            judged_with_proofs(
                lambda: run.judge(request, candidate, names[1], worker),
                before,
                after,
                candidate,
                spot.workload,
            ),
            spot,
        )
    clear()
    click.echo(verdict.model_dump_json(indent=2) if run.as_json else render(verdict))
    checked = verdict.stage("check")
    if not run.as_json and checked is not None and "repeat" in checked.details:
        click.echo(f"\nThis case again: {repeated(sys.argv[1:], checked.details['repeat'])}")
    if spot.path is None and not run.as_json:
        click.echo(f"The workload was drafted from {baseline}:")
        for said in spot.assumed:
            click.echo(f"  {said}")
    judged = NamedVerdict(
        kernel=after.entry,
        verdict=verdict,
        candidate=relative(candidate),
        baseline=relative(baseline),
        line=after.first_line,
        seconds=time.monotonic() - started,
    )
    return [judged], verdict.exit_code


def _show_mutants(done: int, total: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\033[Kdrafted workload: mutant {done} of {total}", err=True, nl=False)
