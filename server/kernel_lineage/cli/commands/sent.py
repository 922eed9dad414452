"""`klineage sent`: what left this machine for a model."""

from __future__ import annotations

from collections import deque

import click


@click.command()
@click.option("--last", type=click.IntRange(min=1), default=10, show_default=True, help="How many requests.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document per request, as it was sent.")
def command(last: int, as_json: bool) -> None:
    """Show every byte that was sent to a model, the newest request last. The log lies on this machine alone."""
    from kernel_lineage.rewrite.model.sent import sent_file, sent_requests

    requests = deque(sent_requests(), maxlen=last)
    if not requests:
        click.echo(f"Nothing was sent to a model; requests would be logged in {sent_file()}", err=True)
    for request in requests:
        if as_json:
            click.echo(request.model_dump_json())
            continue
        click.echo(f"{request.time} to {request.host}, model {request.body.get('model')}")
        for message in request.body.get("messages", []):
            click.echo(f"  {message['role']}:")
            click.echo("".join(f"    {line}\n" for line in str(message["content"]).splitlines()), nl=False)
    click.echo(f"The whole log: {sent_file()}", err=True)
