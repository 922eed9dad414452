"""Sizes that no host code writes out: numbers that a program comes to by itself, such as the length of a text it made.

Where a program launches a kernel several times with other numbers, and buffers or the grid follow them, they are sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kernel_gate.dtypes import DTYPES as ELEMENTS
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.recording.launches import Launch
from kernel_lineage.workloads.recording.pieces import Piece
from kernel_lineage.workloads.recording.series import Fitted, Series, steadied


def with_own_numbers(
    series: Series, pieces: Sequence[Piece], followed: Sequence[Callable[[Launch], int | None]]
) -> Series:
    """The series with the numbers among its sizes by which the program's other launches differ; `followed` are what may
    follow them: elements of buffers and extents of the grid. The series itself where nothing does.
    """
    own = [p for p in pieces if p.name not in series.sizes and _moves_by_itself(p, series)]
    if not own:
        return series

    def sizes_of(launch: Launch) -> dict[str, int]:
        return {p.name: int(p.number(launch)) for p in own}

    base = series.samples[0][0]
    samples = [({**sizes, **sizes_of(run)}, run) for sizes, run in series.samples]
    samples += [({**base, **sizes_of(run)}, run) for run in series.beside]
    whole = replace(series, sizes={**series.sizes, **sizes_of(series.first)}, samples=tuple(samples))
    fit = steadied(whole, list(followed))
    texts = [text for one in followed if (text := fit.tried(one)) is not None]
    used = {word for text in texts for word in WORD.findall(text)} - fit.steady
    return whole if used & {p.name for p in own} else series


def _moves_by_itself(piece: Piece, series: Series) -> bool:
    """Whether a whole number follows no size that host code writes out, and is another one at another launch."""
    if piece.pointer or piece.nameless or piece.dtype is None or ELEMENTS[piece.dtype].is_float:
        return False
    values = [int(piece.number(run)) for run in (series.first, *series.beside)]
    text = Fitted(series).tried(lambda run: int(piece.number(run)))
    return min(values) > 0 and len(set(values)) > 1 and (text is None or text.isdigit())
