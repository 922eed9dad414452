"""`klineage mcp`: the server of tools for coding agents."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from kernel_gate.processes.parent import end_with_stdin
from kernel_gate.standing import ExitCode


@click.command()
@click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path)
)
@click.option(
    "--trusted",
    is_flag=True,
    help="Whoever starts this has asked a person: code of FOLDER may be compiled and run. See `klineage trust`.",
)
def command(folder: Path, trusted: bool) -> None:
    """Serve a coding agent over stdio (Model Context Protocol): check, gate, prove, draft, apply, with verdicts.

    FOLDER (default: the current one, or the repository around it) is all that the agent can name files in.
    """
    end_with_stdin()
    try:
        from kernel_lineage.agents.root import Root
        from kernel_lineage.agents.server import agent_server
        from kernel_lineage.agents.stdio import serve
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "mcp_types"):
            raise
        click.echo("The SDK is missing: pip install 'kernel-lineage[agents]'", err=True)
        sys.exit(ExitCode.ENVIRONMENT)
    from kernel_lineage.skills.library import repository_of

    root = repository_of(folder) or folder
    if Path.home().resolve().is_relative_to(root):
        click.echo(f"{root} holds your home folder; name the project's folder: klineage mcp FOLDER", err=True)
        sys.exit(ExitCode.WRONG_USE)
    asyncio.run(serve(agent_server(Root(root, trusted))))
