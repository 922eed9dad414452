"""`klineage workload init | check`: how a kernel is run, and whether that shows a wrong one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

import click

from kernel_gate.standing import ExitCode
from kernel_lineage.cli.live_line import show_line
from kernel_lineage.cli.record_option import record_option

if TYPE_CHECKING:
    from kernel_lineage.workloads.document import WorkloadDocument

Device = Literal["auto", "cuda", "emulated"]
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_device = click.option(
    "--device",
    type=click.Choice(["auto", "cuda", "emulated"]),
    default="emulated",
    show_default=True,
    help="Where the mutants are checked; the emulated device finds races and needs no GPU.",
)
_per_kind = click.option(
    "--mutants",
    "per_kind",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="How many mutants of each kind are tried.",
)


@click.group()
def command() -> None:
    """Draft a workload, and prove that it can see a wrong kernel."""


@command.command()
@click.argument("target", metavar="FILE:KERNEL")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Where to write it.")
@click.option(
    "--set",
    "answers",
    multiple=True,
    metavar="NAME=VALUE",
    help="What no code tells: C=768 for a size, targets=0..V for the range of an index, alpha=0.5 for a number, "
    "x=[N, 4] for extents.",
)
@click.option("--force", is_flag=True, help="Write over a workload that is there.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=1, max=3600),
    default=300.0,
    show_default=True,
    help="For drafting and for its proof; what they do not reach is left open.",
)
@record_option
@_device
@_per_kind
@_json
def init(
    target: str,
    out: Path | None,
    answers: tuple[str, ...],
    force: bool,
    seconds: float,
    record: bool,
    device: Device,
    per_kind: int,
    as_json: bool,
) -> None:
    """Draft the workload of a kernel from its launch site, and prove that it can see a wrong kernel.

    KERNEL may be a host function that launches some. What is chosen, and what was not found, is a comment in the
    draft. Exit status: 0 the workload sees wrong kernels, 1 a wrong kernel goes unseen (the draft is kept), 2
    wrong use, 4 no such device, 5 something is missing in the draft, which is kept, or there is no such kernel.
    """
    from kernel_gate.deadline import ends_within
    from kernel_gate.files.writing import check_stays, write_in_repository
    from kernel_lineage.cli.kernel_name import whole_target
    from kernel_lineage.kernels.naming import parted
    from kernel_lineage.workloads.answers import answers_of
    from kernel_lineage.workloads.completing import tried_draft
    from kernel_lineage.workloads.document import ProofDocument, WorkloadDocument
    from kernel_lineage.workloads.files import target_of
    from kernel_lineage.workloads.recording.recorder import recorder_for
    from kernel_lineage.workloads.saved import folder_of, place_of

    with _errors():
        file, name = parted(whole_target(target))
        path = Path(file)
        kernel = target_of(path, name)
    name = kernel.name
    out = out or place_of(folder_of(path), name, path)
    if out.exists() and not force:
        _wrong_use(
            f"{out} is there already; `klineage workload check {out}` proves it, --force drafts it anew"
        )
    check_stays(out)
    with _errors(), ends_within(seconds):
        replies = answers_of(answers)
        draft, proof = tried_draft(
            kernel,
            path,
            device=device,
            per_kind=per_kind,
            on_progress=_show,
            answers=replies,
            recorder=recorder_for(path) if record else None,
        )
    seen = ProofDocument.of(proof, draft.workload()) if proof is not None else None
    unseen = f"# does not see a wrong kernel: {seen.blind}\n" if seen is not None and seen.blind else ""
    write_in_repository(out, (unseen + draft.text).encode())
    document = WorkloadDocument(
        kernel=name,
        source=str(path),
        workload=str(out),
        assumed=list(draft.assumed),
        missing=list(draft.missing),
        proof=seen,
    )
    _tell(document, as_json)


@command.command()
@click.argument(
    "workload_path", metavar="WORKLOAD", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--file",
    "source",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The kernel's file; by default the workload's `source`, looked for in its repository.",
)
@_device
@_per_kind
@_json
def check(workload_path: Path, source: Path | None, device: Device, per_kind: int, as_json: bool) -> None:
    """Prove that a workload can see a wrong kernel: gate mutants of its kernel.

    Exit status: 0 it can, 1 it cannot, 2 wrong use, 4 no such device, 5 its file has no such kernel.
    """
    from kernel_gate.workload import load_workload
    from kernel_lineage.workloads.document import ProofDocument, WorkloadDocument
    from kernel_lineage.workloads.files import target_of
    from kernel_lineage.workloads.proof import prove
    from kernel_lineage.workloads.saved import source_of

    with _errors():
        workload = load_workload(workload_path)
        path = source or source_of(workload, workload_path)
        kernel = target_of(path, workload.kernel)
        proof = prove(kernel, path, workload, device=device, per_kind=per_kind, on_progress=_show)
    document = WorkloadDocument(
        kernel=workload.kernel,
        source=str(path),
        workload=str(workload_path),
        proof=ProofDocument.of(proof, workload),
    )
    _tell(document, as_json)


def _wrong_use(message: str) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(ExitCode.WRONG_USE)


@contextmanager
def _errors() -> Iterator[None]:
    """A kernel that is not there cannot be judged; the line that shows progress is cleared."""
    from kernel_lineage.workloads.programs import UnknownKernelError

    try:
        yield
    except UnknownKernelError as error:
        click.echo(str(error), err=True)
        sys.exit(ExitCode.NOT_JUDGED)
    finally:
        show_line("")


def _show(done: int, total: int) -> None:
    from kernel_lineage.cli.progress import as_lines, line

    if as_lines():
        line("mutants", f"{done} of {total}", done / max(total, 1))
    else:
        show_line(f"mutants {done}/{total}")


def _tell(document: WorkloadDocument, as_json: bool) -> None:
    from kernel_lineage.workloads.document import proof_text
    from kernel_lineage.workloads.on_the_spot import first_question

    if as_json:
        click.echo(document.model_dump_json(indent=2))
    else:
        click.echo(document.workload)
        for assumption in document.assumed:
            click.echo(f"  {assumption}")
        for what in document.missing:
            click.echo(f"  not found: {what}")
        if document.missing:
            first, answer = first_question(document.missing)
            click.echo(
                f"Answer this first: {first.split(' (')[0]}: {answer} --force. Or fill these in and run "
                f"`klineage workload check {document.workload}`."
                if answer
                else f"Fill these in and run `klineage workload check {document.workload}`."
            )
        elif document.proof is not None:
            click.echo(proof_text(document.proof))
    if document.proof is None:
        sys.exit(ExitCode.NOT_JUDGED)
    sys.exit(ExitCode.DONE if document.proof.sees else ExitCode.REJECTED)
