"""The candidate for an address that overflows: every guilty operation in 64 bits, until the source shows none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kernel_lineage.kernels.edits import differing_lines, edited
from kernel_lineage.proofs.obligations.obligation import Kind, Status
from kernel_lineage.rewrite.repairs import Repair
from kernel_lineage.rewrite.widening import NotWidenableError, widened

PATIENT_MS = 2000
"""For one question, where a person waits for a repair."""
_ROUNDS = 8
"""An operation that fits now may hand its value to one that does not."""


def in_64_bits(path: Path, text: bytes, kernel: str) -> Iterator[Repair]:
    """The candidate, if there is one. Raises `SolverMissingError`, and as proofs do."""
    from kernel_lineage.editor.checking import drafts
    from kernel_lineage.editor.proving import answered
    from kernel_lineage.workloads.files import kernel_of

    workload = drafts().workload_of(path, text, kernel).workload
    wide = text
    titles: dict[str, None] = {}
    for _ in range(_ROUNDS):
        causes: dict[tuple[int, str], None] = {}
        for answer in answered(path, wide, kernel, workload, limit_ms=PATIENT_MS):
            if answer.obligation.kind is not Kind.OVERFLOW:
                break  # overflows are asked for first
            if answer.obligation.status is Status.REFUTED and answer.obligation.cause is not None:
                causes[answer.obligation.cause] = None
        if not causes:
            break
        now = kernel_of(path, kernel, wide)
        line, operation = min(causes)  # what is computed from it may fit then
        try:
            wide = edited(wide, widened(now, line, operation))
        except NotWidenableError:
            return
        titles[f"`{operation}`"] = None
    if wide != text:
        yield Repair(f"{', '.join(titles)} in 64 bits", tuple(differing_lines(wide.decode(), text.decode())))
