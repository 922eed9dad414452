"""Mechanisms and guards of a version; run as a module, it answers batches of tasks on stdin (see `workers`)."""

from __future__ import annotations

import gc
import json
import signal
import sys
import textwrap
from typing import BinaryIO

from kernel_lineage.history.facts import Facts, GuardFact, Task
from kernel_lineage.history.launchable import launch_line
from kernel_lineage.history.narrowings import narrowings
from kernel_lineage.history.rows import facts_row
from kernel_lineage.kernels.guards import guards_of
from kernel_lineage.kernels.mechanisms.registry import mechanisms_of
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
    kernel = read(text.encode("utf-8", "replace"), task.language).kernel(task.symbol)
    if kernel is None:
        text += launch_line(text, task.symbol, task.language)
        kernel = read(text.encode("utf-8", "replace"), task.language).kernel(task.symbol)
    if kernel is None:
        return Facts()
    guards = []
    for guard in guards_of(kernel):
        line = guard.span.first_line
        part_index = max((i for i, start in enumerate(starts) if start <= line), default=0)
        guards.append(
            GuardFact(
                guard.expr,
                guard.kind,
                guard.where,
                part_index,
                max(0, line - starts[part_index]),
                guard.leaves,
            )
        )
    if task.device_code:
        for index, part in enumerate(task.parts):
            guards += narrowings(part, index, task.language)
    sites = mechanisms_of(kernel) if task.device_code else ()
    return Facts(tuple(sorted({site.mechanism for site in sites})), tuple(guards))


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers one batch of tasks per line with one line of facts, until there are no more."""
    for line in requests:
        tasks = [
            Task(d, Language(language), symbol, tuple(parts), device_code)
            for d, language, symbol, parts, device_code in json.loads(line)
        ]
        answers.write(json.dumps([facts_row(analyse(task)) for task in tasks]).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    gc.set_threshold(
        100_000
    )  # trees are large and short-lived; collecting every 700 objects costs a tenth of the time
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle; it closes stdin
    serve(sys.stdin.buffer, sys.stdout.buffer)
