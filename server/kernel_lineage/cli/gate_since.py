"""`klineage gate --since`: what is judged on, and how the verdicts are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from kernel_gate.reporting.text import render
from kernel_gate.standing import Standing
from kernel_lineage.cli.gate_run import GateRun, clear, wrong_use

if TYPE_CHECKING:
    from kernel_gate.fleet.pool import Pool
    from kernel_gate.options import GateOptions
    from kernel_gate.reporting.named import NamedVerdict

Device = Literal["auto", "cuda", "emulated"]


@dataclass(frozen=True, slots=True)
class Where:
    """On what the verdicts of `--since` are made."""

    device: Device
    jobs: int | None
    cluster: str | None

    @contextmanager
    def pool(self) -> Iterator[Pool]:
        """Workers here or elsewhere. Raises `ClusterError`, and `DeviceError` for a GPU that is not there."""
        from kernel_gate.fleet.beside import GpusAndProcessor
        from kernel_gate.fleet.elsewhere import elsewhere
        from kernel_gate.fleet.places import emulated_places, places
        from kernel_gate.fleet.pool import LocalPool

        if self.cluster is not None:
            with elsewhere(self.cluster, self.jobs) as pool:
                yield pool
            return
        devices = emulated_places(self.jobs) if self.device == "emulated" else places(self.device)
        here = LocalPool(devices[: self.jobs])
        with GpusAndProcessor(here) if any(place.is_gpu for place in devices) else here as pool:
            yield pool


def gate_since(
    since: str, files: tuple[Path, ...], device: Device, options: GateOptions, run: GateRun, where: Where
) -> list[NamedVerdict]:
    """Judge and show what changed; the verdicts. Raises `DeviceError`."""
    from kernel_gate.fleet.travelling import ClusterError
    from kernel_lineage.history.git import RepositoryError, open_repository
    from kernel_lineage.learning.gate_changes import GateChangesDocument, KernelVerdict, gate_changes
    from kernel_lineage.learning.gated_edits import EditGate
    from kernel_lineage.rewrite.proving.both import proving

    judged: list[NamedVerdict] = []
    try:
        repository = open_repository(Path.cwd())
        top = repository.top.resolve()
        for file in files:
            if not file.resolve().is_relative_to(top):
                wrong_use(f"{file} is not in {top}")
        wanted = [file.resolve().relative_to(top).as_posix() for file in files]
        with where.pool() as pool:
            named_verdicts = gate_changes(
                repository,
                since,
                wanted,
                proving(lambda request, candidate, name: run.judge(request, candidate, name, pool)),
                device=device,
                options=options,
                at_once=pool.size,
                keep=EditGate(top).keep,
                say=lambda line: click.echo(line, err=True),
                record=run.record,
            )
            judged.extend(_reporting(named_verdicts, run))
    except (RepositoryError, ClusterError) as error:
        wrong_use(str(error))
    verdicts = [one.verdict for one in judged if isinstance(one.verdict, KernelVerdict)]
    if run.as_json:
        click.echo(GateChangesDocument(since=since, verdicts=verdicts).model_dump_json(indent=2))
    else:
        click.echo(_table(verdicts) if verdicts else f"No kernel changed since {since}.")
    return judged


def _reporting(verdicts: Iterable[NamedVerdict], run: GateRun) -> Iterator[NamedVerdict]:
    for one in verdicts:
        clear()
        if not run.as_json:
            click.echo(show(one))
        yield one


def show(one: NamedVerdict) -> str:
    """One verdict of several, with what it is about."""
    return f"{one.title}, {one.baseline}:\n{render(one.verdict)}\n"


def _table(verdicts: list[Any]) -> str:
    """A line for each verdict, what is worst first, and how many there are of each standing."""
    ordered = sorted(verdicts, key=lambda v: list(Standing).index(v.standing))
    rows = [("", "kernel", "file", "why")]
    for verdict in ordered:
        speed = f"{verdict.speedup.median:.3f}×" if verdict.speedup is not None else ""
        code = verdict.code.value if verdict.code is not None else ""
        rows.append((verdict.standing.label, verdict.kernel, verdict.file, speed or code))
    wide = [max(len(row[column]) for row in rows) + 2 for column in range(3)]
    lines = ["".join(cell.ljust(w) for cell, w in zip(row, wide, strict=False)) + row[3] for row in rows]
    counted = [(sum(v.standing is s for v in verdicts), s.label) for s in Standing]
    return "\n".join([*lines, "", ", ".join(f"{number} {label}" for number, label in counted if number)])
