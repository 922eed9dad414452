"""What `klineage mine --json` prints. Fields may be added; none is renamed without a new version number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from kernel_lineage.history.model import ChangedPart, GuardSeen, Lineage, Mined, Transition, Version
from kernel_lineage.kernels.mechanisms.model import Occurrence

VERSION = 1


class _Document(BaseModel):
    model_config = ConfigDict(
        frozen=True, from_attributes=True, populate_by_name=True, serialize_by_alias=True
    )


class VersionDocument(_Document):
    """One kernel's source at one place in history."""

    id: str
    path: str
    symbol: str
    commit: str | None
    """None for the working tree."""
    lines: tuple[int, int]
    """First and last, 1-based."""
    blob: str
    mechanisms: tuple[str, ...]


class MechanismsDocument(_Document):
    """Ids of mechanisms that a transition adds and removes."""

    added: tuple[str, ...]
    removed: tuple[str, ...]


class OccurrenceDocument(_Document):
    """A mechanism as a version uses it, on one array with one set of parameters."""

    array: str
    """The array or tensor that it works on, "" when it works on none."""
    parameters: dict[str, str]
    lines: tuple[int, ...]


class ChangeDocument(_Document):
    """What happened to one occurrence of a mechanism; null on the side where there is none."""

    mechanism: str
    how: str
    """`appeared`, `went`, `grew`, `shrank`, `changed` or `moved`."""
    before: OccurrenceDocument | None
    after: OccurrenceDocument | None


class GuardsDocument(_Document):
    """Guards that a transition adds and removes."""

    added: tuple[GuardSeen, ...]
    removed: tuple[GuardSeen, ...]


class RiskDocument(_Document):
    """Something that history says against a transition."""

    kind: str
    message: str
    commit: str | None
    transition: str | None
    """The transition that answers this one."""


class ConditionDocument(_Document):
    """What a transition teaches of an earlier step: under which launches the code before it was right."""

    expr: str
    """In the language of conditions, over the kernel's parameters as they are after the transition."""
    kind: str
    """`validity` or `profit`."""
    conditions: str | None
    """The transition that it is a condition of; null where that is the first version of the lineage."""
    origin: str
    """`later fix`, or `guard in code` for a condition that came with its own step."""
    reason: str
    evidence: str
    """The commit and the place that say it."""


class SharedChangeDocument(_Document):
    """One change of code that several kernels reach: told once, with the transitions that it is in each of them."""

    commit: str | None
    path: str
    name: str
    role: str
    kernels: tuple[str, ...]
    transitions: tuple[str, ...]


class TransitionDocument(_Document):
    """One edge of a lineage."""

    id: str
    before: str = Field(alias="from")
    after: str = Field(alias="to")
    kind: str
    intent: str
    because: str
    mechanisms: MechanismsDocument
    occurrences: tuple[ChangeDocument, ...] = ()
    """What `mechanisms` is made of."""
    guards: GuardsDocument
    commit: str | None
    subject: str
    author: str
    date: str
    compound: bool
    answers: str | None
    mends: str | None = None
    """The version that brought in what a fix changes: where no transition led to it, it is a first version."""
    changed: tuple[ChangedPart, ...] = ()
    """The definitions that differ."""
    risk: tuple[RiskDocument, ...]
    teaches: tuple[ConditionDocument, ...] | None = None
    """What history learned from it; null where it was not asked for (`--conditions`)."""


class LineageDocument(_Document):
    """The graph of one kernel's versions."""

    id: str
    kernel: str
    language: str
    versions: tuple[VersionDocument, ...]
    transitions: tuple[TransitionDocument, ...]


class MineDocument(_Document):
    """The lineages of a repository."""

    version: int = VERSION
    repository: str
    head: str | None
    commits: int
    """How many commits were walked."""
    kernels: int
    """How many different kernels (path and name) have a version."""
    lineages: tuple[LineageDocument, ...]
    shared: tuple[SharedChangeDocument, ...]
    """Changes of code that several kernels reach, such as a device function in a header."""
    skipped: dict[str, int]
    messages: tuple[str, ...]


Teaches: TypeAlias = Mapping[str, tuple[ConditionDocument, ...]]
"""A transition's id → what it teaches."""


def mine_document(mined: Mined, teaches: Teaches | None = None) -> MineDocument:
    """The document for what mining found, with what its transitions teach where that was worked out."""
    return MineDocument(
        repository=mined.repository,
        head=mined.head,
        commits=mined.commits_read,
        kernels=len({(v.path, v.symbol) for line in mined.lineages for v in line.versions}),
        lineages=tuple(_lineage(line, mined, teaches) for line in mined.lineages),
        shared=tuple(_shared(mined)),
        skipped=mined.skipped,
        messages=mined.messages,
    )


def _shared(mined: Mined) -> Iterator[SharedChangeDocument]:
    by_change: dict[tuple[str, str, str, str], tuple[set[str], list[str]]] = {}
    for lineage in mined.lineages:
        symbols = {v.id: v.symbol for v in lineage.versions}
        for t in lineage.transitions:
            for part in t.changed:
                if part.role != "kernel":
                    key = t.commit or "", part.path, part.name, part.role
                    kernels, transitions = by_change.setdefault(key, (set(), []))
                    kernels.add(symbols[t.after])
                    transitions.append(t.id)
    for (commit, path, name, role), (kernels, transitions) in sorted(by_change.items()):
        if len(kernels) > 1:
            yield SharedChangeDocument(
                commit=commit or None,
                path=path,
                name=name,
                role=role,
                kernels=tuple(sorted(kernels)),
                transitions=tuple(sorted(transitions)),
            )


def _lineage(lineage: Lineage, mined: Mined, teaches: Teaches | None) -> LineageDocument:
    return LineageDocument(
        id=lineage.id,
        kernel=lineage.kernel,
        language=lineage.language,
        versions=tuple(map(_version, lineage.versions)),
        transitions=tuple(_transition(t, mined, teaches) for t in lineage.transitions),
    )


def _version(version: Version) -> VersionDocument:
    return VersionDocument(
        id=version.id,
        path=version.path,
        symbol=version.symbol,
        commit=version.commit,
        lines=(version.first_line, version.last_line),
        blob=version.blob,
        mechanisms=tuple(sorted(version.mechanisms)),
    )


def _transition(transition: Transition, mined: Mined, teaches: Teaches | None) -> TransitionDocument:
    commit = mined.commits.get(transition.commit or "")
    return TransitionDocument(
        id=transition.id,
        before=transition.before,
        after=transition.after,
        kind=transition.kind,
        intent=transition.intent,
        because=transition.because,
        mechanisms=MechanismsDocument(added=transition.added, removed=transition.removed),
        occurrences=tuple(
            ChangeDocument(
                mechanism=c.mechanism, how=c.how, before=_occurrence(c.before), after=_occurrence(c.after)
            )
            for c in transition.occurrences
        ),
        guards=GuardsDocument(added=transition.guards_added, removed=transition.guards_removed),
        commit=transition.commit,
        subject=commit.subject if commit else "",
        author=commit.author if commit else "",
        date=commit.date if commit else "",
        compound=transition.compound,
        answers=transition.answers,
        mends=transition.mends,
        changed=transition.changed,
        risk=tuple(map(RiskDocument.model_validate, transition.risk)),
        teaches=None if teaches is None else teaches.get(transition.id, ()),
    )


def _occurrence(occurrence: Occurrence | None) -> OccurrenceDocument | None:
    if occurrence is None:
        return None
    return OccurrenceDocument(
        array=occurrence.root, parameters=dict(occurrence.parameters), lines=occurrence.lines
    )
