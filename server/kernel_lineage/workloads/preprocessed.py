"""The lines of C++ text that stay when no option is given but those that the text defines itself."""

from __future__ import annotations

import os
import re
from pathlib import Path

_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif|define|undef)\b\s*(.*)")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*$', re.MULTILINE)
_HEADERS = frozenset({".cuh", ".h", ".hpp", ".inl"})
_INCLUDING = _HEADERS | {".cu", ".cc", ".cpp"}
_DEFINED = re.compile(r"defined\s*\(?\s*(\w+)\s*\)?")


def active_text(text: str) -> str:
    """The text without the branches of `#if` that are not taken; of a condition only `defined` is known, else it fails.

    A branch of which nothing is known is taken to be off, as an option that nobody gave.
    """
    defined: set[str] = set()
    kept: list[str] = []
    levels: list[tuple[bool, bool]] = []
    """For each open conditional: whether its current branch stays, and whether one of its branches did."""
    for line in text.splitlines():
        directive = _DIRECTIVE.match(line)
        on = all(taken for taken, _ in levels)
        if directive is None:
            if on:
                kept.append(line)
            continue
        word, rest = directive[1], re.split(r"//|/\*", directive[2])[0].strip()
        if word in ("if", "ifdef", "ifndef"):
            holds = (rest in defined) != (word == "ifndef") if word != "if" else _holds(rest, defined)
            levels.append((holds, holds))
        elif word == "elif" and levels:
            taken = not levels[-1][1] and _holds(rest, defined)
            levels[-1] = (taken, levels[-1][1] or taken)
        elif word == "else" and levels:
            levels[-1] = (not levels[-1][1], True)
        elif word == "endif" and levels:
            levels.pop()
        elif on and word == "define":
            kept.append(line)
            defined.add(re.split(r"\W", rest, maxsplit=1)[0])
        elif on:
            defined.discard(rest)
    return "\n".join(kept)


def _holds(condition: str, defined: set[str]) -> bool:
    """A condition made of `defined(X)`, `!`, `&&` and `||`; one with anything else in it fails."""
    known = _DEFINED.sub(lambda m: "1" if m[1] in defined else "0", condition).replace(" ", "")
    if not re.fullmatch(r"[01!&|]+", known):
        return known not in ("", "0") and known.isdigit()
    return any(
        all((p.count("!") % 2 == 0) == p.endswith("1") for p in part.split("&&"))
        for part in known.split("||")
    )


def with_headers(path: Path, root: Path, data: bytes | None = None) -> str:
    """A file's text with the headers that it includes by `"…"` in their places, each once, none from outside `root`."""
    return _included(path.resolve(), root.resolve(), data, set())


def _included(path: Path, root: Path, data: bytes | None, seen: set[Path]) -> str:
    seen.add(path)
    try:
        text = (path.read_bytes() if data is None else data).decode("utf-8", "replace")
    except OSError:
        return ""

    def header(match: re.Match[str]) -> str:
        there = (path.parent / match[1]).resolve()
        inside = there.is_relative_to(root) and there not in seen
        return _included(there, root, None, seen) if inside else ""

    return _INCLUDE.sub(header, text)


def standing_before(path: Path, root: Path) -> tuple[str, ...]:
    """The headers that stand before this one in the first file that includes it, relative to its folder.

    A header may count on them: all are one text to the compiler. The file that includes it is looked for in the
    header's own folder and in those above it, up to `root`. Nothing for a file that is no header.
    """
    if path.suffix not in _HEADERS or not path.is_relative_to(root):
        return ()
    for folder in (path.parent, *path.parent.parents):
        for beside in sorted(folder.iterdir()):
            if beside.suffix in _INCLUDING and beside != path and (found := _before(beside, path)):
                return found
        if folder == root:
            break
    return ()


def _before(including: Path, path: Path) -> tuple[str, ...]:
    try:
        text = including.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ()
    named = [(including.parent / header).resolve() for header in _INCLUDE.findall(text)]
    earlier = named[: named.index(path)] if path in named else []
    return tuple(os.path.relpath(header, path.parent) for header in earlier)
