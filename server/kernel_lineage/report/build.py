"""Mined lineages, learned conditions and checks → what the report shows."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import PurePath

from kernel_lineage.history.model import Commit, Lineage, Mined, Transition, Version
from kernel_lineage.kernels.mechanisms.registry import title_of
from kernel_lineage.learning.later_guards import LearnedCondition
from kernel_lineage.learning.replay.earlier import words_of
from kernel_lineage.learning.replay.record import Record
from kernel_lineage.learning.replay.versions import version_checks
from kernel_lineage.learning.version_checks import VersionCheck
from kernel_lineage.report.view import (
    AppliedView,
    CheckView,
    ConditionView,
    DiffLine,
    LineageView,
    MeasuredView,
    ReportView,
    TransitionView,
    VersionView,
)
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.render import sentence

_CONTEXT_LINES = 3
_WORKING_TREE = "working tree"
_STATES = {"reproduced": "right", "narrower": "narrower", "failed": "wrong"}
"""Status of a replayed transition → how its mark looks."""


def build(
    mined: Mined,
    *,
    read: Callable[[Version], str],
    learned: Iterable[LearnedCondition] = (),
    records: Mapping[str, Record] | None = None,
    applied: Sequence[AppliedView] = (),
) -> ReportView:
    """The report of one mining run.

    `read` gives a version's text; `records` are what replaying gave, by transition id. Lineages of a single version
    come last and without steps.
    """
    replayed = records or {}
    checks = {
        version: check
        for lineage in mined.lineages
        for version, check in version_checks(lineage, replayed).items()
    }
    by_transition: dict[str, list[LearnedCondition]] = {}
    for item in learned:
        by_transition.setdefault(item.transition or item.teacher, []).append(item)
    drawer = _Drawer(mined.commits, read, by_transition, checks, replayed)
    ordered = sorted(mined.lineages, key=lambda lineage: -len(lineage.transitions))
    transitions = [t for lineage in mined.lineages for t in lineage.transitions]
    return ReportView(
        repository=PurePath(mined.repository).name or mined.repository,
        head=(mined.head or "no commit")[:12],
        device=", ".join(sorted({r.device for r in replayed.values()})),
        made=date.today().isoformat(),
        counts=_counts(mined, transitions, by_transition, checks, replayed),
        lineages=tuple(drawer.lineage(lineage, i) for i, lineage in enumerate(ordered)),
        applied=tuple(applied),
        notes=(
            *mined.messages,
            *(f"Passed over: {count} × {reason}." for reason, count in sorted(mined.skipped.items())),
        ),
    )


def difference(before: str, after: str) -> tuple[DiffLine, ...]:
    """The lines that differ, with a little context; files' headers left out."""
    kinds = {"+": "added", "-": "removed", " ": "kept"}
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=_CONTEXT_LINES, lineterm="")
    return tuple(
        DiffLine(kinds[line[0]], line[1:])
        for line in lines
        if line[:1] in kinds and not line.startswith(("+++", "---"))
    )


class _Drawer:
    """Draws one lineage after the other with the same surroundings."""

    def __init__(
        self,
        commits: Mapping[str, Commit],
        read: Callable[[Version], str],
        learned: Mapping[str, list[LearnedCondition]],
        checks: Mapping[str, VersionCheck],
        records: Mapping[str, Record],
    ) -> None:
        self._commits, self._read = commits, read
        self._learned, self._checks, self._records = learned, checks, records

    def lineage(self, lineage: Lineage, position: int) -> LineageView:
        labels = {v.id: f"v{i}" for i, v in enumerate(lineage.versions, 1)}
        versions = {v.id: v for v in lineage.versions}
        return LineageView(
            anchor=f"lineage-{position}",
            kernel=lineage.kernel,
            language=lineage.language.value,
            versions=tuple(self._version(v, labels[v.id]) for v in lineage.versions),
            transitions=tuple(self._transition(t, versions, labels) for t in lineage.transitions),
        )

    def _version(self, version: Version, label: str) -> VersionView:
        commit = self._commits.get(version.commit or "")
        return VersionView(
            label=f"{label} {version.symbol}"[:22],
            place=f"{version.path}:{version.first_line}",
            commit=commit.sha[:8] if commit else _WORKING_TREE,
            date=commit.date[:10] if commit else "",
            check=self._check_of(version),
        )

    def _check_of(self, version: Version) -> CheckView | None:
        check = self._checks.get(version.id)
        return CheckView(check.state.value, check.reason) if check else None

    def _transition(
        self, transition: Transition, versions: Mapping[str, Version], labels: Mapping[str, str]
    ) -> TransitionView:
        commit = self._commits.get(transition.commit or "")
        before, after = versions[transition.before], versions[transition.after]
        record = self._records.get(transition.id)
        return TransitionView(
            subject=commit.subject if commit else _WORKING_TREE,
            commit=commit.sha[:8] if commit else "",
            author=commit.author if commit else "",
            date=commit.date[:10] if commit else "",
            kind=transition.kind.value,
            intent=transition.intent.value,
            because=transition.because,
            added=tuple(map(title_of, transition.added)),
            removed=tuple(map(title_of, transition.removed)),
            compound=transition.compound,
            risks=tuple(f"{risk.kind.replace('_', ' ')}: {risk.message}" for risk in transition.risk),
            conditions=tuple(_condition(item) for item in self._learned.get(transition.id, ())),
            before=f"{labels[before.id]} {before.symbol}",
            after=f"{labels[after.id]} {after.symbol}",
            check=CheckView(_STATES.get(record.status, "unknown"), words_of(record).line) if record else None,
            effect=_effect(record) if record else "",
            counts=tuple(record.counts.get("summary", ())) if record and record.counts else (),
            diff=difference(self._read(before), self._read(after)),
            measured=_measured(record),
        )


def _effect(record: Record) -> str:
    effect = record.effect
    if effect is None:
        return ""
    return (
        f"{effect.median:.2f}× ({effect.low:.2f} … {effect.high:.2f}), {effect.state.value}, {effect.device}"
    )


def _measured(record: Record | None) -> MeasuredView | None:
    effect = record.effect if record is not None else None
    return MeasuredView(effect.median, effect.low, effect.high, effect.device) if effect is not None else None


def _condition(item: LearnedCondition) -> ConditionView:
    condition = item.condition
    return ConditionView(
        expr=condition.expr,
        sentence=("" if item.transition else "before this fix: ") + sentence(parse(condition.expr)),
        origin=condition.origin.value,
        evidence=condition.evidence or "",
    )


def _counts(
    mined: Mined,
    transitions: Sequence[Transition],
    learned: Mapping[str, list[LearnedCondition]],
    checks: Mapping[str, VersionCheck],
    records: Mapping[str, Record],
) -> tuple[tuple[str, str], ...]:
    counts = [
        (len(mined.lineages), "lineages"),
        (sum(len(lineage.versions) for lineage in mined.lineages), "versions"),
        (len(transitions), "transitions"),
        (sum(bool(t.risk) for t in transitions), "with a risk"),
        (sum(map(len, learned.values())), "conditions learned"),
    ]
    if records:
        statuses = [records[t.id].status for t in transitions if t.id in records]
        counts += [(len(checks), "versions checked"), (statuses.count("reproduced"), "steps reproduced")]
        counts += [(n, "right on less than before") for n in (statuses.count("narrower"),) if n]
    return tuple((f"{number:,}", what) for number, what in counts)
