"""`klineage serve`: the language server, for an editor to start."""

from __future__ import annotations

import gc

import click


@click.command()
@click.option("--stdio", is_flag=True, help="Speak on stdin and stdout: the default; editors add it.")
@click.option(
    "--tcp", metavar="[HOST:]PORT", help="Wait for one editor on a socket instead of on stdin and stdout."
)
@click.option("-v", "--verbose", is_flag=True, help="Log more, to stderr.")
def command(stdio: bool, tcp: str | None, verbose: bool) -> None:
    """Answer an editor by the Language Server Protocol: hover cards, code actions, edits through the gate.

    Editors start this themselves and speak to it on stdin and stdout.
    """
    # Thousands of classes are made while the server loads and none is garbage: looking for some takes a sixth of it.
    gc.disable()
    from kernel_gate.processes.parent import end_with_stdin

    if tcp is None:
        end_with_stdin()
    from kernel_lineage.editor.compiled import compiled_once

    with compiled_once():
        from kernel_lineage.editor.serve import Address, serve

    gc.freeze()
    gc.enable()

    if stdio and tcp is not None:
        raise click.UsageError("--stdio and --tcp exclude each other.")
    try:
        address = None if tcp is None else Address.parse(tcp)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--tcp") from error
    serve(address, verbose)
