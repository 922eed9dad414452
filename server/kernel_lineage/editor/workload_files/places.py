"""Where each key of a TOML text stands. The text may be half written: what cannot be read is passed over."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Path = tuple[str | int, ...]
"""`("args", 2, "dtype")`: tables of an array by their number."""

_KEY = re.compile(r"""\s*("[^"\n]*"|'[^'\n]*'|[\w-]+)[ \t]*""")
_QUOTES = ('"""', "'''", '"', "'")
_CLOSES = {"[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A key with its value, or the head of a table. Offsets are in bytes."""

    path: Path
    start: int
    """Where the key begins, or the head's bracket."""
    value: int
    """Where the value begins; of a head, its end."""
    end: int
    """Behind the value."""
    is_table: bool


def entries(data: bytes) -> list[Entry]:
    """All keys and heads in their order."""
    return list(_Reader(data.decode("latin-1")).read())  # a character for each byte


def nearest(outline: Sequence[Entry], path: Path) -> Entry | None:
    """The entry that stands for most of a path; of a value within one line, the key's.

    Parts that name no key, such as the kind of a table that pydantic tried, are passed over.
    """
    by_path = {entry.path: entry for entry in reversed(outline)}
    tables = {entry.path[:length] for entry in outline for length in range(len(entry.path) + 1)}
    at: Path = ()
    for part in path:
        if (*at, part) in tables:
            at = (*at, part)
    while at and at not in by_path:
        at = next((entry.path for entry in outline if entry.path[: len(at)] == at), at[:-1])
    return by_path.get(at)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._counts: dict[Path, int] = {}
        self._table: Path = ()

    def read(self) -> Iterator[Entry]:
        text = self._text
        while self._at < len(text):
            if text[self._at] in " \t\r\n":
                self._at += 1
            elif text[self._at] == "#":
                self._to_end_of_line()
            elif text[self._at] == "[":
                yield from self._head()
            else:
                yield from self._pair()

    def _head(self) -> Iterator[Entry]:
        start = self._at
        many = self._text.startswith("[[", start)
        self._at += 2 if many else 1
        names = self._names()
        if names and self._text.startswith("]]" if many else "]", self._at):
            self._at += 2 if many else 1
            self._table = self._resolved(names, many)
            yield Entry(self._table, start, self._at, self._at, True)
        self._to_end_of_line()

    def _resolved(self, names: Sequence[str], many: bool) -> Path:
        path: Path = ()
        for position, name in enumerate(names):
            path = (*path, name)
            last = position == len(names) - 1
            if last and many:
                self._counts[path] = self._counts.get(path, -1) + 1
            if path in self._counts:
                path = (*path, self._counts[path])
        return path

    def _pair(self) -> Iterator[Entry]:
        start = self._at
        names = self._names()
        if not names or not self._text.startswith("=", self._at):
            self._to_end_of_line()
            return
        self._at += 1
        while self._text.startswith((" ", "\t"), self._at):
            self._at += 1
        value = self._at
        self._value()
        end = value + len(self._text[value : self._at].rstrip())
        yield Entry((*self._table, *names), start, value, end, False)

    def _names(self) -> list[str]:
        names: list[str] = []
        while (match := _KEY.match(self._text, self._at)) is not None and "\n" not in match.group():
            names.append(match[1].strip("\"'"))
            self._at = match.end()
            if not self._text.startswith(".", self._at):
                break
            self._at += 1
        return names

    def _value(self) -> None:
        """To the end of a value: of its line, or of its brackets."""
        waits: list[str] = []
        while self._at < len(self._text):
            here = self._text[self._at]
            if quote := next((q for q in _QUOTES if self._text.startswith(q, self._at)), ""):
                self._string(quote)
                continue
            if here == "#":
                if not waits:
                    return
                self._to_end_of_line()
                continue
            if here == "\n" and not waits:
                return
            if here in _CLOSES:
                waits.append(_CLOSES[here])
            elif waits and here == waits[-1]:
                waits.pop()
            self._at += 1

    def _string(self, quote: str) -> None:
        self._at += len(quote)
        while self._at < len(self._text):
            if self._text.startswith(quote, self._at):
                self._at += len(quote)
                return
            if self._text[self._at] == "\n" and len(quote) == 1:
                return  # not closed: it ends with its line
            self._at += 2 if quote.startswith('"') and self._text[self._at] == "\\" else 1

    def _to_end_of_line(self) -> None:
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end + 1
