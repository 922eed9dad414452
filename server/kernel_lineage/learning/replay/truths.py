"""The truth of a learned condition on the step that it belongs to, and the evidence for it."""

from __future__ import annotations

from collections.abc import Iterable

from kernel_lineage.kernels.mechanisms.registry import mechanisms_of
from kernel_lineage.learning.replay.learners import Replayed
from kernel_lineage.rewrite.program_edits import kernel_of
from kernel_lineage.rewrite.situation import toolchain_facts, workload_facts
from kernel_lineage.skills.applicable import Judged, judge_condition, known_here
from kernel_lineage.skills.card import Condition
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.tree import names_in
from kernel_lineage.skills.promises import Promise, promises_of
from kernel_lineage.workloads.first_device import device_facts


def judged_conditions(replayed: Replayed, conditions: Iterable[Condition], *, on_gpu: bool) -> list[Judged]:
    """Each condition with its truth under the step's workload; without a step little is known of it."""
    wanted = list(conditions)
    if not wanted:
        return []
    facts, promises = _facts_and_promises(replayed, on_gpu)
    return [judge_condition(c, _its_own_names(c), facts, promises) for c in wanted]


def _its_own_names(condition: Condition) -> tuple[tuple[str, str], ...]:
    """A condition that was learned on a kernel speaks in that kernel's names already."""
    return tuple((name, name) for name in sorted(names_in(parse(condition.expr))))


def _facts_and_promises(replayed: Replayed, on_gpu: bool) -> tuple[Facts, tuple[Promise, ...]]:
    facts = toolchain_facts()
    if on_gpu:
        facts = device_facts()[0].merged(facts)
    step = replayed.record.step
    if step is None:
        return facts, ()
    facts = workload_facts(step.workload, f"the workload {replayed.record.workload}").merged(facts)
    kernel = kernel_of(step.after)
    if kernel is None:
        return facts, ()
    # Without a place in the kernel, only what holds in all of it counts.
    promises = tuple(p for p in promises_of(kernel) if not p.behind)
    return known_here(kernel, facts, mechanisms_of(kernel)), promises
