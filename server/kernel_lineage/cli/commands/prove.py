"""`klineage prove FILE:KERNEL`: what holds of a kernel for all sizes, from its source."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("target", metavar="FILE:KERNEL")
@click.option(
    "--workload",
    "workload_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="How it is run (.toml). Default: the repository's for this kernel, else one is drafted.",
)
@click.option(
    "--limit",
    type=float,
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="For one question to the solver.",
)
@click.option(
    "--template",
    "template",
    metavar="ARGUMENT",
    multiple=True,
    help="A template argument, in order, where no launch in FILE gives them. May be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (klineage schema prove).")
def command(
    target: str, workload_path: Path | None, limit: float, template: tuple[str, ...], as_json: bool
) -> None:
    """Prove or refute, access by access: in bounds, written exactly once, aligned, no bank conflicts, no overflow.

    Sizes are symbolic: what is proved holds for all sizes that the workload's promises and the kernel's guards allow.
    Counterexamples are run on the emulated device before they are shown.

    Exit status: 0 all proved, 1 something refuted, 2 wrong use, 4 the environment lacks something,
    5 no workload could be had, 6 something undecided and nothing refuted.
    """
    from kernel_gate.workload import load_workload
    from kernel_lineage.cli.gate_pair import show_mutants
    from kernel_lineage.cli.kernel_name import whole_target
    from kernel_lineage.kernels.naming import parted
    from kernel_lineage.rewrite.proving.document import document_of, exit_code, table
    from kernel_lineage.rewrite.proving.prove import prove_file
    from kernel_lineage.workloads.on_the_spot import workload_on_the_spot

    file, kernel = parted(whole_target(target))
    workload = (
        workload_on_the_spot(Path(file), kernel, "emulated", show_mutants).workload
        if workload_path is None
        else load_workload(workload_path)
    )
    obligations = prove_file(
        Path(file), kernel, workload, template_arguments=template, limit_ms=int(1000 * limit)
    )
    document = document_of(file, kernel, obligations)
    click.echo(document.model_dump_json(indent=2) if as_json else table(document))
    sys.exit(exit_code(document))
