"""Mechanisms and guards of a version; run as a module, it answers batches of tasks on stdin (see `workers`)."""

from __future__ import annotations

import gc
import json
import signal
import sys
import textwrap
from typing import BinaryIO

from kernel_lineage.history.facts import FACTS, Facts, GuardFact, OccurrenceFact, Task
from kernel_lineage.history.launchable import launch_line
from kernel_lineage.history.narrowings import narrowings
from kernel_lineage.kernels.budget import MOST_LAUNCHES, beyond_budget
from kernel_lineage.kernels.guards import guards_of
from kernel_lineage.kernels.mechanisms.registry import mechanisms_of, occurrences
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language

_PRELUDE = {
    Language.TRITON: "import torch\nimport triton\nimport triton.language as tl\n",
    Language.CUDA: "",
}


def analyse(task: Task) -> Facts:
    """The facts of one version. Code that cannot be read has none."""
    text = _PRELUDE[task.language]
    starts: list[int] = []
    for part in task.parts:
        starts.append(text.count("\n") + 1)
        text += textwrap.dedent(part).rstrip("\n") + "\n\n"
    data = text.encode("utf-8", "replace")
    if cut := beyond_budget(data, task.language):
        return Facts(cut=cut)
    kernel = read(data, task.language).kernel(task.symbol)
    if kernel is None:
        text += launch_line(text, task.symbol, task.language)
        kernel = read(text.encode("utf-8", "replace"), task.language).kernel(task.symbol)
    if kernel is None:
        return Facts()
    cut = ""
    if len(kernel.launches) > MOST_LAUNCHES:
        cut = f"{len(kernel.launches)} launch sites: only around the first {MOST_LAUNCHES} are conditions looked for"
    guards = [
        GuardFact(g.expr, g.kind, g.where, *_place(g.span.first_line, starts), g.leaves)
        for g in guards_of(kernel)
    ]
    if task.device_code:
        for index, part in enumerate(task.parts):
            guards += narrowings(part, index, task.language)
    sites = mechanisms_of(kernel) if task.device_code else ()
    return Facts(
        tuple(
            OccurrenceFact(
                o.mechanism, o.root, o.parameters, tuple(_place(n, starts) for n in o.lines), o.certain
            )
            for o in occurrences(sites)
        ),
        tuple(guards),
        cut,
    )


def _place(line: int, starts: list[int]) -> tuple[int, int]:
    """Which part a line of the joined text lies in, and the line counted from the part's first."""
    part = max((i for i, start in enumerate(starts) if start <= line), default=0)
    return part, max(0, line - starts[part])


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers one batch of tasks per line with one line of facts, until there are no more."""
    for line in requests:
        tasks = [
            Task(d, Language(language), symbol, tuple(parts), device_code)
            for d, language, symbol, parts, device_code in json.loads(line)
        ]
        answers.write(json.dumps([FACTS.row(analyse(task)) for task in tasks]).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    gc.set_threshold(
        100_000
    )  # trees are large and short-lived; collecting every 700 objects costs a tenth of the time
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle; it closes stdin
    serve(sys.stdin.buffer, sys.stdout.buffer)
