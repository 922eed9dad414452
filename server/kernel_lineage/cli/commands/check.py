"""`klineage check FILE[:KERNEL]`: whether kernels are right as they stand, on the emulated device."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from kernel_lineage.cli.record_option import record_option

_DRAFT = 0.75
"""The share of the time that a draft may take."""


@click.command()
@click.argument("target", metavar="FILE[:KERNEL]")
@click.option(
    "--seconds",
    type=click.FloatRange(min=1, max=3600),
    default=60.0,
    show_default=True,
    help="For all kernels of the file together.",
)
@record_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (klineage schema check).")
def command(target: str, seconds: float, record: bool, as_json: bool) -> None:
    """Check a kernel, or every kernel of FILE, as it stands: wrong elements, races, bounds, barriers.

    Beside the committed version where there is one, with the repository's workload or one that is drafted on the
    spot. No GPU is needed and nothing is timed.

    Exit status: 0 all right, 1 something wrong, 2 wrong use, 5 something could not be judged.
    """
    from kernel_gate.options import GateOptions
    from kernel_gate.worker import Worker
    from kernel_lineage.cli.gate_run import clear, progress_of
    from kernel_lineage.editor.checked import checked_document
    from kernel_lineage.kernels.naming import earlier_namesake, own_name
    from kernel_lineage.learning.check_document import FileCheckDocument, exit_code, lines_of
    from kernel_lineage.learning.checked_file import Asked, CheckedKernel, checked_kernel
    from kernel_lineage.skills.target import read_target
    from kernel_lineage.workloads.on_the_spot import Spots
    from kernel_lineage.workloads.recording.recorder import recorder_for
    from kernel_lineage.workloads.saved import folder_of
    from kernel_lineage.workloads.state import State

    meant = read_target(target)
    path = str(meant.path)
    report = progress_of(Path(path).name) or (lambda _stage, _what, _share: None)
    deadline = time.monotonic() + seconds
    state = State(folder_of(meant.path))
    recorder = recorder_for(meant.path) if record else None  # one for all kernels: host code is built once

    def left() -> float:
        return max(1.0, deadline - time.monotonic())

    def checked(asked: Asked, worker: Worker) -> CheckedKernel:
        if time.monotonic() > deadline:
            return CheckedKernel(asked, None, None, f"the {seconds:g} seconds were spent on others before")
        spots = Spots(asked.path, asked.name, state, recorder)
        return checked_kernel(
            asked,
            lambda: spots.first(_DRAFT * left()),
            lambda request: worker.judge(request.within(left()), timeout=left(), on_progress=report),
            GateOptions(),
            mended=lambda verdict: spots.after(verdict, _DRAFT * left()),
        )

    kernels = []
    with Worker() as worker:
        for kernel in meant.kernels:
            asked = Asked(meant.path, meant.source.data, own_name(kernel), kernel.span.first_line)
            why_not = "" if asked.name else earlier_namesake(kernel) or ""
            one = checked_document(
                CheckedKernel(asked, None, None, why_not) if why_not else checked(asked, worker)
            )
            clear()
            kernels.append(one)
            if not as_json:
                click.echo("\n".join(lines_of(path, one)))
    if as_json:
        click.echo(FileCheckDocument(file=path, kernels=kernels).model_dump_json(indent=2))
    sys.exit(exit_code(kernels))
