"""What `klineage audit` prints: claimed against verdict, as JSON, as a table of 80 columns, and as a page."""

from __future__ import annotations

import csv
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel

from kernel_gate.standing import Standing
from kernel_lineage.auditing.judging import TOLERANCE, Audited

VERSION = 1
_WIDE = 80


class SignDocument(BaseModel):
    """A hint for a reader; it decides nothing."""

    line: int
    what: str


class SubmissionDocument(BaseModel):
    """One submission."""

    file: str
    claim: str
    """What whoever published it says of it; "" where nothing was named."""
    standing: Standing
    reason: str
    kernels: list[str]
    """Those that its forward launched."""
    sizes: dict[str, list[int]]
    """Size → the module's own, and the one that was run in its place."""
    signs: list[SignDocument]
    seconds: float


class AuditDocument(BaseModel):
    """What `klineage audit --json` prints."""

    version: int = VERSION
    folder: str
    device: str = "emulated"
    tolerance: dict[str, float]
    submissions: list[SubmissionDocument]
    standings: dict[str, int]
    claims: dict[str, dict[str, int]]
    """Claim → standing → how many."""


def audit_document(folder: str, audited: Sequence[Audited], claims: Mapping[str, str]) -> AuditDocument:
    """The document of some submissions; `claims` by file."""
    rows = [
        SubmissionDocument(
            file=one.submission.name,
            claim=claims.get(one.submission.name, ""),
            standing=one.standing,
            reason=one.reason,
            kernels=list(one.launched),
            sizes={name: list(pair) for name, pair in one.sizes.items()},
            signs=[SignDocument(line=s.line, what=s.what) for s in one.signs],
            seconds=one.seconds,
        )
        for one in audited
    ]
    by_claim = {
        claim: Counter(r.standing.value for r in rows if r.claim == claim)
        for claim in {r.claim for r in rows}
    }
    return AuditDocument(
        folder=folder,
        tolerance=TOLERANCE,
        submissions=rows,
        standings=dict(Counter(r.standing.value for r in rows)),
        claims={claim: dict(by_claim[claim]) for claim in sorted(by_claim)},
    )


def read_claims(path: Path) -> dict[str, str]:
    """File → claim, from a CSV with the columns `file` and `claim`. Raises `ValueError`, and `OSError`."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if not {"file", "claim"} <= set(reader.fieldnames or ()):
            raise ValueError(f"{path} has no columns `file` and `claim`")
        return {row["file"]: row["claim"] for row in reader}


def _clipped(text: str, wide: int) -> str:
    return text if len(text) <= wide else f"{text[: wide - 1]}…"


def table(document: AuditDocument) -> str:
    """A line or two for each submission, and how many there are of each standing under each claim."""
    lines = []
    for row in document.submissions:
        claim = f" (claimed {row.claim})" if row.claim else ""
        lines.append(_clipped(f"{row.standing.label}{claim}: {row.file}", _WIDE))
        lines += textwrap.wrap(row.reason, _WIDE, initial_indent="    ", subsequent_indent="    ")
        if row.sizes:
            smaller = ", ".join(f"{n} {a} → {b}" for n, (a, b) in row.sizes.items())
            lines.append("    " + _clipped(f"run smaller: {smaller}", _WIDE - 4))
        lines += ["    " + _clipped(f"hint, line {s.line}: {s.what}", _WIDE - 4) for s in row.signs]
    if not lines:
        return f"{document.folder} has no module with ModelNew and no kernel."
    lines.append("")
    for claim, counts in document.claims.items():
        tally = ", ".join(f"{counts[s]} {s.label}" for s in Standing if s in counts)
        lines.append(f"{'claimed ' + claim if claim else 'without a claim'}: {tally}")
    return "\n".join(lines)
