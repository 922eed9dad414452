"""`klineage apply SKILL FILE:KERNEL`: materialise → gate → edit."""

from __future__ import annotations

import sys
from typing import Literal

import click

from kernel_lineage.cli.record_option import record_option
from kernel_lineage.cli.remote_option import remote_option


@click.command()
@click.argument("skill")
@click.argument("target", metavar="FILE:KERNEL")
@click.option(
    "--by",
    type=click.Choice(["assist", "model", "handoff"]),
    default="assist",
    show_default=True,
    help="Who makes the candidate: an assist; a model of an OpenAI-compatible endpoint (KLINEAGE_BASE_URL, "
    "KLINEAGE_MODEL, KLINEAGE_API_KEY); or whoever answers the request file.",
)
@click.option("--device", type=click.Choice(["auto", "cuda", "emulated"]), default="auto", show_default=True)
@click.option("--dry-run", is_flag=True, help="Gate, and write nothing.")
@click.option(
    "--anyway",
    is_flag=True,
    help="Try also what failed on this very kernel before, or what its limits forbid now.",
)
@click.option("--line", type=int, help="Apply near this line; by default at the first place that takes it.")
@click.option("--fact", "stated", multiple=True, metavar="FACTS", help='State facts: "align(x) = 16".')
@click.option("--model", help="The model's name, instead of KLINEAGE_MODEL.")
@click.option("--base-url", help="The endpoint, instead of KLINEAGE_BASE_URL.")
@click.option("--token-budget", type=click.IntRange(min=1), help="Tokens over all rounds.")
@click.option(
    "--text",
    "text_from",
    type=click.Choice(["-"]),
    help="Read the text of an unsaved buffer from stdin; the edit is printed and FILE is not written.",
)
@record_option
@remote_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option(
    "--progress", type=click.Choice(["text", "json"]), default="text", help="Form of the progress on stderr."
)
@click.pass_context
def command(
    context: click.Context,
    skill: str,
    target: str,
    by: Literal["assist", "model", "handoff"],
    device: Literal["auto", "cuda", "emulated"],
    dry_run: bool,
    anyway: bool,
    line: int | None,
    stated: tuple[str, ...],
    model: str | None,
    base_url: str | None,
    token_budget: int | None,
    text_from: str | None,
    record: bool,
    cluster: str | None,
    as_json: bool,
    progress: Literal["text", "json"],
) -> None:
    """Carry SKILL over to a kernel, gate the result, and change FILE only when the gate accepts it.

    Exit status: 0 accepted, 1 rejected or refused, 2 wrong use, 3 right and its speed not shown, 4 the environment
    lacks something, 5 not judged, 6 undecided.
    """
    from kernel_lineage.cli.kernel_name import whole_target
    from kernel_lineage.rewrite.run import Asked, run

    context.exit(
        run(
            Asked(
                skill=skill,
                target=whole_target(target),
                by=by,
                device=device,
                dry_run=dry_run,
                anyway=anyway,
                line=line,
                stated=stated,
                model=model,
                base_url=base_url,
                token_budget=token_budget,
                record=record,
                remote=cluster,
                text=sys.stdin.buffer.read() if text_from else None,
            ),
            as_json=as_json,
            json_progress=progress == "json",
            out=click.echo,
            err=lambda message: click.echo(message, err=True),
        )
    )
