"""`klineage trust`: the folders whose code coding agents may have compiled and run."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kernel_gate.standing import ExitCode


@click.command()
@click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path)
)
@click.option("--forget", "undo", is_flag=True, help="Trust FOLDER no longer.")
@click.option("--list", "listed", is_flag=True, help="List what is trusted.")
def command(folder: Path, undo: bool, listed: bool) -> None:
    """Let coding agents compile and run the kernels of FOLDER (default: the current one) by `klineage mcp`.

    A person says it, on a terminal: what an agent starts has none.
    """
    from kernel_lineage.agents.trust import forget, trust, trusted_folders

    if listed:
        for one in trusted_folders():
            click.echo(str(one))
        return
    if undo:
        forget(folder)
        click.echo(f"{folder} is not trusted any more.")
        return
    if not sys.stdin.isatty():
        click.echo("Trust is a person's to give: run this in a terminal.", err=True)
        sys.exit(ExitCode.WRONG_USE)
    trust(folder)
    click.echo(f"Agents may have the kernels of {folder} compiled and run. --forget takes it back.")
