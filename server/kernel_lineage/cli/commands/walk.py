"""`klineage walk FILE:KERNEL --workload W`: an expert's kernel back to a simple one, and each step forward again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kernel_gate.devices.opening import DeviceKind
from kernel_gate.standing import ExitCode


@click.command()
@click.argument("target", metavar="FILE:KERNEL")
@click.option(
    "--workload",
    "workload_path",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="How it is run (.toml).",
)
@click.option("--device", type=click.Choice(["auto", "cuda", "emulated"]), default="auto", show_default=True)
@click.option("--most", type=click.IntRange(1), default=12, show_default=True, help="Steps back at most.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (klineage schema walk).")
def command(
    target: str,
    workload_path: Path,
    device: DeviceKind,
    most: int,
    as_json: bool,
) -> None:
    """Take an expert's optimisations off one by one, as long as the kernel stays right, and make each again.

    A step is kept when the gate finds the simpler kernel right; what made it wrong is told as a risk. Each step
    forward is made anew by a skill's assist on the simpler kernel, and gated against the kernel it came from.

    Exit status: 0 done, 2 wrong use, 4 the environment lacks something, 6 nothing
    could be taken off.
    """
    from kernel_gate.devices.identity import EMULATED, device_identity
    from kernel_gate.worker import Worker
    from kernel_gate.workload import load_workload
    from kernel_lineage.cli.walk_table import table
    from kernel_lineage.kernels.naming import parted
    from kernel_lineage.learning.backward.document import document_of
    from kernel_lineage.learning.backward.walk import walk
    from kernel_lineage.skills.library import library
    from kernel_lineage.workloads.programs import program_from_file
    from kernel_lineage.workloads.saved import folder_of

    file, kernel = parted(target)
    path = Path(file)
    workload = load_workload(workload_path)
    expert = program_from_file(path, kernel, workload)
    with Worker() as worker:
        descent = walk(
            expert,
            workload,
            worker.judge,
            library(folder_of(path)).skills,
            device=device,
            most=most,
            on_step=lambda note: click.echo(f"  {note} …", err=True),
        )
    on = "emulated" if device_identity(device) == EMULATED else device
    document = document_of(descent, expert, file, on)
    click.echo(document.model_dump_json(indent=2, by_alias=True) if as_json else table(document))
    sys.exit(ExitCode.DONE if descent.steps else ExitCode.UNDECIDED)
