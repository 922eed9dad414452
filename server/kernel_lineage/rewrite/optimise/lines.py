"""A search in words: a line for each candidate, and what came of it."""

from __future__ import annotations

from kernel_lineage.rewrite.optimise.document import OptimiseDocument, TriedDocument


def tried_line(tried: TriedDocument) -> str:
    """One candidate: its round, skill, outcome and what is known of its gain."""
    if not tried.correct:
        text = tried.reason
    elif tried.speedup is not None:
        text = f"{tried.speedup:.2f}× ({tried.outcome})"
    elif tried.before is not None and tried.after is not None:
        before, after = tried.before, tried.after
        text = (
            f"correct, not timed; sectors {before.sectors} → {after.sectors}, requests {before.requests} → "
            f"{after.requests}, instructions {before.instructions} → {after.instructions}"
        )
    else:
        text = f"correct, not timed; {tried.reason}"
    return f"{tried.round:>2}  {tried.skill:<28}{tried.seconds:6.1f} s  {text}"


def summary(document: OptimiseDocument) -> str:
    """The end of a search for a person."""
    lines = [f"{document.kernel}: {document.reason} ({document.seconds:.0f} s)"]
    if document.promoted:
        lines.append("Promoted: " + ", then ".join(t.skill for t in document.promoted))
    verdict = document.verdict
    if verdict is not None:
        speed = verdict.speedup
        timed = (
            f"{speed.median:.2f}× ({speed.low:.2f} … {speed.high:.2f})" if speed is not None else "not timed"
        )
        lines.append(f"In all: {verdict.outcome.value}, {timed}; {verdict.reason}")
    if not document.timed and any(t.correct for t in document.tried):
        lines.append(
            "Nothing was timed here: candidates are ordered by counted work, and none is said to be faster."
        )
        correct = sorted((t for t in document.tried if t.correct), key=lambda t: -t.gain)
        lines += [f"  {t.skill:<28}{t.patch}" for t in correct[:5]]
    if document.patch is not None:
        lines.append(f"The patch is {document.patch}")
    lines.append(f"{document.path} was changed." if document.applied else "The file was not changed.")
    lines += [f"  not tried: {r.skill}: {r.reason}" for r in document.not_tried]
    return "\n".join(lines)
