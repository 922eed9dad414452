"""`klineage replay [REPO]`: the transitions of a history through the gate."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kernel_gate.standing import ExitCode
from kernel_lineage.cli.gate_since import Device, Where
from kernel_lineage.cli.remote_option import remote_option

_INTENTS = ("optimisation", "fix", "revert", "refactor", "feature", "unknown")


@click.command()
@click.argument("repository", metavar="[REPO]", default=".", type=click.Path(path_type=Path))
@click.option(
    "--paths", multiple=True, metavar="GLOB", help="Only files that match (git's globs); may be repeated."
)
@click.option("--since", metavar="REV|DATE", help="Only history after a revision or a date.")
@click.option("--kernel", metavar="NAME", help="Only lineages that hold a kernel of this name.")
@click.option(
    "--intent",
    "intents",
    multiple=True,
    type=click.Choice(_INTENTS),
    help="Only these intents; may be repeated. Default: optimisation, fix, revert.",
)
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Judge at most N that are not known yet.")
@click.option("--seconds", type=click.FloatRange(min=0), help="Begin no other transition after so long.")
@click.option("--device", type=click.Choice(["auto", "cuda", "emulated"]), default="auto", show_default=True)
@click.option("--jobs", type=click.IntRange(1), help="Verdicts at once. Default: one on each GPU.")
@remote_option
@click.option("--timeout", type=float, default=180.0, show_default=True, help="Seconds for one verdict.")
@click.option("--no-learn", is_flag=True, help="Only replay: split and probe nothing, write no skill.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write what is kept in your cache folder.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (klineage schema replay).")
def command(
    repository: Path,
    paths: tuple[str, ...],
    since: str | None,
    kernel: str | None,
    intents: tuple[str, ...],
    limit: int | None,
    seconds: float | None,
    device: Device,
    jobs: int | None,
    cluster: str | None,
    timeout: float,
    no_learn: bool,
    no_cache: bool,
    as_json: bool,
) -> None:
    """Send the transitions of REPO's history (default: the current folder) through the gate.

    Both states are taken from git's objects, built, checked against each other and, on a GPU, timed. An optimisation
    that was reproduced is split into its parts, each part is probed for when it is right, and the skills that come of
    it are written to .klineage/skills. What was worked out is kept in your cache folder: an interrupted run goes
    on from there, and a new commit costs what is new.

    Exit status: 0 every transition was replayed, whatever came of it; 2 wrong use, 4 the environment lacks something, 5
    some are left (--limit, --seconds).
    """
    from kernel_gate.fleet.travelling import ClusterError
    from kernel_lineage.cli.progress import finished_lines, progress_bar
    from kernel_lineage.cli.replay_table import line_of, summary
    from kernel_lineage.history.model import Intent
    from kernel_lineage.learning.replay.claims import DEFAULT_INTENTS
    from kernel_lineage.learning.replay.repository import Asked, replay_repository

    asked = Asked(
        paths=paths,
        since=since,
        kernel=kernel,
        intents=frozenset(map(Intent, intents)) or DEFAULT_INTENTS,
        limit=limit,
        seconds=seconds,
        device=device,
        cluster=cluster,
        timeout=timeout,
        use_cache=not no_cache,
        learn=not no_learn,
    )
    try:
        with (
            progress_bar() as mining,
            finished_lines() as finished,
            Where(device, jobs, cluster).pool() as pool,
        ):
            done = replay_repository(
                repository, asked, pool, lambda at, of, one: finished(at, of, line_of(one)), mining
            )
    except ClusterError as error:
        click.echo(str(error), err=True)
        sys.exit(ExitCode.WRONG_USE)
    except KeyboardInterrupt:
        click.echo("Interrupted. What was finished is kept; the next run goes on from there.", err=True)
        sys.exit(130)
    document = done.document
    click.echo(document.model_dump_json(indent=2) if as_json else summary(document))
    for message in document.messages:
        click.echo(message, err=True)
    sys.exit(ExitCode.NOT_JUDGED if document.remaining or document.unstudied else ExitCode.DONE)
