"""From a failing case to a smaller one that shows the same: the counterexample that people see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernel_lineage.learning.probes.asking import Answer, Asking, Saw
from kernel_lineage.learning.probes.predicates import Atom
from kernel_lineage.learning.probes.setting import Setting, facts_of

_SHRUNK_TO = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 32, 33)


def shrunk(example: Answer, atom: Atom, others: Sequence[Atom], asking: Asking, base: Setting) -> Answer:
    """A smaller failing case that still breaks the atom alone: each dimension in turn as small as it will go.

    At its sizes nothing else may be wrong: a case that fails by its sizes alone shows nothing of an alignment.
    """
    best = example
    for name in sorted(best.setting.dims):
        for extent in (e for e in _SHRUNK_TO if e < best.setting.dims[name]):
            smaller = best.setting.at(**{name: extent})
            facts = facts_of(smaller)
            if not smaller.runs or not atom.broken_by(facts) or any(o.broken_by(facts) for o in others):
                continue
            if smaller.dims.keys() == base.dims.keys() and not _right_by_size(
                base.at(**smaller.dims), smaller, asking
            ):
                continue
            answer = asking.ask(smaller)
            if answer.saw is Saw.FAILS:
                best = answer
                break
    return best


def _right_by_size(plain: Setting, moved: Setting, asking: Asking) -> bool:
    """Whether the case as the workload runs it agrees at these sizes; where only sizes were moved, nothing is asked."""
    plain = replace(plain, seed=moved.seed)
    return plain.key == moved.key or (plain.runs and asking.ask(plain).saw is Saw.AGREES)
