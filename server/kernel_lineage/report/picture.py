"""One lineage as a picture: where each row, node, bar and word lies. Drawn by `lineage.svg.j2`.

A row is a step: what came, who and when, what went wrong. The right-hand column is a waterfall: each measured effect is
a bar from where the step began to where it led, on a logarithmic axis of the speed since the first version. A step that
nobody timed is drawn as a dotted line that leads on from where it began, with what was counted instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from kernel_lineage.report.view import LineageView, TransitionView

WIDTH = 1080
SPINE = 128  # the template reads it
TEXT = 150
BARS = 738
BARS_WIDTH = 316
WORDS_WIDTH = 820
"""The width of a picture without bars."""
_TOP = 64
LINE = 17
_PADDING = 16
_SUBJECT = 48
"""Characters of a line of a subject: what a narrow panel shows of it without being scrolled."""
_SUBJECT_LINES = 3
_WORDS = 84
_WIDEST = 46


@dataclass(frozen=True, slots=True)
class Bar:
    """A measured effect on the axis."""

    x: float
    width: float
    faster: bool
    low: float
    high: float
    """Where the interval lies."""
    label: str


@dataclass(frozen=True, slots=True)
class Row:
    """One step, or several without interest folded into one."""

    y: float
    """The height at which its node is drawn."""
    height: float
    label: str
    """The label of the version that it leads to: `v7`."""
    when: str
    commit: str
    subject: tuple[str, ...]
    """Line by line."""
    intent: str
    said: str
    """Who, and where it branches off."""
    mechanisms: tuple[tuple[str, str], ...]
    """(`plus` or `minus`, text)."""
    notes: tuple[tuple[str, str], ...]
    """(`good`, `bad`, `warn` or `soft`; text): conditions, risks, what running it said."""
    node: str
    """`good`, `bad`, `soft` or `folded`: how the node is filled."""
    start: float | None
    """Where on the axis the step begins; None when nothing was timed in the lineage."""
    bar: Bar | None
    instead: str
    """What is said where there is no bar."""
    title: str
    """Everything in one line, for a pointer and for those who cannot see the picture."""
    href: str
    """To the step's card in the page; "" for several."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A whole lineage."""

    height: float
    title: str
    description: str
    first: str
    """The first version: label, place, date."""
    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]
    device: str
    """What timed; "" when nothing was timed."""

    @property
    def tells(self) -> bool:
        """Whether anything stands in the column of effects; without it the words have a picture that is narrow."""
        return bool(self.device) or any(row.bar or row.instead for row in self.rows)


def picture(lineage: LineageView) -> Picture:
    """The picture of a lineage with at least one version."""
    reached = _speeds(lineage)
    measured = [t for t in lineage.transitions if t.measured is not None]
    axis = _Axis(list(reached.values()) if measured else [])
    rows: list[Row] = []
    y = float(_TOP)
    last = _label(lineage.versions[0].label)
    for steps in _folded(lineage):
        row = _row(lineage, steps, y, last, axis, reached)
        rows.append(row)
        y += row.height
        last = row.label
    first, versions = lineage.versions[0], len(lineage.versions)
    optimised = sum(t.intent == "optimisation" for t in lineage.transitions)
    against = sum(bool(t.risks) for t in lineage.transitions)
    return Picture(
        height=y + 14,
        title=f"{lineage.kernel}: {versions} version{'s' * (versions != 1)}",
        description=f"{len(lineage.transitions)} steps, {optimised} of them optimisations, {len(measured)} measured, "
        f"{against} with something said against them. Each step is described in the text of the page.",
        first=f"{_label(first.label)} · {first.place} · {first.date}",
        rows=tuple(rows),
        ticks=axis.ticks,
        device=", ".join(sorted({t.measured.device for t in measured if t.measured is not None})),
    )


class _Axis:
    """Speeds since the first version → pixels, logarithmic; powers of two as ticks."""

    def __init__(self, speeds: Sequence[float]) -> None:
        self.used = bool(speeds)
        low, high = min([0.8, *speeds]), max([1.25, *speeds])
        self._low = math.log2(low) - 0.1
        self._span = math.log2(high) + 0.1 - self._low
        first, last = math.ceil(self._low), math.floor(self._low + self._span)
        every = max(1, math.ceil((last - first + 1) / 6))
        powers = range(first, last + 1, every) if self.used else ()
        self.ticks = tuple((self.at(2.0**p), f"{2.0**p:g}×") for p in powers)

    def at(self, speed: float) -> float:
        return round(BARS + BARS_WIDTH * (math.log2(speed) - self._low) / self._span, 1)

    def bar(self, begin: float, step: TransitionView) -> Bar | None:
        effect = step.measured
        if effect is None:
            return None
        one, other = self.at(begin), self.at(begin * effect.median)
        return Bar(
            x=min(one, other),
            width=max(2.0, abs(other - one)),
            faster=effect.median >= 1,
            low=self.at(begin * effect.low),
            high=self.at(begin * effect.high),
            label=f"{effect.median:.2f}×",
        )


