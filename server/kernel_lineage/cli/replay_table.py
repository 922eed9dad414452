"""How `klineage replay` shows transitions: a line when one is finished, and what came of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernel_lineage.learning.replay.document import ReplayDocument
    from kernel_lineage.learning.replay.learners import Replayed

_WIDE = 150


def line_of(replayed: Replayed) -> str:
    """`reproduced  layernorm_forward_kernel3  1a2b3c4: 21 cases agree …`."""
    item, record = replayed.item, replayed.record
    where = (item.transition.commit or "work tree")[:7]
    reason = " ".join(record.reason.split())
    return f"{record.status:<12}{item.title}  {where}: {reason}"[:_WIDE]


def summary(document: ReplayDocument) -> str:
    """How many there are of each status, and why."""
    counted = ", ".join(f"{number} {status}" for status, number in sorted(document.statuses.items()))
    lines = [f"{document.found} transitions on {document.device}: {counted or 'none replayed'}"]
    if document.remaining:
        lines.append(f"{document.remaining} are left; run it again to go on")
    if document.unstudied:
        lines.append(f"{document.unstudied} are not learned from as yet; run it again to go on")
    lines += [f"  {number:>5}  {code}" for code, number in document.codes.items()]
    skills = document.skills
    if skills.proposed or skills.refused:
        lines.append(
            f"skills: {len(skills.proposed)} proposed, {len(skills.admitted)} admitted, {len(skills.refused)} refused"
        )
        lines += [f"  admitted  {skill}" for skill in skills.admitted]
        lines += [f"  refused   {' '.join(refusal.split())}"[:_WIDE] for refusal in skills.refused]
    return "\n".join(lines)
