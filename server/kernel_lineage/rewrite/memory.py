"""What was tried on a kernel: outcomes, kept and looked up. What failed on one parent is not tried on it twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from kernel_gate.files.reading import MOST_WORKLOAD, read_file
from kernel_gate.verdict import Verdict
from kernel_lineage.kernels.mechanisms.registry import mechanisms_of
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.profile_facts import profile_facts, profile_of
from kernel_lineage.skills.card import Skill
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.ranking.outcomes import Outcome, keep_outcome, outcomes_in


def parent_of(kernel: Kernel) -> str:
    """What tells one parent from another: SHA-256 of the kernel's own text."""
    return hashlib.sha256(kernel.text.encode("utf-8", "surrogateescape")).hexdigest()


def tried(root: Path, kernel: Kernel, skill: Skill, by: str, workload: Path | None) -> Outcome | None:
    """A rejected outcome of the same skill, lane and way to run it on this very kernel; None when there is none."""
    parent, run = parent_of(kernel), _digest(workload)
    outcomes, _ = outcomes_in(root)
    for outcome in outcomes:
        same = outcome.parent == parent and outcome.skill == skill.id and outcome.workload == run
        if same and outcome.outcome == "rejected" and outcome.by.partition(":")[0] == by:
            return outcome
    return None


def remember(
    root: Path,
    kernel: Kernel,
    path: str,
    skill: Skill,
    by: str,
    candidate: bytes,
    workload: Path | None,
    verdict: Verdict,
) -> Path:
    """Keep what the gate said of a candidate. Raises `OSError`."""
    outcome: Literal["accepted", "rejected", "inconclusive"] = verdict.outcome.value
    return keep_outcome(
        root,
        Outcome(
            skill=skill.id,
            mechanism=skill.mechanism,
            path=path,
            kernel=kernel.name,
            language=kernel.language.value,
            before=tuple(sorted({site.mechanism for site in mechanisms_of(kernel)})),
            parent=parent_of(kernel),
            candidate=hashlib.sha256(candidate).hexdigest(),
            workload=_digest(workload),
            by=by,
            outcome=outcome,
            code=verdict.code.value if verdict.code is not None else "",
            reason=verdict.reason,
            device=str((verdict.environment.get("device") or {}).get("name", "")),
            speedup=verdict.speedup.median if verdict.speedup is not None else None,
            date=datetime.now(UTC).date().isoformat(),
            profile=profile_of(verdict),
        ),
    )


def remembered_facts(root: Path, kernel: Kernel) -> Facts:
    """What earlier runs of the gate showed of this very kernel's limits; the latest run that says something counts."""
    parent = parent_of(kernel)
    outcomes, _ = outcomes_in(root)
    return Facts().merged(*_facts(o for o in outcomes if o.parent == parent))


def _facts(outcomes: Iterable[Outcome]) -> Iterable[Facts]:
    for outcome in sorted(outcomes, key=lambda o: (o.date, o.id), reverse=True):
        yield profile_facts(
            outcome.profile, f"the run of {outcome.date} on {outcome.device or 'an unnamed device'}"
        )


def _digest(workload: Path | None) -> str:
    return hashlib.sha256(read_file(workload, most=MOST_WORKLOAD)).hexdigest() if workload is not None else ""