def _speeds(lineage: LineageView) -> dict[str, float]:
    """Version label → its speed over the first version, as far as it was measured along the first way to it."""
    reached = {_label(lineage.versions[0].label): 1.0}
    for step in lineage.transitions:
        begin = reached.setdefault(_label(step.before), 1.0)
        reached.setdefault(_label(step.after), begin * (step.measured.median if step.measured else 1.0))
    return reached


def _folded(lineage: LineageView) -> Iterator[list[TransitionView]]:
    """Steps one by one; runs of those in which nothing happened to the kernel, together."""
    run: list[TransitionView] = []
    for step in lineage.transitions:
        if _uneventful(step):
            run.append(step)
            continue
        if run:
            yield run
            run = []
        yield [step]
    if run:
        yield run


def _uneventful(step: TransitionView) -> bool:
    return step.intent in ("refactor", "unknown") and not (
        step.added
        or step.removed
        or step.risks
        or step.conditions
        or step.check
        or step.measured
        or step.counts
    )


def _row(
    lineage: LineageView,
    steps: Sequence[TransitionView],
    y: float,
    last: str,
    axis: _Axis,
    reached: dict[str, float],
) -> Row:
    step = steps[-1]
    label, begin = _label(step.after), reached.get(_label(steps[0].before), 1.0)
    several = len(steps) > 1
    mechanisms = () if several else tuple(_mechanisms(step))
    notes = () if several else tuple(dict.fromkeys(_notes(step)))
    branch = "" if several or _label(step.before) == last else f"from {_label(step.before)} · "
    name = step.after.partition(" ")[2]
    if not several and name != step.before.partition(" ")[2]:
        branch += f"now {name} · "
    subject = f"{len(steps)} steps that change nothing seen here" if several else step.subject
    intent = step.intent if step.kind in ("edit", "revert") else f"{step.intent} · {step.kind}"
    subject_lines = wrap(subject, _SUBJECT, max_lines=_SUBJECT_LINES, placeholder=" …") or [""]
    lines = len(subject_lines) + 1 + bool(mechanisms) + len(notes)
    authors = list(dict.fromkeys(s.author for s in steps if s.author))
    bar = None if several else axis.bar(begin, step)
    position = lineage.transitions.index(step)
    return Row(
        y=y,
        height=lines * LINE + _PADDING,
        label=label,
        when=step.date,
        commit="" if several else step.commit,
        subject=tuple(subject_lines),
        intent=intent,
        said=_short(branch + ", ".join(authors), max(12, 80 - len(intent) - len(step.commit))),
        mechanisms=mechanisms,
        notes=notes,
        node="folded" if several else _node(step),
        start=axis.at(begin) if axis.used else None,
        bar=bar,
        instead="" if bar or several else _instead(step, axis),
        title=_title(step, label) if not several else f"{len(steps)} refactorings, up to {label}",
        href="" if several else f"#{lineage.anchor}-step-{position}",
    )


def _instead(step: TransitionView, axis: _Axis) -> str:
    """What stands where a bar would: counts, or that this one was not measured among those that were."""
    if step.counts:
        return _short(step.counts[0].partition(" (worst")[0], _WIDEST)
    return "not measured" if axis.used else ""


def _node(step: TransitionView) -> str:
    if step.check is not None:
        return {"right": "good", "wrong": "bad"}.get(step.check.state, "soft")
    return "bad" if step.intent == "revert" else "soft"


def _mechanisms(step: TransitionView) -> Iterator[tuple[str, str]]:
    signed = [*(("plus", f"+ {m}") for m in step.added), *(("minus", f"− {m}") for m in step.removed)]
    room = _WORDS
    for number, (kind, text) in enumerate(signed):
        room -= len(text) + 2
        if room < 0:
            yield "soft", f"and {len(signed) - number} more"
            return
        yield kind, text


def _notes(step: TransitionView) -> Iterator[tuple[str, str]]:
    if step.check is not None:
        kind = {"right": "good", "wrong": "bad"}.get(step.check.state, "warn")
        sign = {"right": "✓", "wrong": "✗", "narrower": "◐"}.get(step.check.state, "?")
        yield kind, _short(f"{sign} {step.check.text}", _WORDS)
    for condition in step.conditions[:2]:
        yield "good", _short(f"valid when {condition.expr} ({condition.origin})", _WORDS)
    for risk in step.risks[:2]:
        yield "warn", _short(f"▲ {risk}", _WORDS)
    if len(step.risks) > 2:
        yield "warn", f"▲ and {len(step.risks) - 2} more"


def _title(step: TransitionView, label: str) -> str:
    changed = ", ".join([*(f"+{m}" for m in step.added), *(f"−{m}" for m in step.removed)]) or "no mechanism"
    return f"{label}: {step.subject} ({step.intent}; {changed}; {step.effect or 'not measured'})"


def _label(text: str) -> str:
    return text.partition(" ")[0]


def _short(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
