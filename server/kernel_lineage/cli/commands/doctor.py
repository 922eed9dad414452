"""`klineage doctor`: what this machine has and how to get what is missing."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (klineage schema doctor).")
def command(as_json: bool) -> None:
    """Show compilers, devices, model endpoint and skills, with how to get what is missing."""
    from kernel_lineage.report.doctor import examine

    document = examine(Path.cwd())
    if as_json:
        click.echo(document.model_dump_json(indent=2))
        return
    for finding in document.findings:
        click.echo(f"{'✓' if finding.present else '·'} {finding.what:15} {finding.found}")
        if not finding.present:
            click.echo(f"  {'':15} needed for: {finding.needed_for}")
