"""`klineage optimise FILE[:KERNEL|:FUNCTION]`: search over skills under a budget, through the gate."""

from __future__ import annotations

from typing import Literal

import click

from kernel_gate.standing import ExitCode
from kernel_lineage.cli.record_option import record_option


@click.command()
@click.argument("target", metavar="FILE[:KERNEL|:FUNCTION]")
@click.option("--device", type=click.Choice(["auto", "cuda", "emulated"]), default="auto", show_default=True)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    help="For a kernel: its workload's draft, the search and the last verdict.",
)
@click.option(
    "--device-seconds",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    help="That the device may be used for.",
)
@click.option("--write", is_flag=True, help="Change FILE when the gate accepts the result.")
@record_option
@click.option("--fact", "stated", multiple=True, metavar="FACTS", help='State facts: "align(x) = 16".')
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document for each kernel.")
@click.pass_context
def command(
    context: click.Context,
    target: str,
    device: Literal["auto", "cuda", "emulated"],
    seconds: float,
    device_seconds: float,
    write: bool,
    record: bool,
    stated: tuple[str, ...],
    as_json: bool,
) -> None:
    """Try what the assists make of a kernel, promote what the gate finds faster, and go on from there.

    Kernels that a host function launches one behind the other are joined where that is shown to compute the same; the
    function is judged then. FILE:FUNCTION judges and times all that a host function does, whichever of its kernels is
    changed.

    Where the repository has no workload for the kernel, one is drafted, and a line says what it assumes. Run
    again it goes on where it was: drafts and verdicts are kept. Without a GPU, correct candidates are kept as patches.

    Exit status: 0 accepted, 1 nothing was promoted, 2 wrong use, 3 promoted and not timed, 4 the environment lacks
    something.
    """
    from kernel_gate.verdict import Outcome
    from kernel_gate.worker import Worker
    from kernel_gate.workload import WorkloadError
    from kernel_lineage.rewrite.optimise.lines import summary, tried_line
    from kernel_lineage.rewrite.optimise.session import Asked, run
    from kernel_lineage.skills.conditions.facts import Facts
    from kernel_lineage.skills.conditions.stated import StatedFactError, stated_facts
    from kernel_lineage.skills.target import TargetError
    from kernel_lineage.workloads.programs import ProgramError

    try:
        facts = Facts().merged(*(stated_facts(text, "stated by the caller") for text in stated))
        asked = Asked(target, device, seconds, device_seconds, write, record, facts)
        with Worker() as worker:
            documents = run(
                asked,
                worker,
                lambda tried: click.echo(tried_line(tried), err=True),
                lambda line: click.echo(line, err=True),
            )
    except (TargetError, StatedFactError, ProgramError, WorkloadError) as error:
        click.echo(str(error), err=True)
        context.exit(ExitCode.WRONG_USE)
    except OSError as error:
        click.echo(str(error), err=True)
        context.exit(ExitCode.ENVIRONMENT)
    for document in documents:
        click.echo(document.model_dump_json(indent=2) if as_json else summary(document))
    outcomes = [d.verdict.outcome if d.verdict is not None else None for d in documents]
    if None in outcomes or Outcome.REJECTED in outcomes:
        context.exit(ExitCode.REJECTED)
    context.exit(ExitCode.DONE if set(outcomes) == {Outcome.ACCEPTED} else ExitCode.RIGHT)
