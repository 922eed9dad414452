"""The candidate for an address that overflows: every guilty operation in 64 bits, until the source shows none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from kernel_gate.workload import Workload
from kernel_lineage.kernels.edits import differing_lines, edited
from kernel_lineage.proofs.obligations.obligation import Kind, Status
from kernel_lineage.rewrite.repairs import Repair
from kernel_lineage.rewrite.widening import NotWidenableError, widened

PATIENT_MS = 2000
"""For one question, where a person waits for a repair."""
Operation = tuple[int, str]
"""The line of an operation, and its text."""
_ROUNDS = 8
"""An operation that fits now may hand its value to one that does not."""


def in_64_bits(path: Path, text: bytes, kernel: str, workload: Workload) -> Iterator[Repair]:
    """The candidate, if there is one. Raises `SolverMissingError`, and as proofs do."""
    from kernel_lineage.editor.proving import answered

    def guilty(wide: bytes) -> set[Operation]:
        causes: set[Operation] = set()
        for answer in answered(path, wide, kernel, workload, limit_ms=PATIENT_MS):
            if answer.obligation.kind is not Kind.OVERFLOW:
                break  # overflows are asked for first
            if answer.obligation.status is Status.REFUTED and answer.obligation.cause is not None:
                causes.add(answer.obligation.cause)
        return causes

    steps: list[Operation] = []
    try:
        wide = text
        while len(steps) < _ROUNDS and (causes := guilty(wide)):
            steps.append(min(causes))  # what is computed from it may fit then
            wide = _wide(path, wide, kernel, steps[-1:])
    except NotWidenableError:
        return
    for step in steps[:-1]:  # an example may have shown first what only adds to the guilty one
        fewer = [other for other in steps if other != step]
        with suppress(NotWidenableError):
            if not guilty(narrower := _wide(path, text, kernel, fewer)):
                wide, steps = narrower, fewer
    if steps:
        titles = ", ".join(dict.fromkeys(f"`{operation}`" for _, operation in steps))
        yield Repair(f"{titles} in 64 bits", tuple(differing_lines(wide.decode(), text.decode())))


def _wide(path: Path, text: bytes, kernel: str, operations: Iterable[Operation]) -> bytes:
    """The text with some operations in 64 bits. Raises `NotWidenableError`."""
    from kernel_lineage.workloads.files import kernel_of

    for line, operation in operations:
        text = edited(text, widened(kernel_of(path, kernel, text), line, operation))
    return text
