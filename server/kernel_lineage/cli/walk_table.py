"""A walk as text: from the simplest kernel forward to the expert's."""

from __future__ import annotations

from kernel_lineage.kernels.mechanisms.registry import title_of
from kernel_lineage.learning.backward.document import WalkDocument


def table(document: WalkDocument) -> str:
    """One paragraph a step, and how the walk ended."""
    lines = [f"{document.kernel}, {len(document.steps)} steps back on {document.device}: {document.ended}."]
    for number, (step, transition) in enumerate(
        zip(document.steps, document.lineage.transitions, strict=True), 1
    ):
        added = ", ".join(map(title_of, transition.mechanisms.added)) or "no mechanism that is known"
        speed = step.effect
        effect = (
            f"{speed.median:.3f}× ({speed.low:.3f} … {speed.high:.3f})" if speed is not None else "not timed"
        )
        by = f"made again by {step.forward_by}: {step.forward}" if step.forward_by else "not made again"
        lines.append(f"{number}. adds {added} (taken off by {step.taken_off}): {effect}; {by}, {step.reason}")
        lines += [f"   {count}" for count in step.counts]
        lines += [f"   risk: {risk.message}" for risk in transition.risk]
    return "\n".join(lines)
