"""What the text says around a line, read without a parser: where its names got their values, which loop it stands in.

A compiler leaves no instruction at many a line: a first value is folded into its first use, a loop is unrolled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NAME = re.compile(r"[A-Za-z_]\w*")
_TARGETS = re.compile(
    r"(?:\b([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*[-+*/%&|^]?=(?!=))"
    r"|(?:^\s*(?!return\b)[A-Za-z_][\w:<>]*(?:\s+[\w:<>]+)*[\s*&]+([A-Za-z_]\w*)\s*[;,\[])"
)
"""Names that a line gives a value to or declares, as CUDA C++ and Python write it."""
_ASSIGNED = re.compile(r"\s*([A-Za-z_][\w.]*)\s*((?:\[[^\]]*\]\s*)*)(<<|>>|[-+*/%&|^])?=(?!=)(.*)")
_STORED = re.compile(r"([^=]*\])\s*(?:<<|>>|[-+*/%&|^])?=(?!=)")
_BARE = re.compile(r"\s*(?!return\b)[A-Za-z_][\w:]*(?:\s*<[^;]*>)?[\s*&]+[A-Za-z_]\w*\s*;")
_LOOP = re.compile(r"\s*(?:for|while)\b")
_HEAD = re.compile(r"\s*(?:for|while|if)\b")
_AROUND = re.compile(r"\s*(?:for|while|if|else|\}|with)\b|\s*\}")
_FAR = 60
"""Lines that are searched backwards."""
_LONG = 6
"""Lines of one statement that are joined."""


def assigned_names(text: str) -> set[str]:
    """Names that a line gives a value to, or declares."""
    return {name for groups in _TARGETS.findall(text) for name in groups if name}


def givers(texts: Mapping[int, str], line: int) -> tuple[int, ...]:
    """The nearest lines before it that give values to the names which it uses, nearest first."""
    own = set() if _accumulates(texts, line) else assigned_names(texts.get(line, ""))
    return _giving(texts, line, set(NAME.findall(_statement(texts, line))) - own)


def placing(texts: Mapping[int, str], line: int) -> tuple[int, ...]:
    """The same for the names that say where it stores."""
    text = _statement(texts, line)
    stored = _STORED.match(text)
    return _giving(texts, line, set(NAME.findall(stored[1] if stored else text)))


def _giving(texts: Mapping[int, str], line: int, wanted: set[str]) -> tuple[int, ...]:
    lines = []
    for other in range(line - 1, max(line - _FAR, 0), -1):
        names = assigned_names(texts.get(other, "")) & wanted
        if names:
            lines.append(other)
            wanted -= names
    return tuple(lines)


def first_value(texts: Mapping[int, str], line: int) -> int | None:
    """Where what a line accumulates gets its first value; None for a line that accumulates nothing."""
    name = _accumulates(texts, line)
    if not name:
        return None
    before = range(line - 1, max(line - _FAR, 0), -1)
    return next((n for n in before if name in assigned_names(texts.get(n, ""))), None)


def without_value(texts: Mapping[int, str], line: int) -> tuple[int, ...]:
    """Lines before it that declare a name and give it no value, nearest first."""
    return tuple(n for n in range(line - 1, max(line - _FAR, 0), -1) if _BARE.match(texts.get(n, "")))


def loop_around(texts: Mapping[int, str], line: int) -> int | None:
    """The head of the innermost loop that a line stands in, by how far the lines are indented."""
    depth = _depth(texts.get(line, ""))
    for other in range(line - 1, max(line - _FAR, 0), -1):
        text = texts.get(other, "")
        if text.strip() and _depth(text) < depth:
            if _LOOP.match(text):
                return other
            if not _AROUND.match(text):
                return None
            depth = _depth(text)
    return None


def head_around(texts: Mapping[int, str], line: int) -> int | None:
    """The innermost condition or loop that a line stands in, by how far the lines are indented."""
    depth = _depth(texts.get(line, ""))
    for other in range(line - 1, max(line - _FAR, 0), -1):
        text = texts.get(other, "")
        if text.strip() and _depth(text) < depth:
            return other if _HEAD.match(text) else None
    return None


def accumulates(texts: Mapping[int, str], line: int) -> bool:
    """Whether a line adds to what it gives a value to, or computes it from itself."""
    return bool(_accumulates(texts, line))


def _accumulates(texts: Mapping[int, str], line: int) -> str:
    """The name, or an empty text."""
    match = _ASSIGNED.match(_statement(texts, line))
    if match is None:
        return ""
    name, _, operator, value = match.groups()
    return name.partition(".")[0] if operator or re.search(rf"\b{re.escape(name)}\b", value) else ""


def _statement(texts: Mapping[int, str], line: int) -> str:
    """A line, and those after it up to the last bracket that it opens."""
    text = texts.get(line, "")
    for other in range(line + 1, line + _LONG):
        if sum(text.count(c) for c in "([") <= sum(text.count(c) for c in ")]"):
            break
        text += " " + texts.get(other, "").strip()
    return text


def _depth(text: str) -> int:
    return len(text) - len(text.lstrip())
