"""`klineage coverage`: how many kernels of a folder the emulated device knows."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kernel_gate.standing import ExitCode


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--arch", default="sm_90", show_default=True, metavar="SM", help="Compile for this architecture."
)
@click.option("--seconds", default=120, show_default=True, help="For all that is tried of one kernel.")
@click.option("--jobs", default=2, show_default=True, help="Compile this many kernels at a time.")
@click.option(
    "--allow-uncontained",
    is_flag=True,
    help="Compile also where this machine cannot contain a compiler; Triton modules are Python.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (klineage schema coverage).")
def command(path: Path, arch: str, seconds: int, jobs: int, allow_uncontained: bool, as_json: bool) -> None:
    """Compile the kernels of PATH, a file or folder, and say how many of them the emulated device decodes.

    Nothing is launched, and compilers are contained, as the gate's are. Templates are instantiated as the folder's
    launch sites do; Triton signatures are drafted from launch sites, defaults and annotations. Opcodes that are missing
    are counted by the kernels that hold them.
    """
    from kernel_lineage.cli.progress import progress_bar
    from kernel_lineage.coverage.document import table
    from kernel_lineage.coverage.survey import Survey, survey

    with progress_bar() as progress:
        coverage = survey(path, Survey(arch, seconds, jobs, allow_uncontained), progress)
    if not coverage.kernels:
        click.echo(f"{path} holds no CUDA or Triton kernels", err=True)
        sys.exit(ExitCode.WRONG_USE)
    click.echo(coverage.model_dump_json(indent=2) if as_json else table(coverage), nl=as_json)
