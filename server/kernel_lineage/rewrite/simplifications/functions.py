"""Edits of whole functions: the kernel and the device functions that it reaches, each rewritten as one text.

What a rewrite needs beside them (a device function of its own) is put before the first of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from kernel_lineage.kernels.cuda_text import blank_literals, closing, split, trim
from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.rewrite.candidate import Edit

Transform = Callable[[str], str | None]
"""A function's text → its new text; None where it cannot be rewritten, and then nothing is."""
Call = Callable[[str, list[str]], str | None]
"""Name and arguments of a call → the text in its place; None leaves it as it is."""
Rewrite = Callable[["re.Match[str]"], str | None]
"""A match → the text in its place; None leaves it as it is."""


def functions_rewritten(kernel: Kernel, transform: Transform, needs: str = "") -> tuple[Edit, ...]:
    """Every function that changes; `needs` is put before the first one. Nothing where one cannot be rewritten."""
    source = kernel.source
    if source is None:
        return ()
    spans = [f.span for f in source.device_functions if f.name in kernel.device_functions]
    edits: list[Edit] = []
    for span in sorted((kernel.span, *spans), key=lambda s: s.start):
        text = source.text(span)
        new = transform(text)
        if new is None:
            return ()
        if new != text:
            edits.append(Edit(span, new))
    if edits and needs:
        first = min((kernel.span, *spans), key=lambda s: s.start)
        edits.insert(0, Edit(Span(first.start, first.start, first.first_line, first.first_line), needs))
        if len(edits) > 1 and edits[1].span.start == first.start:
            # Two edits at one place are one.
            edits[:2] = [replace(edits[1], text=needs + edits[1].text)]
    return tuple(edits)


def calls_replaced(text: str, names: str, rewrite: Call) -> str:
    """Every call of a function whose name matches, inner ones first."""
    data = text.encode()
    code = blank_literals(data)
    pattern = re.compile(rf"(?<![\w.>])({names})\s*(?=\()".encode())
    parts: list[str] = []
    done = 0
    while match := pattern.search(code, done):
        after = closing(code, match.end())
        if after is None:
            break
        places = [trim(code, *place) for place in split(code, match.end() + 1, after)]
        inner = [calls_replaced(data[a:b].decode(), names, rewrite) for a, b in places]
        new = rewrite(match[1].decode(), inner)
        if new is None:
            new = data[match.start() : match.end() + 1].decode() + ", ".join(inner) + ")"
        parts += [data[done : match.start()].decode(), new]
        done = after + 1
    return "".join([*parts, data[done:].decode()])


def pattern_replaced(
    text: str, pattern: str, new: str | Rewrite, group: str | int = 0, *, in_literals: bool = False
) -> str:
    """Every match, or the group of it that is named, replaced; comments and literals do not match, unless they may.

    `new` is a template of `re`, or gives the text for a match, None to leave it.
    """
    data = text.encode()
    raw = data.decode("latin-1")  # one character a byte
    parts: list[str] = []
    done = 0
    for match in re.finditer(pattern, raw if in_literals else blank_literals(data).decode("latin-1")):
        whole = re.compile(pattern).match(raw, match.start())
        if whole is None or whole.end() != match.end():
            continue
        made = whole.expand(new) if isinstance(new, str) else new(whole)
        if made is not None:
            parts += [raw[done : whole.start(group)], made]
            done = whole.end(group)
    return "".join([*parts, raw[done:]]).encode("latin-1").decode()


def seen_in(text: str, pattern: str) -> bool:
    """Whether a pattern stands in a text outside of comments and literals."""
    return re.search(pattern, blank_literals(text.encode()).decode("latin-1")) is not None
