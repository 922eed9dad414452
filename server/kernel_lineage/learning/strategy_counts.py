"""Mined lineages and kept outcomes → how often each strategy was added, which the offers are ranked by."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from kernel_lineage.history.model import Intent, Lineage, Mined, TransitionKind
from kernel_lineage.kernels.mechanisms.model import BACKGROUND
from kernel_lineage.learning.replay.earlier import known_records
from kernel_lineage.skills.ranking.count_files import keep_counts
from kernel_lineage.skills.ranking.counts import Effect, Observation, counted
from kernel_lineage.skills.ranking.outcomes import as_observations, outcomes_in


def count_mined(mined: Mined) -> tuple[str, ...]:
    """Keep the counts of what was mined where `applicable` and the editor look for them; what went wrong."""
    root = Path(mined.repository)
    outcomes, problems = outcomes_in(root)
    notes = list(problems)
    steps = observed_steps(mined.lineages, effects=_measured(root, notes.append))
    counts = counted([*steps, *as_observations(outcomes)])
    try:
        keep_counts(root, counts, notes.append)
    except (OSError, sqlite3.Error) as error:
        notes.append(f"The counts cannot be kept ({error}); skills are ranked without them.")
    return tuple(notes)


def _measured(root: Path, say: Callable[[str], None]) -> dict[str, Effect]:
    return {
        transition: Effect(speedup=round(record.effect.median, 4), device=record.effect.device)
        for transition, record in sorted(known_records(root, say).items())
        if record.effect is not None
    }


def observed_steps(
    lineages: Iterable[Lineage],
    *,
    effects: Mapping[str, Effect] | None = None,
    prefix: str = "",
) -> Iterator[Observation]:
    """One observation for each transition that adds a strategy.

    Reverts are no steps (what they take back counts less by its risk). `effects` go by transition id; `prefix` is put
    before ids, to tell repositories apart.
    """
    for lineage in lineages:
        present = {v.id: v.mechanisms for v in lineage.versions}
        for transition in lineage.transitions:
            added = tuple(m for m in transition.added if m not in BACKGROUND)
            back = transition.kind is TransitionKind.REVERT or transition.intent is Intent.REVERT
            if added and not back:
                yield Observation(
                    id=prefix + transition.id,
                    language=lineage.language.value,
                    before=present[transition.before],
                    added=added,
                    risks=tuple(sorted({risk.kind for risk in transition.risk})),
                    effect=(effects or {}).get(transition.id),
                    alike=prefix + (transition.commit or ""),
                )
