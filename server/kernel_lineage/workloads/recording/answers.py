"""What a built extension is asked of calls, and what it says of each: what it launched, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernel_lineage.workloads.recording.call import Call
from kernel_lineage.workloads.recording.entries import Entry
from kernel_lineage.workloads.recording.failed import Failed
from kernel_lineage.workloads.recording.launches import Launch
from kernel_lineage.workloads.recording.runs import Ended

_PLACE = re.compile(r"[0-9]{1,6}")


@dataclass(frozen=True, slots=True)
class Answer:
    """How a call ended."""

    failed: tuple[Failed, ...]
    """The checks that did not hold, in their order."""
    end: list[str]
    """`done` with what tensors were asked, `error` with a message, `signal` with its number; empty for a call that
    was not come to, or that a check ended."""

    @classmethod
    def of(cls, lines: Sequence[list[str]]) -> Answer:
        """From the lines that a program says of a call, in fields."""
        failed = tuple(Failed.of(fields[1:]) for fields in lines if fields[0] == "check")
        return cls(failed, lines[-1] if lines and lines[-1][0] != "check" else [])

    @property
    def is_done(self) -> bool:
        """Whether it came to its end, and all checks held."""
        return self.end[:1] == ["done"] and not self.failed

    @property
    def rank(self) -> tuple[int, int, int]:
        """Where a call with failed checks stands among those that are mended: by how far it came first."""
        asked = len(self.failed[-1].asked) if self.failed else 0
        return (1 if self.end[:1] == ["done"] else 2, -asked, len(self.failed))

    @property
    def message(self) -> str:
        """What was wrong first."""
        first = self.failed[0] if self.failed else None
        words = (first.condition, first.left, first.op, first.right) if first else self.end[1:2]
        return " ".join(w for w in words if w)[:160]


def lines_of(entry: Entry, calls: Sequence[tuple[Call, Mapping[str, int]]]) -> Iterator[str]:
    """What a program reads for some calls of a function."""
    yield from (f"{i}\t{entry.number}\t{call.line(changed)}\n" for i, (call, changed) in enumerate(calls))


def outcomes(ended: Ended, count: int) -> tuple[list[list[Launch]], list[Answer]]:
    """What each of so many calls of a run launched, and how it ended."""
    launches: list[list[Launch]] = [[] for _ in range(count)]
    for launch in ended.launches:
        if _PLACE.fullmatch(launch.call) and int(launch.call) < count:
            launches[int(launch.call)].append(launch)
    answers: list[list[list[str]]] = [[] for _ in range(count)]
    for line in ended.output.splitlines():
        fields = line.split("\t")
        if _PLACE.fullmatch(fields[0]) and int(fields[0]) < count and len(fields) > 1:
            answers[int(fields[0])].append(fields[1:])
    return launches, [Answer.of(lines) for lines in answers]
