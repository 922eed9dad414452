"""Sizes that no host code writes out: numbers that a program comes to by itself, such as the length of a text it made.

Where a program launches a kernel several times with other numbers, and buffers or the grid follow them, they are sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

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


def with_row_ends(series: Series, pieces: Sequence[Piece], dtypes: Sequence[str | None]) -> Series:
    """The series with the ends of rows among its sizes, where a program comes to them by itself: what the last of some
    offsets is, as where rows of drawn lengths begin, has the name of the number that is passed for it, or `NAME_end`.
    """
    for piece, dtype in zip(pieces, dtypes, strict=True):
        end = partial(_row_end, piece, dtype)
        ends = [end(run) for _, run in series.samples]
        whole = [e for e in ends if e is not None and e > 0]
        if len(whole) < len(ends) or len({*whole}) == 1 or Fitted(series).tried(end) is not None:
            continue
        passed = (
            p for p in pieces if not p.pointer and p.dtype is not None and not ELEMENTS[p.dtype].is_float
        )
        runs = [run for _, run in series.samples]
        name = next((p.name for p in passed if [*map(p.number, runs)] == whole), f"{piece.name}_end")
        samples = tuple(
            ({**sizes, name: e}, run) for (sizes, run), e in zip(series.samples, whole, strict=True)
        )
        sizes = {**series.sizes, name: whole[0]}
        series = replace(series, sizes=sizes, samples=samples, ends=series.ends | {name})
    return series


def _row_end(piece: Piece, dtype: str | None, run: Launch) -> int | None:
    """The last of a buffer's elements that ascend from 0; None for others."""
    held = piece.held(run) if piece.pointer and dtype is not None else None
    if held is None or dtype is None or ELEMENTS[dtype].is_float or held.how != "data":
        return None
    elements = held.range_as(dtype)
    ascends = elements is not None and elements.ascends and elements.low == 0
    return int(elements.high) if elements is not None and ascends else None


def _moves_by_itself(piece: Piece, series: Series) -> bool:
    """Whether a whole number follows no size that host code writes out, and is another one at another launch."""
    if piece.pointer or piece.nameless or piece.dtype is None or ELEMENTS[piece.dtype].is_float:
        return False
    values = [int(piece.number(run)) for run in (series.first, *series.beside)]
    text = Fitted(series).tried(lambda run: int(piece.number(run)))
    return min(values) > 0 and len(set(values)) > 1 and (text is None or text.isdigit())
