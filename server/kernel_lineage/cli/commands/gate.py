"""`klineage gate`: one verdict on two files, or one on each kernel that a change touched."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

import click

from kernel_gate.standing import Standing, worst
from kernel_lineage.cli.gate_edit import EditAsked, gate_edit
from kernel_lineage.cli.gate_limits import limit_options, take_limits
from kernel_lineage.cli.gate_pair import Pair, gate_pair
from kernel_lineage.cli.gate_reports import report_options, write_reports
from kernel_lineage.cli.gate_run import GateRun, wrong_use
from kernel_lineage.cli.gate_since import Where, gate_since
from kernel_lineage.cli.one_case import one_case_options
from kernel_lineage.cli.record_option import record_option
from kernel_lineage.cli.remote_option import remote_option

Device = Literal["auto", "cuda", "emulated"]
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(name="gate")
@click.argument("files", nargs=-1, metavar="BASELINE CANDIDATE", type=click.Path(path_type=Path))
@click.option(
    "--since", metavar="REV", help="Gate the kernels that the work tree, or A..B, changed; FILE… narrows it."
)
@click.option(
    "--text",
    metavar="CANDIDATE",
    help="Gate an edit before it is made: each kernel that FILE with the text of CANDIDATE (-: stdin) changes.",
)
@click.option("--write", is_flag=True, help="With --text: write FILE when all that it changes is accepted.")
@click.option(
    "--kernel",
    help="The kernel's name in BASELINE, with template arguments if need be: `scale<float, 4>`. Default: the "
    "workload's kernel, else the only one of the file.",
)
@click.option("--candidate-kernel", help="Its name in CANDIDATE, when it is another one.")
@click.option(
    "--workload",
    "workload_path",
    type=_FILE,
    help="How to run it (.toml). Default: the repository's for this kernel, else one is drafted from BASELINE.",
)
@click.option("--device", type=click.Choice(["auto", "cuda", "emulated"]), default="auto", show_default=True)
@click.option(
    "--need",
    type=click.Choice(["faster", "not_slower"]),
    help="What the profile must show. Default: faster; with --since and --text, not_slower.",
)
@click.option(
    "--guard", help="Condition over dims under which the new path runs; elsewhere it may be slower."
)
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
@remote_option
@click.option("--timeout", type=float, default=600.0, show_default=True, help="Seconds for one verdict.")
@limit_options
@click.option(
    "--allow-uncontained",
    is_flag=True,
    help="Run what a verdict runs (Triton modules, oracles, host code that is recorded) also where this machine cannot "
    "contain it. Only for programs that you trust: they run as you.",
)
@click.option(
    "--narrow-seconds",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Of a candidate that is rejected: for asking where it is right, on the emulated device; the verdict names the "
    "condition. 0: not asked.",
)
@click.option("--no-cache", is_flag=True, help="Judge anew, and keep nothing in your cache folder.")
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    metavar="STANDING[,…]",
    help=f"Count only these for the exit status: {', '.join(s for s in Standing if s is not Standing.ACCEPTED)}. "
    "Default: all.",
)
@record_option
@report_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    files: tuple[Path, ...],
    since: str | None,
    text: str | None,
    write: bool,
    kernel: str | None,
    candidate_kernel: str | None,
    workload_path: Path | None,
    device: Device,
    need: Literal["faster", "not_slower"] | None,
    guard: str | None,
    warm: bool,
    seed: int,
    case: str | None,
    inputs: str,
    memory: str,
    jobs: int | None,
    cluster: str | None,
    timeout: float,
    allow_uncontained: bool,
    narrow_seconds: float,
    no_cache: bool,
    record: bool,
    fail_on: tuple[str, ...],
    as_json: bool,
    **rest: Any,
) -> None:
    """Judge whether CANDIDATE may take the place of BASELINE: build, check, sanitize, profile.

    With --since REV [FILE…]: the same for each kernel that changed, old version against new, with the workloads that
    the repository has for them. With FILE --text CANDIDATE: the same for each kernel that an edit would change.

    Exit status: 0 accepted, 1 rejected, 2 wrong use, 3 right as far as it was checked and its speed not shown, 4 the
    environment lacks something, 5 not judged, 6 undecided. With --since, the worst of all (1, 4, 5, 6, 3, 0); 0 when no
    kernel changed.
    """
    from kernel_gate.cases import parse_dims
    from kernel_gate.options import GateOptions

    counted = _counted(fail_on)
    wanted = need or ("faster" if since is None and text is None else "not_slower")
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
        warm=warm,
        allow_uncontained=allow_uncontained,
        **take_limits(rest),
        **one_case,
    )
    if text is not None:
        if since is not None or len(files) != 1 or kernel or candidate_kernel or workload_path or case:
            wrong_use("--text takes one FILE, whose kernels and workloads it finds itself")
        if cluster is not None:
            wrong_use("--text judges here; leave --remote out")
        run = GateRun(timeout, no_cache, as_json)
        judged = gate_edit(EditAsked(files[0], text, write), device, options, run)
    elif since is not None:
        if kernel or candidate_kernel or workload_path or case:
            wrong_use("--since finds kernels and workloads itself; leave --kernel, --workload and --case out")
        run = GateRun(timeout, no_cache, as_json)
        judged = gate_since(since, files, device, options, run, Where(device, jobs, cluster))
    else:
        if len(files) != 2 or jobs:
            wrong_use("give BASELINE and CANDIDATE, or --since REV; --jobs goes with --since")
        run = GateRun(timeout, no_cache, as_json, narrow_seconds, record)
        pair = Pair(files[0], files[1], kernel, candidate_kernel, workload_path)
        judged = [gate_pair(pair, device, options, run, cluster)]
    write_reports(judged, **rest)
    sys.exit(worst((one.verdict.standing for one in judged), counted))


def _counted(fail_on: tuple[str, ...]) -> tuple[Standing, ...]:
    """The standings that count for the exit status."""
    words = [word.strip() for text in fail_on for word in text.split(",") if word.strip()]
    unknown = [word for word in words if word not in set(Standing) - {Standing.ACCEPTED}]
    if unknown:
        names = ", ".join(s for s in Standing if s is not Standing.ACCEPTED)
        wrong_use(f"--fail-on takes {names}; not {unknown[0]}")
    return tuple(s for s in Standing if s in words) or tuple(Standing)
