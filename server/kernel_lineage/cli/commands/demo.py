"""`klineage demo`: the main job on a sample repository."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("folder", default="demo-output", type=click.Path(file_okay=False, path_type=Path))
@click.option("--device", type=click.Choice(["auto", "cuda", "emulated"]), default="auto", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (klineage schema demo).")
def command(folder: Path, device: str, as_json: bool) -> None:
    """Make a sample repository in FOLDER, mine it, run every version, apply a skill, write a report.

    Needs no GPU, key or editor. FOLDER must be new, empty, or an earlier sample.
    """
    from kernel_lineage.cli.terminal import console
    from kernel_lineage.demo.document import demo_document
    from kernel_lineage.demo.tour import take_tour

    screen = console(err=as_json, markup=True)
    tour = take_tour(folder, device=device, console=screen)  # type: ignore[arg-type]
    if as_json:
        click.echo(demo_document(tour).model_dump_json())
