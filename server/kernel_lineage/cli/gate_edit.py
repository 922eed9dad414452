"""`klineage gate FILE --text CANDIDATE`: an edit of one file before it is made, and made when all of it is accepted."""

import hashlib
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import click

from kernel_gate.files.reading import read_file
from kernel_gate.files.writing import write_atomically
from kernel_gate.options import GateOptions
from kernel_gate.reporting.named import NamedVerdict
from kernel_gate.standing import ExitCode, Standing
from kernel_lineage.cli.gate_pair import show_mutants
from kernel_lineage.cli.gate_run import GateRun, clear, wrong_use
from kernel_lineage.cli.gate_since import show


@dataclass(frozen=True, slots=True)
class EditAsked:
    """What the command line says of an edit."""

    file: Path
    text: str
    """The file that holds the new text, or `-`."""
    write: bool


def gate_edit(
    asked: EditAsked, device: Literal["auto", "cuda", "emulated"], options: GateOptions, run: GateRun
) -> list[NamedVerdict]:
    """Judge and show each kernel that an edit changes; write the file when every one is accepted.

    Raises `DeviceError`.
    """
    from kernel_gate.worker import Worker
    from kernel_lineage.learning.changed_kernels import UnreadFileError
    from kernel_lineage.learning.gate_changes import KernelVerdict
    from kernel_lineage.learning.gated_edits import EditGate, GateEditDocument
    from kernel_lineage.workloads.saved import folder_of

    fresh = replace(run, no_cache=True)  # what lets an edit pass rests on no earlier answer
    try:
        before = read_file(asked.file)
        text = sys.stdin.buffer.read() if asked.text == "-" else read_file(Path(asked.text))
    except OSError as error:
        wrong_use(f"{error.filename or asked.file}: {error.strerror}")
    gate = EditGate(folder_of(asked.file))
    path = asked.file.resolve().relative_to(gate.root).as_posix()
    judged: list[NamedVerdict] = []
    open_: dict[str, list[str]] = {}
    try:
        with gate.changed(path, text) as (changed, _after), Worker() as worker:
            judgements = gate.judged(
                changed,
                lambda request, file, name: fresh.judge(request, file, name, worker),
                device,
                options,
                show_mutants,
            )
            for one, needs in judgements:
                clear()
                if not run.as_json:
                    click.echo(show(one))
                judged.append(one)
                if needs:
                    open_[one.kernel] = needs
    except UnreadFileError as error:
        clear()
        click.echo(f"{error}; nothing was written. Split the file.", err=True)
        sys.exit(ExitCode.NOT_JUDGED)
    why = _why_not(asked, before, judged, open_)
    if not why:
        write_atomically(asked.file.resolve(), text, asked.file.stat().st_mode & 0o777)
    message = why or f"{asked.file} was written: all that it changes is accepted."
    if run.as_json:
        document = GateEditDocument(
            file=path,
            source_sha256=hashlib.sha256(before).hexdigest(),
            verdicts=[one.verdict for one in judged if isinstance(one.verdict, KernelVerdict)],
            conditions=open_,
            written=not why,
            reason=message,
        )
        click.echo(document.model_dump_json(indent=2))
    else:
        click.echo(message)
    return judged


def _why_not(asked: EditAsked, before: bytes, judged: list[NamedVerdict], open_: dict[str, list[str]]) -> str:
    """Why the file is not written; "" when it is."""
    if not judged:
        return f"The edit changes no kernel, so there is nothing to gate; {asked.file} was not written."
    bad = next((one for one in judged if one.verdict.standing is not Standing.ACCEPTED), None)
    if bad is not None:
        return f"{bad.kernel} is {bad.verdict.standing.label}; {asked.file} was not written."
    if open_:
        kernel, needs = next(iter(open_.items()))
        return (
            f"{kernel} is accepted only if {' and '.join(needs)}, which the old code does not need and nothing "
            f"establishes; {asked.file} was not written. Promise it in the workload."
        )
    if not asked.write:
        return f"All that it changes is accepted. {asked.file} was not written; --write writes it."
    if read_file(asked.file) != before:
        return f"{asked.file} has changed since it was read; nothing was written. Gate it again."
    return ""
