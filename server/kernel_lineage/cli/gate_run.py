"""How `klineage gate` comes by a verdict, and what it shows meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from kernel_gate.standing import ExitCode
from kernel_lineage.cli.live_line import show_line
from kernel_lineage.cli.progress import as_lines, line

if TYPE_CHECKING:
    from kernel_gate.fleet.pool import Pool
    from kernel_gate.request import GateRequest
    from kernel_gate.verdict import Stage, Verdict
    from kernel_gate.worker import Worker


@dataclass(frozen=True, slots=True)
class GateRun:
    """How verdicts are come by and shown."""

    timeout: float
    no_cache: bool
    as_json: bool
    narrow_seconds: float = 0.0
    """For asking where a candidate that is rejected is right; 0: not asked."""
    record: bool = True
    """Whether host code is run where reading leaves a drafted workload open."""

    def judge(self, request: GateRequest, candidate: Path, name: str, worker: Worker | Pool) -> Verdict:
        """The verdict on a request, which may be an earlier one on the same question."""
        from kernel_lineage.rewrite.verdict_cache import judge_cached

        def anew(asked: GateRequest, on_stage: Callable[[Stage], None]) -> Verdict:
            return worker.judge(asked, timeout=self.timeout, on_progress=progress_of(name), on_stage=on_stage)

        if self.no_cache:
            return anew(request, lambda _stage: None)
        return judge_cached(request, candidate, anew, lambda note: click.echo(note, err=True))


def wrong_use(message: str) -> NoReturn:
    """Say what is wrong with the command line, and end."""
    clear()
    click.echo(message, err=True)
    sys.exit(ExitCode.WRONG_USE)


def clear() -> None:
    """Take the line of progress off the terminal."""
    show_line("")


def progress_of(name: str) -> Callable[[str, str, float], None] | None:
    """Something to tell (stage, what, share) of a run; None where nobody looks."""
    if as_lines():
        return lambda stage, what, share: line(stage, f"{name}: {what}", share)
    if not sys.stderr.isatty():
        return None

    def show(stage: str, what: str, share: float) -> None:
        show_line(f"{name} {stage} {share:4.0%}  {what}")

    return show
