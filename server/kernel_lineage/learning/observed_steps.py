"""Mined and walked lineages → the steps that the transition graph is built from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kernel_lineage.history.model import Intent, Lineage, Transition, TransitionKind
from kernel_lineage.kernels.mechanisms.model import BACKGROUND
from kernel_lineage.skills.graph.model import Effect, Observation, Source


def observed_steps(
    lineages: Iterable[Lineage],
    *,
    effects: Mapping[str, Effect] | None = None,
    prefix: str = "",
    near: bool = True,
) -> Iterator[Observation]:
    """One observation for each transition that adds a strategy.

    Reverts are no steps (what they take back counts less by its risk). `effects` go by transition id; `prefix` is put
    before ids, to tell repositories apart; `near` is whether it is the repository at hand.
    """
    for lineage in lineages:
        histories = histories_of(lineage)
        mechanisms = {v.id: v.mechanisms for v in lineage.versions}
        for transition in lineage.transitions:
            added = _strategies(transition)
            if not added or _goes_back(transition):
                continue
            yield Observation(
                id=prefix + transition.id,
                language=lineage.language.value,
                before=mechanisms[transition.before],
                history=histories[transition.before],
                added=added,
                source=Source.WALKED if transition.kind is TransitionKind.BACKWARD else Source.MINED,
                risks=tuple(sorted({risk.kind for risk in transition.risk})),
                effect=(effects or {}).get(transition.id),
                near=near,
                alike=prefix + (transition.commit or ""),
            )


def histories_of(lineage: Lineage) -> dict[str, tuple[str, ...]]:
    """Version id → the strategies that the steps to it added, oldest first; along the first way that leads to it."""
    known: dict[str, tuple[str, ...]] = {}
    for transition in lineage.transitions:
        before = known.setdefault(transition.before, ())
        added = () if _goes_back(transition) else _strategies(transition)
        kept = tuple(s for s in before if s not in transition.removed)
        known.setdefault(transition.after, (*kept, *added))
    return {v.id: known.get(v.id, ()) for v in lineage.versions}


def _strategies(transition: Transition) -> tuple[str, ...]:
    return tuple(m for m in transition.added if m not in BACKGROUND)


def _goes_back(transition: Transition) -> bool:
    return transition.kind is TransitionKind.REVERT or transition.intent is Intent.REVERT
