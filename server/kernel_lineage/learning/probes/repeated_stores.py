"""Work that the later state repeats: what it stores to device memory again though it is there already, counted.

Wrong bounds of a loop may leave every result right and cost as much as the optimisation gains. No comparison of values
sees that, and no time is to be had on the emulated device; but its counts say how often each byte was stored. Where the
later state stores more often than the earlier one, what parts such launches and sizes from the others is a condition
under which the step pays.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernel_gate.options import GateOptions
from kernel_gate.request import GateRequest
from kernel_lineage.learning.guard_conditions import category_of
from kernel_lineage.learning.probes.asking import Asking, OutOfBudget
from kernel_lineage.learning.probes.axis import Ground
from kernel_lineage.learning.probes.holding_out import Sides, why_dropped
from kernel_lineage.learning.probes.inference import explain
from kernel_lineage.learning.probes.predicates import Atom
from kernel_lineage.learning.probes.registry import axes
from kernel_lineage.learning.probes.report import Confirmation, Cost
from kernel_lineage.learning.probes.setting import Setting, facts_of
from kernel_lineage.learning.steps import Step
from kernel_lineage.skills.card import Condition, ConditionKind, Origin
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.tree import facts_in

ID = "repeated stores"
_AGAIN = 1.5
"""So much more often than the earlier state: tails that overlap are less."""
_LOOKED_AT, _LAUNCHES, _LEARNED_FROM, _HELD_OUT = 3, 10, 12, 5
_MOVED = ("launch", "sizes")


@dataclass(frozen=True, slots=True)
class Stores:
    """How often each state stores a byte that it stores, on average, in one setting."""

    setting: Setting
    before: float
    after: float
    line: int | None
    """The line of the later state's source where it stores most."""

    @property
    def repeats(self) -> bool:
        """Whether the later state stores again what it has stored, and the earlier one does not."""
        return self.after >= _AGAIN * self.before


def repeated_stores(step: Step, ground: Ground, asking: Asking, seed: int) -> tuple[Cost, ...]:
    """Conditions under which nothing is stored again, or that it is wherever it was looked; none when it is nowhere.

    What the budget did not let it confirm is left out.
    """
    chance = random.Random(f"{seed} {ID}")
    cases: list[Stores] = []
    try:
        cases += _counted(_first(ground), asking)
        if not any(one.repeats for one in cases):
            return ()
        launches = [s for s in axes()["launch"].boundaries(ground) if ground.worth(s)][:_LAUNCHES]
        cases += _counted(launches, asking)
        cases += itertools.islice(_counted(_drawn(ground, chance), asking), _LEARNED_FROM)
        return tuple(_learned(step, ground, cases, asking, chance))
    except OutOfBudget:
        return ()


def _first(ground: Ground) -> list[Setting]:
    """The base, and the largest launches and sizes that axes begin with."""
    moved = [s for name in _MOVED for s in itertools.islice(axes()[name].boundaries(ground), 12)]
    largest = sorted((s for s in moved if ground.worth(s)), key=lambda s: (_threads(s), s.size))
    return [ground.base, *largest[-(_LOOKED_AT - 1) :]]


def _threads(setting: Setting) -> int:
    block = facts_of(setting).get("launch.block.x", 1)
    return block if isinstance(block, int) else 1


def _drawn(ground: Ground, chance: random.Random) -> Iterator[Setting]:
    """Launches and sizes in turns."""
    pools = [list(axes()[name].pool(ground, chance)) for name in _MOVED]
    yield from (
        s for pair in itertools.zip_longest(*pools) for s in pair if s is not None and ground.worth(s)
    )


def _counted(settings: Iterable[Setting], asking: Asking) -> Iterator[Stores]:
    """The stores of the settings that the gate counts. Raises `OutOfBudget`."""
    for setting in settings:
        verdict = asking.look(_request(setting))
        stage = verdict.stage("sanitize") if verdict is not None else None
        counts = stage.details.get("counts", {}) if stage is not None else {}
        before, after = (_times(counts.get(side)) for side in ("before", "after"))
        if before is not None and after is not None:
            yield Stores(setting, before, after, _line(counts["after"]))


