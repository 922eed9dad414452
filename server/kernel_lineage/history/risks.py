"""What history says against a change: in messages, and in the comments that authors leave in the code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from kernel_lineage.history.model import Commit

_SIGNS: Sequence[tuple[str, re.Pattern[str]]] = (
    (
        "slower",
        re.compile(
            r"\b(?:slower|slow(?:s|ed)? (?:it )?down|slowdown|perf(?:ormance)? regression|regress(?:es|ed)|"
            r"(?:is|was|are|performs?|performance) (?:much |a bit |even |actually )?worse|not (?:as )?fast(?:er)?|"
            r"hurts? perf\w*)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "no_difference",
        re.compile(
            r"\b(?:(?:no|not? (?:any )?(?:noticeable|measurable|real|big|much)) (?:perf\w* |speed )?"
            r"(?:difference|improvement|gain|speed-?up|benefit)|"
            r"(?:did|does)(?:n't| not) (?:make (?:a |any )?(?:big |much )?(?:of a )?difference|"
            r"(?:seem to )?help|matter|improve)|same (?:speed|performance|perf)|makes no difference)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "warning",
        re.compile(
            r"\b(?:bad idea|beware|be careful|careful|caution|dangerous|unsafe|not safe|not supported|only works?|"
            r"will (?:fail|break|crash)|"
            r"breaks? (?:if|when|for)|assumes? (?:that )?|doesn't work|does not work|"
            r"not deterministic|non-?deterministic|"
            r"precision loss|loss of precision|numerically unstable|hacky)\b",
            re.IGNORECASE,
        ),
    ),
)
_DENIED = re.compile(
    r"\b(?:no|not|never|without|fix(?:e[sd])?|avoid\w*|prevent\w*|zero)\s+(?:any\s+|the\s+|a\s+)?(?:perf\w*\s+)?"
    r"(?:regress\w*|slow\w*)|no slower|(?:original|baseline|old|previous|naive|before)\b[^.]{0,40}\bslower",
    re.IGNORECASE,
)
_COMMENT = {
    True: re.compile(r"#([^\n]*)"),
    False: re.compile(r"//([^\n]*)|/\*(.*?)\*/", re.DOTALL),
}


def said_in_message(commit: Commit | None) -> Iterator[tuple[str, str]]:
    """(kind of risk, the line that says it) for what a message says against its own change."""
    if commit is None:
        return
    for line in [commit.subject, *commit.body.splitlines()[:60]]:
        yield from said_in(line)


def said_in_comments(text: str, python: bool) -> Iterator[tuple[str, str]]:
    """(kind of risk, the line that says it) for what the comments of a text say."""
    for comment in _COMMENT[python].finditer(text):
        for line in next((g for g in comment.groups() if g), "").splitlines():
            yield from said_in(line)


@lru_cache(maxsize=8192)
def said_in(line: str) -> tuple[tuple[str, str], ...]:
    """(kind of risk, the line) when a line says something against a change; at most one kind."""
    line = " ".join(line.strip(" \t*/#-").split())
    for kind, sign in _SIGNS:
        if sign.search(line) and not _DENIED.search(line):
            return ((kind, line[:200]),)
    return ()
