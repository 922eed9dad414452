"""`klineage report`: the lineages of a repository as one HTML page."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kernel_gate.verdict import ExitCode


@click.command()
@click.argument("repository", metavar="[REPO]", default=".", type=click.Path(path_type=Path))
@click.option("--paths", multiple=True, metavar="GLOB", help="Only files that match; may be repeated.")
@click.option(
    "-o",
    "--output",
    default="klineage-report.html",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the page.",
)
def command(repository: Path, paths: tuple[str, ...], output: Path) -> None:
    """Draw the lineages of REPO (default: the current folder): steps, reasons, risks, learned conditions.

    Nothing is run; what `klineage replay` found on this machine is shown.
    """
    from kernel_lineage.cli.progress import progress_bar
    from kernel_lineage.history.git import RepositoryError
    from kernel_lineage.report.page import write
    from kernel_lineage.report.repository import report_on

    try:
        with progress_bar() as progress:
            report = report_on(repository, paths=paths, progress=progress)
    except RepositoryError as error:
        click.echo(str(error), err=True)
        sys.exit(ExitCode.WRONG_USE)
    write(report, output)
    click.echo(f"{len(report.lineages)} lineages written to {output}")
