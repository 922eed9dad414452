"""Lines in which two programs differ, and which of them fed an element."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from kernel_gate.stages.statements import NAME, assigned_names

_LINE = re.compile(r"\s*#\s*line\s+(\d+)")
_ALIKE = 0.3
"""Below this share of common lines two texts are different programs, and their differences say nothing."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Neighbouring lines that differ; line numbers count from 1, either range may be empty."""

    before: range
    after: range


@dataclass(frozen=True, slots=True)
class Alignment:
    """Two texts beside each other."""

    hunks: tuple[Hunk, ...]
    same: dict[int, int]
    """Line of the second text → the line of the first that has the same words."""
    texts: dict[int, str]
    """Lines of the second text."""
    replaced: dict[int, str]
    """Lines of the first text."""

    @property
    def alike(self) -> bool:
        """Whether the texts have enough in common for their differences to mean something."""
        # A closing bracket is in every program.
        same = sum(self._says_something(line) for line in self.same)
        changed = sum(self._says_something(line) for hunk in self.hunks for line in hunk.after)
        return same >= _ALIKE * (same + changed)

    def _says_something(self, line: int) -> bool:
        return NAME.search(self.texts.get(line, "")) is not None


def align(before: str, after: str) -> Alignment:
    """Compare two texts by lines; white space within a line does not count, nor do empty lines."""
    first, second = _lines(before), _lines(after)
    words = [[_words(text) for _, text in lines] for lines in (first, second)]
    matcher = SequenceMatcher(None, words[0], words[1], autojunk=False)
    hunks, same = [], {}
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            pairs = zip(second[j1:j2], first[i1:i2], strict=True)
            same.update({number: other for (number, _), (other, _) in pairs})
        else:
            hunks.append(Hunk(_range(first, i1, i2), _range(second, j1, j2)))
    return Alignment(tuple(hunks), same, dict(second), dict(first))


def _lines(text: str) -> list[tuple[int, str]]:
    """Numbers and texts of the lines that hold something, numbered as a compiler does that heeds `#line`."""
    lines, number = [], 0
    for line in text.splitlines():
        number += 1
        if directive := _LINE.match(line):
            number = int(directive[1]) - 1
        elif line.strip():
            lines.append((number, line))
    return lines


def _words(line: str) -> str:
    return "".join(line.split())


def _range(lines: Sequence[tuple[int, str]], start: int, stop: int) -> range:
    """The lines from the first to the last; for none an empty range at the line that follows."""
    if start == stop:
        at = lines[min(start, len(lines) - 1)][0] if lines else 1
        return range(at, at)
    return range(lines[start][0], lines[stop - 1][0] + 1)


def changed_and_fed(
    alignment: Alignment, fed_after: Sequence[int], fed_before: Sequence[int]
) -> tuple[int, ...]:
    """Changed lines of the second text that fed an element, nearest first.

    A change whose own lines did not feed it, or that has none, counts by the lines of the first text that did: where
    they stood is named.
    """
    ranks = {line: rank for rank, line in enumerate(fed_after) if _inside(alignment, line)}
    for hunk in alignment.hunks:
        if not any(line in hunk.after for line in ranks):
            rank = next((rank for rank, line in enumerate(fed_before) if line in hunk.before), None)
            if rank is not None:
                ranks.setdefault(hunk.after.start, rank)
    return tuple(sorted(ranks, key=lambda line: ranks[line])) or _by_name(alignment, fed_after)


def _by_name(alignment: Alignment, fed: Sequence[int]) -> tuple[int, ...]:
    """Changed lines that give a value to a name, or declare one, which a line that fed the element uses.

    A compiler leaves no instruction at a line that only names a constant, or from which a value has gone.
    """
    used = {word for line in fed for word in NAME.findall(alignment.texts.get(line, ""))}
    return tuple(hunk.after.start for hunk in alignment.hunks if _assigned(alignment, hunk) & used)


def _assigned(alignment: Alignment, hunk: Hunk) -> set[str]:
    texts = [alignment.texts.get(n, "") for n in hunk.after] + [
        alignment.replaced.get(n, "") for n in hunk.before
    ]
    return {name for text in texts for name in assigned_names(text)}


def _inside(alignment: Alignment, line: int) -> bool:
    return any(line in hunk.after for hunk in alignment.hunks)
