"""`klineage audit FOLDER`: what others publish, claimed against verdict."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kernel_gate.standing import ExitCode, Standing, worst
from kernel_lineage.cli.gate_run import wrong_use
from kernel_lineage.cli.live_line import show_line

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("folder", metavar="FOLDER", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--reference",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The module with `Model`, for all submissions.",
)
@click.option(
    "--claims",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A CSV with the columns file and claim.",
)
@click.option("--html", type=_FILE, help="Write a page.")
@click.option(
    "--seconds", type=click.FloatRange(min=1), default=60.0, show_default=True, help="For one launch."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (klineage schema audit).")
def command(
    folder: Path,
    reference: Path | None,
    claims: Path | None,
    html: Path | None,
    seconds: float,
    as_json: bool,
) -> None:
    """Judge the submissions in FOLDER: modules with `ModelNew` as KernelBench has them, Triton or `load_inline`.

    The reference is `Model` of the same file, of `reference.py` beside it, of the file without `_new` in its name, or
    of --reference; for `custom_kernel` it is `ref_kernel` of the task (`task.yml`) around it. It is worked out in
    NumPy, the submission's kernels run on the emulated device; neither torch nor a GPU is needed, and no Python of a
    submission is run outside the gate's sandbox. Nothing is timed: the best that can be said is `right`. What needs
    torch is not judged, and says what it needs.

    Exit status: 0 nothing was wrong and all was judged, 1 something is wrong, 2 wrong use, 4 a report cannot be
    written, 5 something was not judged, 6 something is undecided.
    """
    from kernel_gate.files.writing import write_atomically
    from kernel_lineage.auditing.document import audit_document, read_claims, table
    from kernel_lineage.auditing.judging import audit
    from kernel_lineage.auditing.page import render
    from kernel_lineage.auditing.submissions import submissions

    try:
        claimed = read_claims(claims) if claims is not None else {}
    except (OSError, ValueError) as error:
        wrong_use(str(error))
    audited = []
    for submission in submissions(folder, reference):
        show_line(submission.name, 80)
        audited.append(audit(submission, seconds))
    show_line("")
    document = audit_document(str(folder), audited, claimed)
    click.echo(document.model_dump_json(indent=2) if as_json else table(document))
    if html is not None:
        try:
            write_atomically(html, render(document).encode())
        except OSError as error:
            click.echo(f"{html} cannot be written: {error.strerror}", err=True)
            sys.exit(ExitCode.ENVIRONMENT)
    sys.exit(worst((one.standing for one in audited), set(Standing) - {Standing.RIGHT}))
