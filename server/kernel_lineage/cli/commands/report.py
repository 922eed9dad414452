"""`klineage report`: the lineages of a repository as one HTML page."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kernel_gate.standing import ExitCode


@click.command()
@click.argument("repository", metavar="[REPO]", default=".", type=click.Path(path_type=Path))
@click.option("--paths", multiple=True, metavar="GLOB", help="Only files that match; may be repeated.")
@click.option("--kernel", metavar="NAME", help="Only the lineages that hold a kernel of this name.")
@click.option("--svg", "as_svg", is_flag=True, help="The drawing of one lineage alone; needs --kernel.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write it; by default klineage-report.html, or NAME.svg.",
)
def command(
    repository: Path, paths: tuple[str, ...], kernel: str | None, as_svg: bool, output: Path | None
) -> None:
    """Draw the lineages of REPO (default: the current folder): a timeline of each with a waterfall of its effects,
    mechanisms, learned conditions, who and when, and what went wrong; below it every step with its difference.

    Nothing is run; what `klineage replay` found on this machine is shown.
    """
    from kernel_lineage.cli.progress import progress_bar
    from kernel_lineage.report.page import write, write_svg
    from kernel_lineage.report.repository import report_on

    if as_svg and kernel is None:
        click.echo("--svg draws one lineage; name its kernel with --kernel.", err=True)
        sys.exit(ExitCode.WRONG_USE)
    with progress_bar() as progress:
        report = report_on(repository, paths=paths, kernel=kernel, progress=progress)
    if kernel is not None and not report.lineages:
        click.echo(
            f"No lineage holds a kernel named {kernel}; `klineage mine` lists those there are.", err=True
        )
        sys.exit(ExitCode.REJECTED)
    if as_svg:
        path = output or Path(f"{kernel}.svg")
        write_svg(report.lineages[0], path)
        click.echo(f"The lineage of {report.lineages[0].kernel} drawn in {path}")
        return
    path = output or Path("klineage-report.html")
    write(report, path)
    click.echo(f"{len(report.lineages)} lineages written to {path}")
