"""What is kept in the cache, as JSON rows and back. Reading anything else raises `DamagedRow`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from kernel_lineage.cache_file import DamagedRow
from kernel_lineage.history.facts import Facts, GuardFact, OccurrenceFact
from kernel_lineage.history.model import (
    ChangedPart,
    Commit,
    GuardSeen,
    Intent,
    Risk,
    Transition,
    TransitionKind,
)
from kernel_lineage.history.outline import Outline, Piece, Role, Wrapped
from kernel_lineage.kernels.mechanisms.comparing import Change, How
from kernel_lineage.kernels.mechanisms.model import Occurrence

P = ParamSpec("P")
R = TypeVar("R")


def _reads(function: Callable[P, R]) -> Callable[P, R]:
    """For what reads a row: one of another form is damaged."""

    @wraps(function)
    def read(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return function(*arguments, **named)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise DamagedRow(f"a row has another form ({error})") from error

    return read


def outline_row(outline: Outline) -> Any:
    """A file's pieces without what `piece_row` keeps, and its imports; None when it has neither."""
    if not outline.pieces and not outline.imports:
        return None
    pieces = [
        [p.role, p.name, p.first_line, p.last_line, p.digest, p.comment, p.entry, p.constant]
        for p in outline.pieces
    ]
    wrapped = [[w.name, w.wrapper, w.function] for w in outline.wrapped]
    return [pieces, outline.imports, wrapped, outline.header]


def piece_row(piece: Piece) -> Any:
    """What is the same wherever a text stands: the names in it."""
    return [sorted(names) for names in (piece.names, piece.launches, piece.marks, piece.wraps)]


@_reads
def outline_of_row(row: Any, pieces: Mapping[str, Any]) -> Outline:
    """What `outline_row` was given, with the rows of its pieces by `piece_key`."""
    if row is None:
        return Outline()
    kept, imports, wrapped, header = row
    return Outline(
        tuple(_piece(row, pieces) for row in kept),
        tuple((here, module, there) for here, module, there in imports),
        tuple(Wrapped(*w) for w in wrapped),
        header,
    )


def piece_key(name: str, digest: str) -> str:
    """What a piece's row is kept under: one text can define several names."""
    return f"{digest}:{name}"


@_reads
def pieces_of_row(row: Any) -> list[str]:
    """The keys of the pieces that an outline's row needs."""
    return [] if row is None else [piece_key(r[1], r[4]) for r in row[0]]


def _piece(row: Any, pieces: Mapping[str, Any]) -> Piece:
    role, name, first, last, digest, comment, entry, constant = row
    names, launches, marks, wraps = map(frozenset, pieces[piece_key(name, digest)])
    return Piece(
        Role(role), name, first, last, digest, names, launches, comment, entry, marks, wraps, constant
    )


def facts_row(facts: Facts) -> Any:
    """Facts of a version."""
    return [[astuple(o) for o in facts.occurrences], [astuple(g) for g in facts.guards], facts.cut]


@_reads
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


@_reads
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
        t.mends, [[c.path, c.name, c.role] for c in t.changed],
    ]  # fmt: skip


@_reads
def transition_of_row(row: Any) -> Transition:
    """What `transition_row` was given."""
    id_, before, after, kind, intent, added, removed, commit, compound, because, risk, answers, *rest = row
    more, less, occurrences, mends, changed = rest
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
            Change(How(how), _occurrence(one), _occurrence(other)) for how, one, other in occurrences
        ),
        mends=mends,
        changed=tuple(ChangedPart(*c) for c in changed),
    )


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
