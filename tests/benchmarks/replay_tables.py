"""The page of replayed histories: what was found, replayed, split, learned and admitted, and why the rest was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from kernel_lineage.learning.replay.document import ReplayDocument, ReplayedTransition
from kernel_lineage.skills.conditions.truth import Truth

STATUSES = ("reproduced", "narrower", "failed", "unbuildable", "undecided")
_INTENTS = ("optimisation", "fix", "revert")


def page(documents: Mapping[str, ReplayDocument], date: str) -> str:
    """The figures of every repository, what was learned, and how often each reason is given."""
    devices = ", ".join(sorted({d.device for d in documents.values()}))
    lines = [
        "# Replayed histories",
        "",
        f"`klineage replay REPO` on {devices}, {date}; no repository has a workload of its own.",
        "",
        f"| repository | device | found | replayed | {' | '.join(STATUSES)} | measured | seconds each |",
        "|---|---|" + "---:|" * (len(STATUSES) + 4),
        *(_became(name, d) for name, d in documents.items()),
    ]
    if any(part for d in documents.values() for t in d.transitions for part in t.parts):
        lines += ["", *_learned(documents)]
    for name, d in documents.items():
        lines += ["", f"## {name}", "", "| status | code | optimisations | fixes | reverts | all |"]
        lines += ["|---|---|---:|---:|---:|---:|", *_reasons(d.transitions)]
        lines += _skills(d)
    return "\n".join(lines) + "\n"


def _became(name: str, d: ReplayDocument) -> str:
    each = sum(t.seconds for t in d.transitions) / max(1, len(d.transitions))
    measured = sum(t.effect is not None for t in d.transitions)
    statuses = Counter(t.status for t in d.transitions)
    counted = " | ".join(str(statuses[status]) for status in STATUSES)
    return f"| {name} | {d.device} | {d.found} | {len(d.transitions)} | {counted} | {measured} | {each:.1f} |"


def _learned(documents: Mapping[str, ReplayDocument]) -> Iterator[str]:
    """What studying gave. A condition is decided when the checker gives it a truth on the step's own workload."""
    yield "## What was learned"
    yield ""
    yield (
        "| repository | studied | split | compound | parts | conditions | validity | profit | decided by machine "
        "| skills proposed | admitted | refused | GPU seconds | emulated seconds |"
    )
    yield "|---|" + "---:|" * 13
    for name, d in documents.items():
        studied = [t for t in d.transitions if t.parts or t.compound]
        conditions = [c for t in d.transitions for c in t.conditions]
        kinds = Counter(c.kind.value for c in conditions)
        decided = sum(c.truth is not Truth.UNKNOWN for c in conditions)
        share = f"{decided / len(conditions):.0%}" if conditions else "–"
        row = [
            len(studied),
            sum(len(t.parts) > 1 for t in studied),
            sum(bool(t.compound) for t in studied),
            sum(len(t.parts) for t in studied),
            len(conditions),
            kinds["validity"],
            kinds["profit"],
            share,
            len(d.skills.proposed),
            len(d.skills.admitted),
            len(d.skills.refused),
            *(f"{d.device_seconds.get(kind, 0.0):.0f}" for kind in ("gpu", "emulated")),
        ]
        yield f"| {name} | " + " | ".join(map(str, row)) + " |"
    origins = Counter(c.origin.value for d in documents.values() for t in d.transitions for c in t.conditions)
    yield ""
    yield "Conditions by origin: " + (", ".join(f"{n} {o}" for o, n in origins.most_common()) or "none") + "."
    yield "Every condition is an expression that the checker parses; *decided* are those to which it gives a truth on"
    yield "the workload of the step itself. Seconds are added up over workers, as a run's verdicts took them."


def _reasons(transitions: list[ReplayedTransition]) -> list[str]:
    """How often each code is given, for each intent."""
    often = Counter((t.status, t.code) for t in transitions)
    by_intent = Counter((t.status, t.code, t.intent) for t in transitions)
    rows = []
    for (status, code), number in sorted(often.items(), key=lambda r: (STATUSES.index(r[0][0]), -r[1])):
        counted = " | ".join(str(by_intent[status, code, i]) for i in _INTENTS)
        rows.append(f"| {status} | `{code}` | {counted} | {number} |")
    return rows


_LONG = 200


def _skills(d: ReplayDocument) -> Iterator[str]:
    if not d.skills.proposed and not d.skills.refused:
        return
    yield ""
    proposed, admitted = (", ".join(ids) or "none" for ids in (d.skills.proposed, d.skills.admitted))
    yield f"Skills proposed: {proposed}. Admitted: {admitted}. Refused:"
    yield ""
    for refusal in d.skills.refused:
        one_line = " ".join(refusal.split())
        yield f"- {one_line[:_LONG]}{'…' if len(one_line) > _LONG else ''}"
