"""`klineage mine`: the lineages of a repository's kernels."""

from __future__ import annotations

import gc
import sys
from dataclasses import replace
from pathlib import Path

import click

from kernel_gate.standing import ExitCode


@click.command()
@click.argument("repository", metavar="[REPO]", default=".", type=click.Path(path_type=Path))
@click.option(
    "--paths", multiple=True, metavar="GLOB", help="Only files that match (git's globs); may be repeated."
)
@click.option("--since", metavar="REV|DATE", help="Only history after a revision or a date.")
@click.option(
    "--kernel",
    metavar="NAME",
    help="Show one lineage in full: the one that holds this kernel (NAME, or PATH:NAME where several do).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (klineage schema mine).")
@click.option("--no-cache", is_flag=True, help="Neither read nor write what is kept in your cache folder.")
@click.option("--counts", is_flag=True, help="Also count what was added how often: skills are ranked by it.")
@click.option(
    "--conditions",
    is_flag=True,
    help="With --json, also say what each fix and guard teaches: the code of every fix is read again for it.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Processes to use; by default one per core.")
def command(
    repository: Path,
    paths: tuple[str, ...],
    since: str | None,
    kernel: str | None,
    as_json: bool,
    no_cache: bool,
    counts: bool,
    conditions: bool,
    jobs: int | None,
) -> None:
    """Mine the lineages of the kernels in REPO (default: the current folder) from its git history.

    What was worked out is kept in your cache folder; an interrupted run goes on from there.
    """
    from kernel_lineage.cli.progress import progress_bar
    from kernel_lineage.history.mine import mine

    gc.set_threshold(100_000)  # the graph that is built is all kept; looking for garbage in it finds none
    try:
        with progress_bar() as progress:
            mined = mine(
                repository, paths=paths, since=since, use_cache=not no_cache, progress=progress, jobs=jobs
            )
    except KeyboardInterrupt:
        click.echo("Interrupted. What was read so far is kept; the next run goes on from there.", err=True)
        sys.exit(130)
    if counts and not (no_cache or paths or since):
        from kernel_lineage.learning.strategy_counts import count_mined

        for note in count_mined(mined):
            click.echo(note, err=True)
    from kernel_lineage.learning.taught import taught

    if as_json:
        from kernel_lineage.history.document import mine_document

        teaches = taught(repository, mined) if conditions else None
        click.echo(mine_document(mined, teaches).model_dump_json(by_alias=True))
        return
    from kernel_lineage.cli.lineage_table import lineages_named, print_choice, print_lineage, print_lineages

    if kernel is None:
        print_lineages(mined)
        return
    lineages = lineages_named(mined, kernel)
    if len(lineages) == 1:
        print_lineage(mined, lineages[0], taught(repository, replace(mined, lineages=(lineages[0],))))
    elif lineages:
        print_choice(kernel, lineages)
        sys.exit(ExitCode.WRONG_USE)
    else:
        click.echo(
            f"No lineage holds a kernel named {kernel}. `klineage mine {repository}` lists those there are.",
            err=True,
        )
        sys.exit(ExitCode.REJECTED)
