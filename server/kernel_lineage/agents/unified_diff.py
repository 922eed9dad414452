"""A unified diff of one file onto its text: exact context, at its line or at the one other place it fits."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEAD = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")


class DiffError(ValueError):
    """The diff does not fit; the message says which hunk and why."""


def patched(text: str, diff: str) -> str:
    """The text with every hunk made. Raises `DiffError`."""
    lines = text.splitlines(keepends=True)
    shift, made = 0, 0
    for number, (start, old, new) in enumerate(_hunks(diff), 1):
        place = _place(lines, old, start - 1 + shift, number)
        lines[place : place + len(old)] = new
        shift += len(new) - len(old)
        made += 1
    if not made:
        raise DiffError("the diff has no hunk; a hunk begins with @@ -line,count +line,count @@")
    return "".join(lines)


def _hunks(diff: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """First old line, old lines and new lines of each hunk."""
    start: int | None = None
    old: list[str] = []
    new: list[str] = []
    for line in diff.splitlines(keepends=True):
        head = _HEAD.match(line)
        if head is not None or line.startswith(("diff ", "--- a/", "+++ b/", "index ")):
            if start is not None:
                yield start, old, new
            start, old, new = (int(head[1]) if head is not None else None), [], []
        elif start is None:
            continue
        elif line.startswith("\\"):  # "No newline at end of file": of the line before
            for side in (old, new):
                if side:
                    side[-1] = side[-1].rstrip("\n")
        else:
            mark, rest = (line[0], line[1:]) if line.strip("\n") else (" ", line)
            if mark not in " +-":
                raise DiffError(f"a line of a hunk begins with blank, + or -, not {line[:40]!r}")
            old += [rest] if mark in " -" else []
            new += [rest] if mark in " +" else []
    if start is not None:
        yield start, old, new


def _place(lines: list[str], old: list[str], near: int, number: int) -> int:
    fits = (
        [i for i in range(len(lines) - len(old) + 1) if _same(lines[i : i + len(old)], old)]
        if old
        else [near]
    )
    if near in fits:
        return near
    if len(fits) == 1:
        return fits[0]
    shown = old[0].strip() if old else ""
    where = "fits in several places" if fits else "does not fit: the file has other text there"
    raise DiffError(f"hunk {number} ({shown[:60]!r}) {where}; make the diff from the file as it is now")


def _same(there: list[str], old: list[str]) -> bool:
    return [line.rstrip("\r\n") for line in there] == [line.rstrip("\r\n") for line in old]
