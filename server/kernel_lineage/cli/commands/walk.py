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
@click.option(
    "--ask-model",
    is_flag=True,
    help="Where no pattern has anything left, ask a model of an OpenAI-compatible endpoint (KLINEAGE_BASE_URL, "
    "KLINEAGE_MODEL, KLINEAGE_API_KEY) for the kernel without one mechanism; its text goes there.",
)
@click.option("--model", help="The model's name, instead of KLINEAGE_MODEL.")
@click.option("--base-url", help="The endpoint, instead of KLINEAGE_BASE_URL.")
@click.option("--token-budget", type=click.IntRange(min=1), help="Tokens over the whole walk.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (klineage schema walk).")
def command(
    target: str,
    workload_path: Path,
    device: DeviceKind,
    most: int,
    ask_model: bool,
    model: str | None,
    base_url: str | None,
    token_budget: int | None,
    as_json: bool,
) -> None:
    """Take an expert's optimisations off one by one, as long as the kernel stays right, and make each again.

    A step is kept when the gate finds the simpler kernel right; what made it wrong is told as a risk. Each step
    forward is made anew by a skill's assist on the simpler kernel, and gated against the kernel it came from. A
    model is asked only with --ask-model; what it proposes is gated as everything else.

    Exit status: 0 done, 2 wrong use, 4 the environment lacks something, 6 nothing
    could be taken off.
    """
    from kernel_gate.devices.base import DeviceError
    from kernel_gate.devices.identity import EMULATED, device_identity
    from kernel_gate.worker import Worker
    from kernel_gate.workload import WorkloadError, load_workload
    from kernel_lineage.cli.walk_table import table
    from kernel_lineage.kernels.naming import parted
    from kernel_lineage.learning.backward.document import document_of
    from kernel_lineage.learning.backward.walk import walk
    from kernel_lineage.rewrite.model.settings import SettingsError, endpoint
    from kernel_lineage.rewrite.model.weakening import Weakener
    from kernel_lineage.skills.library import library
    from kernel_lineage.workloads.programs import ProgramError, program_from_file
    from kernel_lineage.workloads.saved import folder_of

    file, kernel = parted(target)
    if not file or not kernel:
        click.echo(
            f"{target!r} names no kernel; write FILE:KERNEL, such as rmsnorm.cu:rmsnorm_forward.", err=True
        )
        sys.exit(ExitCode.WRONG_USE)
    path = Path(file)
    try:
        workload = load_workload(workload_path)
        expert = program_from_file(path, kernel, workload)
        weakener = None
        if ask_model:
            weakener = Weakener(endpoint(base_url=base_url, model=model, token_budget=token_budget))
        with Worker() as worker:
            found = walk(
                expert,
                workload,
                worker.judge,
                library(folder_of(path)).skills,
                device=device,
                most=most,
                weakener=weakener,
                on_step=lambda said: click.echo(f"  {said} …", err=True),
            )
        on = "emulated" if device_identity(device) == EMULATED else device
    except (WorkloadError, ProgramError) as error:
        click.echo(str(error), err=True)
        sys.exit(ExitCode.WRONG_USE)
    except (DeviceError, SettingsError) as error:
        click.echo(str(error), err=True)
        sys.exit(ExitCode.ENVIRONMENT)
    document = document_of(found, expert, file, on)
    click.echo(document.model_dump_json(indent=2, by_alias=True) if as_json else table(document))
    sys.exit(ExitCode.DONE if found.steps else ExitCode.UNDECIDED)
