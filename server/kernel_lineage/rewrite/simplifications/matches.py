"""Edits by pattern, within a kernel and the device functions that it reaches; comments and literals never match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kernel_lineage.kernels.cuda_text import blank_literals, closing, split, trim
from kernel_lineage.kernels.source import Kernel, Language, Span
from kernel_lineage.rewrite.candidate import Edit

Rewrite = Callable[["re.Match[str]"], str | None]
"""A match → the text in its place; None leaves it as it is."""


def edits_of(kernel: Kernel, pattern: str, rewrite: Rewrite, group: str | int = 0) -> tuple[Edit, ...]:
    """Every match of a pattern, or the group of it that is named, rewritten; in the order of the file.

    Comments and literals of CUDA C++ are blanks for the pattern.
    """
    source = kernel.source
    if source is None:
        return ()
    data = source.data
    masked = blank_literals(data) if kernel.language is Language.CUDA else data
    text = masked.decode("latin-1")  # one character a byte
    found = []
    for start, end in _units(kernel):
        for match in re.compile(pattern).finditer(text, start, end):
            new = rewrite(match)
            if new is not None:
                found.append(Edit(_span(data, *match.span(group)), new))
    return tuple(found)


def calls_of(kernel: Kernel, names: str, rewrite: Callable[[str, list[str]], str | None]) -> tuple[Edit, ...]:
    """Every call of a function whose name matches, rewritten from its name and arguments; outermost calls only."""
    source = kernel.source
    if source is None:
        return ()
    data = source.data
    code = blank_literals(data)
    pattern = re.compile(rf"\b({names})\s*(?=\()".encode())
    found: list[Edit] = []
    for start, end in _units(kernel):
        at = start
        while match := pattern.search(code, at, end):
            at = match.end()
            after = closing(code, at)
            if after is None:
                continue
            places = (trim(code, *place) for place in split(code, at + 1, after))
            arguments = [data[first:last].decode("utf-8", "replace") for first, last in places]
            new = rewrite(match[1].decode(), arguments)
            if new is not None:
                found.append(Edit(_span(data, match.start(), after + 1), new))
                at = after + 1
    return tuple(found)


def _units(kernel: Kernel) -> Iterator[tuple[int, int]]:
    source = kernel.source
    functions = source.device_functions if source is not None else ()
    reached = [f.span for f in functions if f.name in kernel.device_functions]
    yield from sorted((span.start, span.end) for span in (kernel.span, *reached))


def _span(data: bytes, start: int, end: int) -> Span:
    first = data.count(b"\n", 0, start) + 1
    return Span(start, end, first, first + data.count(b"\n", start, end))
