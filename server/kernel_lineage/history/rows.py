"""What is kept in the cache, as JSON rows and back. Reading anything else raises KeyError, TypeError, ValueError."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from kernel_lineage.history.facts import Facts, GuardFact, OccurrenceFact
from kernel_lineage.history.model import Commit, GuardSeen, Intent, Risk, Transition, TransitionKind
from kernel_lineage.history.outline import Role
from kernel_lineage.history.seen import FileSeen, ForeignLaunch, KernelSeen, Part
from kernel_lineage.kernels.mechanisms.comparing import Change, How
from kernel_lineage.kernels.mechanisms.model import Occurrence


def file_row(seen: FileSeen) -> Any:
    """A file's kernels and foreign launches; None when it has neither."""
    if not seen.kernels and not seen.foreign:
        return None
    return [
        [[k.symbol, k.ordinal, k.digest, _parts_row(k.parts), k.comment] for k in seen.kernels],
        [[f.symbol, f.module, f.digest, _parts_row(f.parts)] for f in seen.foreign],
        seen.header,
    ]


def file_seen(row: Any) -> FileSeen:
    """What `file_row` was given."""
    if row is None:
        return FileSeen()
    kernels, foreign, header = row
    return FileSeen(
        tuple(KernelSeen(s, o, d, _parts(parts), comment) for s, o, d, parts, comment in kernels),
        tuple(ForeignLaunch(s, m, d, _parts(parts)) for s, m, d, parts in foreign),
        header,
    )


def facts_row(facts: Facts) -> Any:
    """Facts of a version."""
    return [[astuple(o) for o in facts.occurrences], [astuple(g) for g in facts.guards], facts.cut]


def facts_of_row(row: Any) -> Facts:
    """What `facts_row` was given."""
    occurrences, guards, cut = row
    return Facts(
        tuple(
            OccurrenceFact(mechanism, root, _pairs(values), _pairs(places), certain)
            for mechanism, root, values, places, certain in occurrences
        ),
        tuple(GuardFact(*g) for g in guards),
        str(cut),
    )


def commit_row(commit: Commit) -> Any:
    """A commit."""
    return [commit.sha, commit.parents, commit.author, commit.date, commit.subject, commit.body]


def commit_of_row(row: Any) -> Commit:
    """What `commit_row` was given."""
    sha, parents, author, date, subject, body = row
    return Commit(sha, tuple(parents), author, date, subject, body)


def transition_row(t: Transition) -> Any:
    """A transition."""
    return [
        t.id, t.before, t.after, t.kind, t.intent, t.added, t.removed, t.commit, t.compound, t.because,
        [[r.kind, r.message, r.commit, r.transition] for r in t.risk], t.answers,
        _guards_row(t.guards_added), _guards_row(t.guards_removed), [_change_row(c) for c in t.occurrences],
    ]  # fmt: skip


def transition_of_row(row: Any) -> Transition:
    """What `transition_row` was given."""
    (
        id_, before, after, kind, intent, added, removed, commit, compound, because, risk, answers, more, less, changed,
    ) = row  # fmt: skip
    return Transition(
        id=id_,
        before=before,
        after=after,
        kind=TransitionKind(kind),
        intent=Intent(intent),
        added=tuple(added),
        removed=tuple(removed),
        commit=commit,
        compound=compound,
        because=because,
        risk=tuple(Risk(*r) for r in risk),
        answers=answers,
        guards_added=tuple(GuardSeen(*g) for g in more),
        guards_removed=tuple(GuardSeen(*g) for g in less),
        occurrences=tuple(
            Change(How(how), _occurrence(one), _occurrence(other)) for how, one, other in changed
        ),
    )


def _parts_row(parts: Sequence[Part]) -> Any:
    return [[p.role, p.name, p.digest, p.first_line, p.last_line] for p in parts]


def _parts(rows: Any) -> tuple[Part, ...]:
    return tuple(Part(Role(r[0]), *r[1:]) for r in rows)


def _guards_row(guards: Sequence[GuardSeen]) -> Any:
    return [[g.expr, g.kind, g.where, g.line, g.leaves] for g in guards]


def _change_row(change: Change) -> Any:
    return [change.how, *(None if o is None else astuple(o) for o in (change.before, change.after))]


def _occurrence(row: Any) -> Occurrence | None:
    if row is None:
        return None
    mechanism, root, values, lines, certain = row
    return Occurrence(mechanism, root, _pairs(values), tuple(lines), certain)


def _pairs(rows: Any) -> tuple[Any, ...]:
    return tuple((first, second) for first, second in rows)
