"""`klineage applicable FILE[:KERNEL]`: the skills for a kernel, each condition with its truth and evidence."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click


@click.command()
@click.argument("target", metavar="FILE[:KERNEL]")
@click.option("--skill", "only", metavar="SKILL", multiple=True, help="Only this skill. May be repeated.")
@click.option(
    "--fact", "stated", metavar="FACTS", multiple=True, help='State facts: "C = 768 | 1024, align(x) = 16".'
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cuda", "emulated"]),
    default="auto",
    help="Whose facts conditions are judged on; the emulated device has none of its own.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Every skill with each condition, also those that no assist carries over.",
)
@click.option(
    "--offers",
    is_flag=True,
    help="With --json: what an assist makes a candidate of, and why not of the rest, in place of every skill.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    target: str,
    only: tuple[str, ...],
    stated: tuple[str, ...],
    device: str,
    everything: bool,
    offers: bool,
    as_json: bool,
) -> None:
    """Show what can be applied to a kernel, or to every kernel of FILE, in at most five lines each.

    Each assist is run first: what it refuses is not offered. --all and --json show every skill and condition.
    """
    from kernel_lineage.rewrite.offers import offers_document, offers_text
    from kernel_lineage.rewrite.situation import facts_here
    from kernel_lineage.skills.card_text import cards_text
    from kernel_lineage.skills.listing import listing

    document, listed = listing(target, only, stated, partial(facts_here, device=device))
    if as_json and offers:
        click.echo(offers_document(listed, document.notes).model_dump_json(indent=2))
    elif as_json:
        click.echo(document.model_dump_json(indent=2))
    elif everything:
        click.echo(cards_text(Path(document.path), [(one.kernel, one.places) for one in listed]))
    else:
        click.echo(offers_text(Path(document.path), listed))
    for line in (*document.problems, *document.notes):
        click.echo(line, err=True)
