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
_LINKING = re.compile(
    r"(?P<element>\w\[[^\[\]\n]*\](?=:))|\](?=[(:])|<(?=[A-Za-z/!?])|(?i:\bhttps?|\bftp)://(?=\S)|(?i:\bwww)\.(?=\S)|(?<=[\w.+-])@(?=[\w-]+\.)"
)
"""Where a link (a bare address is one), an image, a definition of one, or an element of HTML begins in Markdown.

`buf[3]:` defines nothing, as a definition begins its line.
"""


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


def for_xml(text: str) -> str:
    """Words in an element or an attribute of XML, HTML or SVG."""
    return cleaned(text, "xml")


def for_templates(value: object) -> object:
    """What a template's expression gives, without what acts on a reader; escaping stays the template's own."""
    return _HIDDEN.sub(_visible, value) if type(value) is str else value


def without_links(text: str) -> str:
    """Markdown of ours around words of others, or a message: no link, image or element of HTML works in it.

    A blank parts what would make one, which keeps it one text inside and outside of code.
    """
    return _LINKING.sub(
        lambda match: match[0] if match["element"] else f"{match[0]} ", _HIDDEN.sub(_visible, text)
    )


class CleanStream:
    """A terminal or a pipe that is written to through `cleaned`."""

    def __init__(self, inner: TextIO) -> None:
        self.inner = inner

    def write(self, text: str) -> int:
        """Write what is left of a text; gives its length, as streams do."""
        self.inner.write(cleaned(text, "terminal"))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


def uncleaned(stream: TextIO) -> TextIO:
    """What a stream writes to in the end, for drawings of ours whose texts are cleaned one by one."""
    return stream.inner if isinstance(stream, CleanStream) else stream


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
