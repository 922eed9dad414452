"""A verdict for people: one line for a message, and a page."""

from __future__ import annotations

from pathlib import Path

from kernel_gate.verdict import StageStatus
from kernel_lineage.rewrite.document import ApplyDocument
from kernel_lineage.rewrite.patches import unified_diff

_REJECTED = "Rejected by "
"""How the reason of a rejection begins, which names the stage."""


def summary_of(document: ApplyDocument) -> str:
    """`Rejected by check: y[3, 769] = NaN …. Nothing was changed.`; says nothing of an edit when it was accepted."""
    reason = " ".join(document.reason.split()).rstrip(".")
    if document.outcome == "accepted":
        return f"Accepted: {reason}."
    if reason.startswith(_REJECTED):
        return f"{reason}. Nothing was changed."
    word = document.outcome if document.outcome == "refused" else document.standing.label
    head = word.capitalize()
    passed = _passed(document)
    if document.outcome == "inconclusive" and passed:
        head += f" ({passed} passed)"
    return f"{head}: {reason}. Nothing was changed."


def page_of(title: str, document: ApplyDocument, before: bytes) -> str:
    """The verdict as one page of HTML: the difference, the conditions, what was counted and timed, each stage.

    `before` is the text that was judged. "" where nothing was judged.
    """
    if document.verdict is None:
        return ""
    from kernel_gate.reporting.html import render
    from kernel_gate.reporting.named import NamedVerdict

    patch = "" if document.patch is None else f"The candidate is kept as a patch: {document.patch}"
    name = Path(document.path).name
    named = NamedVerdict(
        kernel=title,
        verdict=document.verdict,
        candidate=name,
        line=before[: min((edit.start for edit in document.edits), default=0)].count(b"\n") + 1,
        difference=unified_diff(before, document.changed(before), name),
        notes=tuple(
            filter(None, (f"{document.kernel}, by {document.by}", document.explanation.strip(), patch))
        ),
    )
    return render([named]).encode("utf-8", "replace").decode()


def _passed(document: ApplyDocument) -> str:
    stages = [] if document.verdict is None else document.verdict.stages
    return ", ".join(stage.name for stage in stages if stage.status is StageStatus.PASS)
