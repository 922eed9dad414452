"""Conditions by proof: what must hold of huge sizes for the later state of a step and need not for the earlier one.

No device at hand runs 2³¹ elements. What goes wrong there is arithmetic, and is derived for all sizes: extents of the
grid beyond a device's limits, and 32-bit integers that an address is computed by. A condition is kept when the solver
proves that nothing overflows under it, and exact arithmetic at drawn sizes agrees on both sides of it.
"""

from __future__ import annotations

import itertools
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernel_gate.expr.parsing import Reading
from kernel_gate.expr.solver import SolverMissingError
from kernel_gate.expr.terms import Num, Term, at_most, variables
from kernel_lineage.code.model import UnreadableError
from kernel_lineage.code.setting import MAX_GRID
from kernel_lineage.learning.probes.axis import Ground
from kernel_lineage.learning.probes.holding_out import Sides, why_dropped
from kernel_lineage.learning.probes.huge_sizes import State, drawn, state_of
from kernel_lineage.learning.probes.probed_conditions import OVERFLOW, condition_of
from kernel_lineage.learning.probes.report import Counterexample, Dropped, ProbedCondition
from kernel_lineage.learning.probes.setting import Setting, facts_of, launch_of
from kernel_lineage.proofs.obligations.asking import evaluated
from kernel_lineage.proofs.obligations.obligation import Status
from kernel_lineage.proofs.obligations.overflow import Fitting
from kernel_lineage.skills.card import Origin
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.tree import facts_in
from kernel_lineage.workloads.programs import ProgramError

ID = "proofs"
_SECONDS = 40.0
"""After so many no other question is begun, and that is said."""
_BOUNDS = (2**31 - 1, 2**31 - 2**10, 2**31 - 2**16)
"""The largest 32-bit integer; less of it where the last block reaches behind the end."""


