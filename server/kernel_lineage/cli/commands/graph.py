"""`klineage graph`: what followed what in a repository's lineages, and what is offered next."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kernel_gate.standing import ExitCode


@click.command()
@click.argument("repository", metavar="[REPO]", default=".", type=click.Path(path_type=Path))
@click.option("--paths", multiple=True, metavar="GLOB", help="Only files that match; may be repeated.")
@click.option("--kernel", metavar="NAME", help="Also what is offered next for the kernels of this name.")
@click.option("--builtin", is_flag=True, help="The graph that comes with the package; REPO is not read.")
@click.option("--json", "form", flag_value="json", help="Print one JSON document (klineage schema graph).")
@click.option("--svg", "form", flag_value="svg", help="Print the graph as a self-contained SVG.")
@click.option("--dot", "form", flag_value="dot", help="Print the graph for Graphviz.")
def command(
    repository: Path, paths: tuple[str, ...], kernel: str | None, builtin: bool, form: str | None
) -> None:
    """Build the transition graph of REPO (default: the current folder) from its lineages and kept outcomes.

    Strategies under their directions, what came after what, effects and risks. It is kept in your cache folder,
    where `applicable` and the editor take the order of what they offer from.
    """
    from kernel_lineage.cli.graph_table import print_graph
    from kernel_lineage.cli.progress import progress_bar
    from kernel_lineage.history.git import RepositoryError
    from kernel_lineage.learning.transition_graph import graph_on, next_for
    from kernel_lineage.skills.graph.document import NextDocument, graph_document
    from kernel_lineage.skills.graph.draw import dot, svg
    from kernel_lineage.skills.graph.known import builtin_graph

    following: list[NextDocument] = []
    if builtin:
        graph, name = builtin_graph(), "built-in"
    else:
        try:
            with progress_bar() as progress:
                found = graph_on(repository, paths=paths, progress=progress)
        except RepositoryError as error:
            click.echo(str(error), err=True)
            sys.exit(ExitCode.WRONG_USE)
        graph, name = found.graph, Path(found.mined.repository).name
        for note in (*found.mined.messages, *found.notes):
            click.echo(note, err=True)
        following = next_for(found, kernel) if kernel is not None else []
    if kernel is not None and not following:
        click.echo(
            f"No lineage holds a kernel named {kernel}; `klineage mine` lists those there are.", err=True
        )
        sys.exit(ExitCode.REJECTED)
    if form == "json":
        click.echo(graph_document(graph, name, following).model_dump_json(by_alias=True))
    elif form == "svg":
        click.echo(svg(graph, f"Transition graph of {name}"), nl=False)
    elif form == "dot":
        click.echo(dot(graph, f"Transition graph of {name}"), nl=False)
    else:
        print_graph(graph, name, following)
