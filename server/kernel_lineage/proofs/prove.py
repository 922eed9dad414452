"""All obligations of one kernel in one setting, each proved, refuted or undecided."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from kernel_gate.expr.solver import LIMIT_MS
from kernel_lineage.code.cuda.read import read_cuda
from kernel_lineage.code.model import Model
from kernel_lineage.code.setting import Setting
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.proofs.obligations.alignment import aligned
from kernel_lineage.proofs.obligations.asking import Questions
from kernel_lineage.proofs.obligations.bank_conflicts import no_bank_conflicts
from kernel_lineage.proofs.obligations.hints import hints
from kernel_lineage.proofs.obligations.in_bounds import in_bounds
from kernel_lineage.proofs.obligations.obligation import Obligation, Status
from kernel_lineage.proofs.obligations.overflow import no_overflow
from kernel_lineage.proofs.obligations.written import written
from kernel_lineage.proofs.obligations.written_once import written_once
from kernel_lineage.proofs.triton.read import read_triton

Kinds: TypeAlias = Sequence[Callable[[Questions], Iterator[Obligation]]]
KINDS: Kinds = (
    in_bounds,
    aligned,
    written,
    written_once,
    no_bank_conflicts,
    no_overflow,
    hints,
)
_WORST = (Status.REFUTED, Status.UNDECIDED, Status.PROVED)


def read_model(kernel: Kernel, setting: Setting, lines: Mapping[int, int]) -> Model:
    """The model of a kernel. Raises `UnreadableError`."""
    if kernel.language is Language.CUDA:
        return read_cuda(kernel, setting, lines)
    return read_triton(kernel, setting)


def prove(
    kernel: Kernel,
    setting: Setting,
    *,
    lines: Mapping[int, int] | None = None,
    limit_ms: int = LIMIT_MS,
    kinds: Kinds = KINDS,
) -> tuple[Obligation, ...]:
    """Every obligation, by line; of one access on several paths the worst counts. Takes and raises as `in_turn`."""
    return worst_by_place(in_turn(kernel, setting, lines=lines, limit_ms=limit_ms, kinds=kinds))


def in_turn(
    kernel: Kernel,
    setting: Setting,
    *,
    lines: Mapping[int, int] | None = None,
    limit_ms: int = LIMIT_MS,
    kinds: Kinds = KINDS,
) -> Iterator[Obligation]:
    """Each obligation as it ends, of one access on several paths each by itself; who asks may stop at any one.

    `lines` maps the lines of the kernel's text to those to report, where they differ. Raises `UnreadableError` for a
    kernel without a syntax tree, `SolverMissingError` without Z3.
    """
    questions = Questions(read_model(kernel, setting, lines or {}), setting, limit_ms)
    for kind in kinds:
        yield from _timed(kind(questions))


def _timed(obligations: Iterator[Obligation]) -> Iterator[Obligation]:
    started = time.monotonic()
    for obligation in obligations:
        yield replace(obligation, seconds=round(time.monotonic() - started, 4))
        started = time.monotonic()


def worst_by_place(obligations: Iterable[Obligation]) -> tuple[Obligation, ...]:
    """The obligation of each place that ended worst, by line."""
    places: dict[tuple[str, int, str, str], list[Obligation]] = {}
    for obligation in obligations:
        key = (obligation.kind, obligation.line, obligation.expression, obligation.root)
        places.setdefault(key, []).append(obligation)
    worst = (
        replace(
            min(same, key=lambda o: _WORST.index(o.status)), seconds=round(sum(o.seconds for o in same), 4)
        )
        for same in places.values()
    )
    return tuple(sorted(worst, key=lambda o: (o.line, o.expression, o.kind)))
