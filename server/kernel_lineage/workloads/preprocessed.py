"""The lines of C++ text that stay when no option is given but those that the text defines itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from kernel_gate.files.reading import MOST_TEXT, read_file
from kernel_lineage.code.cuda.conditions import Conditions
from kernel_lineage.workloads.headers import HEADERS, INCLUDING, Headers

_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif|define|undef)\b\s*(.*)", re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">][^\n]*$', re.MULTILINE)
_DEEPEST = 200
"""Headers within headers, as many as compilers take."""
_MOST_HEADERS = 10_000
"""That are looked for, there or not; PyTorch's own are some thousands."""


def active_text(text: str, definitions: Mapping[str, str] = MappingProxyType({})) -> str:
    """The text without the branches of `#if` that are not taken, by the macros that are given and that it defines.

    A branch of which nothing is known is taken to be off, as an option that nobody gave.
    """
    macros = dict(definitions)
    conditions = Conditions(macros.get, unknown=None)
    kept: list[str] = []
    levels: list[tuple[bool, bool]] = []
    """For each open conditional: whether its current branch stays, and whether one of its branches did."""
    off = 0
    """How many of them are in a branch that does not stay."""
    for line in _lines(text):
        directive = _DIRECTIVE.match(line)
        if directive is None:
            if not off:
                kept.append(line)
            continue
        word, rest = directive[1], re.split(r"//|/\*", directive[2].replace("\\\n", " "))[0].strip()
        if word in ("if", "ifdef", "ifndef"):
            holds = (rest in macros) != (word == "ifndef") if word != "if" else conditions.holds(rest)
            levels.append((holds, holds))
            off += not holds
        elif word in ("elif", "else", "endif") and levels:
            stays, stayed = levels.pop()
            off -= not stays
            if word != "endif":
                stays = not stayed and (word == "else" or conditions.holds(rest))
                levels.append((stays, stayed or stays))
                off += not stays
        elif not off and word == "define":
            kept.append(line)
            name = re.split(r"\W", rest, maxsplit=1)[0]
            macros[name] = rest[len(name) :].strip()
        elif not off:
            macros.pop(rest, None)
    return "\n".join(kept)


def _lines(text: str) -> Iterator[str]:
    """The lines, a directive with those that continue it."""
    begun: list[str] = []
    for line in text.splitlines():
        begun.append(line)
        if not (begun[0].lstrip().startswith("#") and line.endswith("\\")):
            yield "\n".join(begun)
            begun = []
    if begun:
        yield "\n".join(begun)


def with_headers(path: Path, root: Path, data: bytes | None = None, also: Iterable[Path] = ()) -> str:
    """A file's text with the headers that it includes by `"…"` in their places, each once, none from outside `root`.

    Files of `also` follow, with those of their headers that are not there yet. What is beyond the `MOST_TEXT` bytes
    that are read of all of them, or the 10,000th header, is left out as one that is not there.
    """
    texts = _Texts(Headers(root.resolve()))
    first = texts.of(path.resolve(), data)
    return "\n".join((first, *(texts.of(p.resolve()) for p in also)))


@dataclass(slots=True)
class _Texts:
    """The files that have been put together."""

    headers: Headers
    left: int = MOST_TEXT
    """Bytes that may still be read."""
    named: int = 0
    """Headers that were looked for."""
    seen: set[Path] = field(default_factory=set)

    def of(self, path: Path, data: bytes | None = None, depth: int = 0) -> str:
        """A file's text with its headers; "" for one that is not read."""
        self.seen.add(path)
        try:
            data = read_file(path, within=self.headers.root, most=self.left) if data is None else data
        except OSError:
            return ""
        self.left = max(self.left - len(data), 0)

        def header(match: re.Match[str]) -> str:
            self.named += 1
            there = self.headers.at(path.parent, match[1]) if self.named <= _MOST_HEADERS else None
            if there is None or there in self.seen or depth >= _DEEPEST:
                return ""
            return self.of(there, depth=depth + 1)

        return _INCLUDE.sub(header, data.decode("utf-8", "replace"))


def standing_before(path: Path, root: Path) -> tuple[str, ...]:
    """The headers that stand before this one in the first file that includes it, relative to its folder.

    A header may count on them: all are one text to the compiler. The file that includes it is looked for in the
    header's own folder and in those above it, up to `root`. Nothing for a file that is no header.
    """
    if path.suffix not in HEADERS or not path.is_relative_to(root):
        return ()
    for folder in (path.parent, *path.parent.parents):
        for beside in sorted(folder.iterdir()):
            if beside.suffix in INCLUDING and beside != path and (headers := _before(beside, path)):
                return headers
        if folder == root:
            break
    return ()


def _before(including: Path, path: Path) -> tuple[str, ...]:
    try:
        text = read_file(including).decode("utf-8", "replace")
    except OSError:
        return ()
    named = [(including.parent / header).resolve() for header in _INCLUDE.findall(text)]
    earlier = named[: named.index(path)] if path in named else []
    return tuple(os.path.relpath(header, path.parent) for header in earlier)
