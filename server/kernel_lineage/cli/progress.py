"""Progress on stderr: a bar on a terminal; elsewhere nothing, or a line for each piece of long work.

With `KLINEAGE_PROGRESS=json` whoever started the command reads it: each line is one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kernel_lineage.history.mine import Progress

LINES = "KLINEAGE_PROGRESS"
"""The variable that asks for lines; `json` is the one form that there is."""


def as_lines() -> bool:
    """Whether progress is read by a program."""
    return os.environ.get(LINES) == "json"


def line(stage: str, message: str, share: float) -> None:
    """Tell a program how far a stage is, as a share of it."""
    event = {"stage": stage, "message": message, "share": round(share, 3)}
    click.echo(json.dumps(event, ensure_ascii=False), err=True)


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """Something to tell (stage, done, total) while the block runs; None when stderr is no terminal."""
    if as_lines():
        yield lambda stage, done, total: line(stage, f"{done} of {total}", done / max(total, 1))
        return
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    from kernel_lineage.cli import terminal

    columns = (TextColumn("{task.description:>8}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=terminal.console(err=True), transient=True) as bars:
        tasks = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield show


@contextmanager
def finished_lines() -> Iterator[Callable[[int, int, str], None]]:
    """Something to tell (done, total, line) when a piece of long work is finished; it says how long the rest takes.

    On a terminal a bar stays below the lines; elsewhere each line carries its number.
    """
    started = time.monotonic()

    def left(done: int, total: int) -> str:
        seconds = (time.monotonic() - started) / done * (total - done)
        return "" if done == total else f"about {_duration(seconds)} left"

    if not sys.stderr.isatty():

        def written(done: int, total: int, line: str) -> None:
            rest = left(done, total)
            click.echo(f"{done}/{total} {line}" + (f"  ({rest})" if rest else ""), err=True)

        yield written
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    from kernel_lineage.cli import terminal

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Bars(*columns, console=terminal.console(err=True), transient=True) as bars:
        task = bars.add_task("", total=None)

        def shown(done: int, total: int, line: str) -> None:
            bars.console.print(line, soft_wrap=True)
            bars.update(task, completed=done, total=total, description=left(done, total))

        yield shown


def _duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