def _request(setting: Setting) -> GateRequest:
    """The setting as its workload's one named shape, of which the gate counts both states."""
    dims = {name: (extent,) for name, extent in setting.dims.items()}
    workload = setting.workload.model_copy(update={"dims": dims, "profile_dims": ()})
    options = GateOptions(hidden=False, seed=setting.seed, emulated_arch=setting.arch)
    return GateRequest.of(setting.before, setting.after, workload, device="emulated", options=options)


def _times(counts: Mapping[str, Any] | None) -> float | None:
    """How often a byte is stored that is stored; None where none is, and with atomics, which add to what is there."""
    if not counts or counts["total"]["classes"].get("atomic"):
        return None
    written = counts["work"]["written_bytes"]
    return counts["total"]["global_written_bytes"] / written if written else None


def _line(counts: Mapping[str, Any]) -> int | None:
    worst = max(counts["lines"], key=lambda row: int(row["global_written_bytes"]), default=None)
    return None if worst is None else worst["line"]


def _learned(
    step: Step, ground: Ground, cases: Sequence[Stores], asking: Asking, chance: random.Random
) -> Iterator[Cost]:
    once = [facts_of(one.setting) for one in cases if not one.repeats]
    again = [one for one in cases if one.repeats]
    worst = max(again, key=lambda one: one.after)
    sentence = (
        f"stored bytes are stored {worst.after:.3g} times, by the earlier state {worst.before:.3g} times"
        + (f" (line {worst.line})" if worst.line is not None else "")
    )
    if not once:
        yield Cost(said=f"{sentence}; so it is in all {len(cases)} cases that were counted")
        return
    explained = explain(once, [facts_of(one.setting) for one in again], ground.hints)
    if explained is None or len(explained.parts) > 1:
        yield Cost(said=f"{sentence}; nothing parts such cases from the {len(once)} others")
        return
    (atom,) = explained.parts
    confirmation = _confirmed(atom, cases, ground, asking, chance)
    if why := why_dropped(confirmation):
        yield Cost(said=f"{sentence}; `{atom.expr}` was not confirmed: {why}")
        return
    yield Cost(said=sentence, condition=_condition(step, atom, worst, sentence), confirmation=confirmation)


def _confirmed(
    atom: Atom, cases: Sequence[Stores], ground: Ground, asking: Asking, chance: random.Random
) -> Confirmation:
    """What fresh cases on both sides of it show."""
    sides = Sides(_HELD_OUT)
    keys = {repr(facts_of(one.setting)) for one in cases}
    for setting in itertools.chain(_drawn(ground, chance), _drawn(ground, chance)):
        facts = facts_of(setting)
        keeps = not atom.broken_by(facts)
        if repr(facts) in keys or not sides.wants(keeps):
            continue
        keys.add(repr(facts))
        for one in _counted([setting], asking):
            sides.add(keeps, not one.repeats)
    return sides.confirmation


def _condition(step: Step, atom: Atom, worst: Stores, sentence: str) -> Condition:
    facts = facts_of(worst.setting)
    named = ", ".join(f"{r} = {facts[r]}" for r in dict.fromkeys(f.name for f in facts_in(parse(atom.expr))))
    dims = ", ".join(f"{name} {extent}" for name, extent in worst.setting.dims.items())
    return Condition(
        kind=ConditionKind.PROFIT,
        category=category_of(atom.expr),
        expr=atom.expr,
        reason=f"Otherwise it stores again what it has stored already, as with {named}.",
        origin=Origin.PROBE,
        evidence=f"{dims}, {named}: {sentence}; counted on the emulated device, not timed (probe of {step.transition})",
    )
