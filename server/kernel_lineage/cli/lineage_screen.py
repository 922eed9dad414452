"""A repository's lineages on one screen: what was optimised, which bugs were answered, what was taken back."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from kernel_lineage.history.model import Commit, Intent, Mined, Transition, Version
from kernel_lineage.kernels.mechanisms.registry import title_of

_SHOWN = {Intent.OPTIMISATION: 6, Intent.FIX: 4, Intent.REVERT: 2}
"""How many commits of each are shown; the rest are counted."""
_TITLES = {
    Intent.OPTIMISATION: ("Optimised", "green"),
    Intent.FIX: ("Bugs fixed, with the change that brought them", "red"),
    Intent.REVERT: ("Taken back", "magenta"),
}
_COUNTED = (
    (Intent.OPTIMISATION, "optimisation", "optimisations"),
    (Intent.FIX, "fix", "fixes"),
    (Intent.REVERT, "revert", "reverts"),
    (Intent.FEATURE, "feature", "features"),
    (Intent.REFACTOR, "refactoring", "refactorings"),
    (Intent.UNKNOWN, "without a reason that shows", ""),
)
_MECHANISMS = 8
"""How many mechanisms of one commit are named."""
_NARROWEST = 60
_INDENT = "            "


@dataclass(frozen=True, slots=True)
class _Event:
    """What one commit did to kernels, of one intent."""

    commit: Commit | None
    transitions: tuple[Transition, ...]
    versions: tuple[Version, ...]
    """After each of them."""

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return tuple(sorted({m for t in self.transitions for m in t.added}))


def print_screen(console: Console, mined: Mined) -> None:
    """One screen for a repository, in lines that end at words."""
    width = max(_NARROWEST, console.width)
    by_id = {v.id: v for line in mined.lineages for v in line.versions}
    _print(console, f"{mined.repository}", "bold", width)
    _print(console, _summary(mined, by_id), "", width)
    step_of = {t.id: t for line in mined.lineages for t in line.transitions}
    for intent, limit in _SHOWN.items():
        events = _events(mined, intent, by_id)
        if not events:
            continue
        title, colour = _TITLES[intent]
        console.print()
        shown = f", {limit} of them here" if len(events) > limit else ""
        count = f"{len(events)} commit{'s' * (len(events) != 1)}{shown}"
        _print(console, f"{title}: {count}", f"bold {colour}", width)
        for event in events[:limit]:
            for line in _lines(event, intent, by_id, step_of, width):
                console.print(Text(line), soft_wrap=True)


def _summary(mined: Mined, by_id: dict[str, Version]) -> str:
    """How many lineages there are, and how often their kernels were changed for what."""
    lines = len(mined.lineages)
    steps = [t for line in mined.lineages for t in line.transitions]
    changes = [t for t in steps if not _beside(t, by_id)]
    variants = len(steps) - len(changes)
    counts = Counter(t.intent for t in changes)
    summary = ", ".join(
        f"{n} {one if n == 1 or not many else many}"
        for intent, one, many in _COUNTED
        if (n := counts[intent])
    )
    return (
        f"{lines} lineage{'s' * (lines != 1)} of kernels, {len(changes)} change{'s' * (len(changes) != 1)} "
        f"in {mined.commits_read} commit{'s' * (mined.commits_read != 1)}{': ' if summary else ''}{summary}"
        + (f"; {variants} variant{'s' * (variants != 1)} side by side" if variants else "")
    )


def _beside(transition: Transition, by_id: dict[str, Version]) -> bool:
    """Whether both versions came with one commit, side by side: nothing was changed."""
    return by_id[transition.before].commit == transition.commit


def _events(mined: Mined, intent: Intent, by_id: dict[str, Version]) -> list[_Event]:
    """The commits with transitions of an intent: those that say most first, of equals the latest."""
    by_commit: dict[str, list[Transition]] = {}
    for lineage in mined.lineages:
        for transition in lineage.transitions:
            is_event = intent is not Intent.FIX or transition.answers or transition.mends
            if transition.intent is intent and is_event and not _beside(transition, by_id):
                by_commit.setdefault(transition.commit or "", []).append(transition)
    events = [
        _Event(mined.commits.get(sha), tuple(ts), tuple(by_id[t.after] for t in ts))
        for sha, ts in by_commit.items()
    ]
    latest = sorted(events, key=lambda e: e.commit.date if e.commit else "9", reverse=True)
    return sorted(latest, key=lambda e: not e.mechanisms) if intent is Intent.OPTIMISATION else latest


def _lines(
    event: _Event, intent: Intent, by_id: dict[str, Version], step_of: dict[str, Transition], width: int
) -> Iterator[str]:
    version = event.versions[0]
    others = len({(v.path, v.symbol) for v in event.versions}) - 1
    more = f" and {others} more kernel{'s' if others > 1 else ''}" if others else ""
    date = event.commit.date[:10] if event.commit else "work tree "
    what, where = f"{date}  {version.symbol}{more}", f"{version.path}:{version.first_line}"
    if len(what) + len(where) + 2 <= width:
        yield f"{what}  {where}"
    else:
        yield from _wrapped(what, width)
        yield _INDENT + _path(where, width)
    first = event.transitions[0]
    answered = step_of.get(first.answers or "")
    mended = by_id.get(first.mends or "")
    source = answered.commit if answered else mended.commit if mended else None
    verb = {Intent.FIX: "mends", Intent.REVERT: "undoes"}.get(intent)
    answers = f" ({verb} {source[:8]})" if source and verb else ""
    if event.commit:
        yield from _wrapped(f"{_INDENT}{event.commit.sha[:8]} {_words(event.commit.subject)}{answers}", width)
    if event.mechanisms and intent is Intent.OPTIMISATION:
        left = len(event.mechanisms) - _MECHANISMS
        more = f" and {left} more" if left > 0 else ""
        yield from _wrapped(
            f"{_INDENT}+ {', '.join(map(title_of, event.mechanisms[:_MECHANISMS]))}{more}", width
        )


def _words(text: str) -> str:
    return textwrap.shorten(text, 100, placeholder=" …")


def _path(path: str, width: int) -> str:
    """A path that fits: folders at its beginning are left out, whole ones."""
    folders: Sequence[str] = path.split("/")
    while len("/".join(folders)) + len(_INDENT) + 2 > width and len(folders) > 1:
        folders = folders[1:]
    short = "/".join(folders)
    return short if short == path else f"…/{short}"


def _wrapped(line: str, width: int) -> list[str]:
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=_INDENT + "  ",
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def _print(console: Console, line: str, style: str, width: int) -> None:
    for part in textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False):
        console.print(Text(part, style), soft_wrap=True)
