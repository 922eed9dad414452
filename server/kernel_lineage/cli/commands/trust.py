"""`klineage trust`: the folders whose code coding agents may have compiled and run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from kernel_gate.standing import ExitCode


@click.command()
@click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path)
)
@click.option(
    "--edits",
    "enough",
    type=click.Choice(["accepted", "right"]),
    default="accepted",
    show_default=True,
    help="What the hook asks of an agent's own edit of a kernel: `right` lets pass what is right and was not timed, "
    "on a machine without a GPU.",
)
@click.option("--forget", "undo", is_flag=True, help="Trust FOLDER no longer.")
@click.option("--list", "listed", is_flag=True, help="List what is trusted.")
def command(folder: Path, enough: Literal["accepted", "right"], undo: bool, listed: bool) -> None:
    """Let coding agents compile and run the kernels of FOLDER (default: the current one) by `klineage mcp`.

    A person says it, on a terminal: what an agent starts has none.
    """
    from kernel_lineage.agents.trust import forget, trust, trusted_folders

    if listed:
        for one, needed in trusted_folders().items():
            click.echo(f"{one}  edits: {needed}")
        return
    if undo:
        forget(folder)
        click.echo(f"{folder} is not trusted any more.")
        return
    if not sys.stdin.isatty():
        click.echo("Trust is a person's to give: run this in a terminal.", err=True)
        sys.exit(ExitCode.WRONG_USE)
    trust(folder, enough)
    click.echo(f"Agents may have the kernels of {folder} compiled and run. --forget takes it back.")