@dataclass(frozen=True, slots=True)
class Proved:
    """All that proofs gave."""

    conditions: tuple[ProbedCondition, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    why_not: str = ""
    """Why nothing could be asked, or not everything; "" when it could."""


_Outcome = ProbedCondition | Dropped


def proved(ground: Ground, seed: int, transition: str) -> Proved:
    """What proofs find in a step (its transition's id), at sizes that its callers may bring."""
    base = ground.base
    if any(launch_of(program, base.workload) is None for program in (base.before, base.after)):
        return Proved(why_not="proofs are about one launch of one kernel")
    until = time.monotonic() + _SECONDS
    outcomes: list[_Outcome] = []
    refuted: list[tuple[Fitting, Mapping[str, int]]] = []
    why_not = ""
    try:
        before, after = (state_of(program, base.workload) for program in (base.before, base.after))
        for fitting in after.fittings:
            status, values, _ = after.overflowing(fitting)
            if status is Status.REFUTED:
                refuted.append((fitting, values))
            if time.monotonic() > until:
                break
        grids = _of_grids(ground, before, after, seed, transition)
        addresses = _of_addresses(ground, before, after, refuted, seed, transition)
        for one in itertools.chain(grids, addresses):
            outcomes.append(one)
            if time.monotonic() > until:
                break
        why_not = f"{_SECONDS:g} s are spent" if time.monotonic() > until else ""
    except (ProgramError, UnreadableError, SolverMissingError) as error:
        why_not = str(error)
    return Proved(
        tuple(f for f in outcomes if isinstance(f, ProbedCondition)),
        tuple(f for f in outcomes if isinstance(f, Dropped)),
        why_not,
    )


def _of_grids(ground: Ground, before: State, after: State, seed: int, transition: str) -> Iterator[_Outcome]:
    """Limits of the grid's second and third axis."""
    free = after.of_any_launch()
    for position, axis in ((1, "y"), (2, "z")):
        extent, most = free.questions.setting.launch.grid[position], MAX_GRID[position]
        asked = free.questions.ask((), at_most(extent, Num(most)), more=free.fit, places=False)
        if asked.status is not Status.REFUTED:
            continue
        dims = {name: asked.values.get(name, 1) for name in ground.base.dims}
        expr, code = f"launch.grid.{axis} <= {most}", "launch-impossible"
        sentence = f"a grid of {evaluated(extent, dims)} blocks along {axis}, of which a device takes {most}"
        if before.launches_at(dims) is not True:
            continue  # the earlier state fails there too
        sides = Sides()
        chance = random.Random(f"{seed} grid {axis}")
        for sizes in drawn(ground, _moved(ground, extent), dims, chance):
            along = evaluated(extent, sizes)
            if along is not None and before.launches_at(sizes) and sides.wants(along <= most):
                sides.add(along <= most, after.launches_at(sizes) is True)
        example = _counterexample(ground.base, expr, dims, code, sentence)
        yield _concluded(expr, example, sides, transition)


def _of_addresses(
    ground: Ground,
    before: State,
    after: State,
    open_: list[tuple[Fitting, Mapping[str, int]]],
    seed: int,
    transition: str,
) -> Iterator[_Outcome]:
    """Bounds on the sizes of buffers under which no address's arithmetic leaves its type."""
    while open_:
        fitting, values = open_.pop(0)
        dims = {name: values.get(name, 1) for name in ground.base.dims}
        sentence = _leaving(fitting, values)
        early = before.overflows_at(dims, before.fittings) if before.launches_at(dims) else True
        if early:
            continue
        bounds = _bounding(after, fitting) if early is False else None
        if bounds is None:
            why = "no bound on a buffer's size was proved to be enough"
            if early is None:
                why = "it is not known whether the earlier state overflows there too"
            example = _counterexample(ground.base, "", dims, OVERFLOW, sentence)
            yield Dropped(axis=ID, expr="", why=why, counterexample=example)
            continue
        expr, product, bound = bounds
        kept = after.supposing(expr)
        covered = [f for f, _ in [(fitting, values), *open_] if kept.overflowing(f)[0] is Status.PROVED]
        sides = Sides()
        chance = random.Random(f"{seed} {expr}")
        for sizes in drawn(ground, _moved(ground, product), dims, chance):
            size = evaluated(product, sizes)
            if size is not None and sides.wants(size <= bound):
                late, early = after.overflows_at(sizes, covered), before.overflows_at(sizes, before.fittings)
                if late is not None and early is False:
                    sides.add(size <= bound, not late)
        example = _counterexample(ground.base, expr, dims, OVERFLOW, sentence, fitting.access.line)
        yield _concluded(expr, example, sides, transition)
        open_ = [(f, v) for f, v in open_ if f not in covered]


def _leaving(fitting: Fitting, values: Mapping[str, int]) -> str:
    """What happens to an address at the sizes of a refutation."""
    for step in fitting.steps:
        value = evaluated(step.term, values)
        if value is not None and not step.least <= value <= step.most:
            return f"`{step.text}` is {value}, which is no {step.type}; `{fitting.access.text}` goes by it"
    return f"the address of `{fitting.access.text}` overflows"


def _bounding(after: State, fitting: Fitting) -> tuple[str, Term, int] | None:
    """The weakest bound on a product of extents that is enough: of the buffer that is accessed first."""
    buffer = after.questions.setting.buffers.get(fitting.access.root)
    own = buffer.elements if buffer is not None else None
    sizes = {
        _product(a.shape): Reading(after.dims).read(_product(a.shape)) for a in after.workload.args if a.shape
    }
    for text, term in sorted(sizes.items(), key=lambda s: s[1] != own):
        for bound in _BOUNDS:
            expr = f"{text} <= {bound}"
            if not isinstance(term, Num) and after.supposing(expr).overflowing(fitting)[0] is Status.PROVED:
                return expr, term, bound
    return None


def _product(extents: Sequence[str | int]) -> str:
    """`N * C`, of a shape; extents that are sums keep their brackets."""
    parts = [str(e) for e in extents if str(e) != "1"] or ["1"]
    return " * ".join(
        part if re.fullmatch(r"\w+|\w+\(.*\)", part) or len(parts) == 1 else f"({part})" for part in parts
    )


def _moved(ground: Ground, term: Term) -> list[str]:
    """The workload's sizes in a term, directly or in what it is computed from."""
    names = set(variables(term))
    return [name for name in ground.base.dims if name in names or any(name in other for other in names)]


def _concluded(expr: str, example: Counterexample, sides: Sides, transition: str) -> _Outcome:
    """A condition that held-out sizes agree with, on both sides."""
    confirmation = sides.confirmation
    if why := why_dropped(confirmation):
        return Dropped(axis=ID, expr=expr, why=why, counterexample=example)
    return condition_of(ID, transition, Origin.PROOF, expr, example, confirmation)


def _counterexample(
    base: Setting, expr: str, dims: Mapping[str, int], code: str, sentence: str, line: int | None = None
) -> Counterexample:
    """Sizes that break a condition, with what its names are there; the sizes where there is no condition."""
    facts = {**facts_of(base.at(**dims)), **dims}
    values = {ref.name: facts.get(ref.name) for ref in facts_in(parse(expr))} if expr else dims
    named = {name: value for name, value in values.items() if isinstance(value, int)}
    return Counterexample(dims=dict(dims), seed=None, code=code, said=sentence, facts=named, line=line)
