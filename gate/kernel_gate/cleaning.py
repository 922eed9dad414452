"""Cleaning what comes from outside (names, subjects, exceptions, a model's words), by the place where it is shown.

Imports nothing of the gate. Escape sequences, other control characters, and characters that are invisible or turn the
direction of writing become visible: `\\u001b`, `\\u202e`.
"""

from __future__ import annotations

import html
import logging
import re
import traceback
from types import TracebackType
from typing import Literal, TextIO, TypeAlias

Sink = Literal["terminal", "markdown", "html", "xml", "log"]
_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\uffff"
    r"\U000e0000-\U000e0fff]"
)
_OURS = re.compile(r"(\x1b\[[0-9;]{0,20}[mKA]|\x1b\[\?25[lh]|\r(?=\x1b\[K)|\r(?=\n))")
"""What our own progress bars and colours write to a terminal."""


def cleaned(text: str, sink: Sink, *, lines: bool = True) -> str:
    """A text that does nothing at the sink but be read; without `lines` it is one line."""
    if not lines:
        text = text.replace("\n", " ")
    text = _HIDDEN.sub(_visible, text)
    if sink == "log":
        return text.replace("\n", "\\n")
    if sink == "markdown":
        return html.escape(text, quote=False)
    if sink in {"html", "xml"}:
        return html.escape(text)
    return text


class CleanStream:
    """A terminal or a pipe that is written to through `cleaned`; our own colours pass on a terminal alone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what is left of a text; gives its length, as streams do."""
        if self._stream.isatty():
            parts = _OURS.split(text)
            text_out = "".join(p if i % 2 else cleaned(p, "terminal") for i, p in enumerate(parts))
        else:
            text_out = cleaned(text, "terminal")
        self._stream.write(text_out)
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


_Exception: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


class CleanFormatter(logging.Formatter):
    """One line for each record, in which what comes from outside does nothing; an exception is named with its place."""

    def format(self, record: logging.LogRecord) -> str:
        return cleaned(super().format(record), "log")

    def formatException(self, ei: _Exception) -> str:  # noqa: N802 - logging's name
        last = traceback.extract_tb(ei[2])[-1:]
        places = "".join(f" ({frame.filename}:{frame.lineno})" for frame in last)
        return f"{ei[0].__name__ if ei[0] else ''}: {ei[1]}{places}"


def _visible(match: re.Match[str]) -> str:
    """As JSON writes it, so that a document stays the same document."""
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
