"""`klineage plugin AGENT`: the plugin for a coding agent, written into a folder."""

from __future__ import annotations

from pathlib import Path

import click

from kernel_lineage.agents.plugin import AGENTS, NAME


@click.command()
@click.argument("agent", type=click.Choice(sorted(AGENTS)))
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=NAME,
    show_default=True,
    help="The folder of the plugin.",
)
def command(agent: str, into: Path) -> None:
    """Write the plugin for AGENT: skill, tools (klineage mcp), language server and the hook that keeps edits gated."""
    from kernel_gate.files.writing import write_atomically

    for path, text in AGENTS[agent]().items():
        write_atomically(into / path, text.encode())
        click.echo(str(into / path))
