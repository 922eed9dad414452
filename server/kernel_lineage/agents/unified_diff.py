"""A unified diff of one file onto its text: exact context, at its line or at the one other place it fits."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEAD = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+\d+(?:,\d+)? @@")
_MOST_HUNKS = 2000
_MOST_LOOKED_AT = 5_000_000
"""Lines, for all hunks that are not where they say they are."""


class DiffError(ValueError):
    """The diff does not fit; the message says which hunk and why."""


def patched(text: str, diff: str) -> str:
    """The text with every hunk made. Raises `DiffError`."""
    lines = text.splitlines(keepends=True)
    shift, made, left = 0, 0, _MOST_LOOKED_AT
    for number, (start, old, new) in enumerate(_hunks(diff), 1):
        near = start - bool(old) + shift  # lines that are only added follow the line that is named
        if old and (near < 0 or not _same(lines[near : near + len(old)], old)):
            left -= len(lines)
            near = _elsewhere(lines, old, number) if left >= 0 else near
        if left < 0 or number > _MOST_HUNKS:
            raise DiffError(
                "the diff has too many hunks, or too many that are not at their lines; give the whole text"
            )
        place = max(near, 0)
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


def _elsewhere(lines: list[str], old: list[str], number: int) -> int:
    """The one place where the old lines are. Raises `DiffError`."""
    text, wanted = _joined(lines), _joined(old)
    first = text.find(wanted)
    if first >= 0 and text.find(wanted, first + 1) < 0:
        return text.count("\n", 0, first)
    where = "fits in several places" if first >= 0 else "does not fit: the file has other text there"
    raise DiffError(
        f"hunk {number} ({old[0].strip()[:60]!r}) {where}; make the diff from the file as it is now"
    )


def _joined(lines: list[str]) -> str:
    return "\n" + "".join(line.rstrip("\r\n") + "\n" for line in lines)


def _same(there: list[str], old: list[str]) -> bool:
    return [line.rstrip("\r\n") for line in there] == [line.rstrip("\r\n") for line in old]
