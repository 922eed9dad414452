"""Loops of Triton: what advances by the same amount in every round is exact, what else a round changes is unknown."""

from __future__ import annotations

import ast
from functools import reduce

from kernel_gate.expr import terms
from kernel_gate.expr.lemmas import is_natural
from kernel_gate.expr.terms import ONE, ZERO, Num
from kernel_lineage.code.integers import common
from kernel_lineage.code.values import INT32
from kernel_lineage.proofs.triton.expressions import Expressions
from kernel_lineage.proofs.triton.rounds import Counter, Loop, Run, lost
from kernel_lineage.proofs.triton.scope import Scope, shown

_RANGES = frozenset({"range", "static_range"})


def changed_names(body: list[ast.stmt]) -> set[str]:
    """The variables that are assigned within statements."""
    return {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def read_for(at: Expressions, node: ast.For, run: Run) -> None:
    """Read one round that stands for all, then what holds behind the loop."""
    scope = at.scope
    counter = _counter(at, node)
    if not isinstance(node.target, ast.Name) or node.orelse:
        scope.problem(node, f"a loop over `{shown(node.iter)}`")
        _lose(scope, node, changed_names([node]))
        return
    if counter is None:
        _read_uncounted(at, node, node.target.id, run)
        return
    rounds = scope.round("round")
    loop = Loop(at, node, dict(scope.variables), changed_names(node.body) - {node.target.id}, run)
    loop.counted = (node.target.id, counter)
    loop.find_strides(rounds)
    path = scope.path
    loop.enter(rounds)
    with scope.under(counter.goes_on(rounds)):
        run(node.body)
    scope.path = path
    loop.enter(counter.rounds)
    scope.variables[node.target.id] = counter.at(terms.sub(counter.rounds, ONE))


def read_while(at: Expressions, node: ast.While, run: Run) -> None:
    """The same for a loop that goes on while a condition holds."""
    scope = at.scope
    rounds = scope.round("round")
    loop = Loop(at, node, dict(scope.variables), changed_names(node.body), run)
    loop.find_strides(rounds)
    path = scope.path
    loop.enter(rounds)
    with scope.under(at.condition(node.test).term):
        run(node.body)
    scope.path = path
    end = scope.round("rounds")
    scope.model.ends.add(end.name)
    scope.model.cut = scope.model.cut or f"the loop on line {node.lineno} may end early"
    loop.enter(end)
    with scope.unnoted():
        behind = terms.negation(at.condition(node.test).term)
    scope.path = (*path, behind)


def _lose(scope: Scope, node: ast.For, names: set[str]) -> None:
    for name in names & set(scope.variables):
        why = f"`{name}` is changed in the loop on line {node.lineno}"
        scope.variables[name] = lost(scope, name, scope.variables[name], why)


def _read_uncounted(at: Expressions, node: ast.For, name: str, run: Run) -> None:
    """A loop whose rounds are not known: all that it changes is unknown in it and behind it."""
    scope = at.scope
    scope.model.cut = scope.model.cut or f"the rounds of the loop on line {node.lineno} are not known"
    reason = f"`{name}` of the loop over `{shown(node.iter)}` on line {node.lineno}"
    _lose(scope, node, changed_names(node.body))
    scope.variables[name] = scope.block(name, INT32, reason, ())
    path = scope.path
    run(node.body)
    scope.path = path
    _lose(scope, node, changed_names(node.body))


def _counter(at: Expressions, node: ast.For) -> Counter | None:
    call = node.iter
    if not isinstance(call, ast.Call):
        return None
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name not in _RANGES or not 1 <= len(call.args) <= 3:
        return None
    values = [at.tile(argument, at.value(argument)) for argument in call.args]
    if any(value.shape for value in values):
        return None
    bounds = [value.term for value in values]
    start, stop, step = (ZERO, bounds[0], ONE) if len(bounds) == 1 else (*bounds, ONE)[:3]
    if not (isinstance(step, Num) and step.value != 0) and not is_natural(
        step, frozenset(at.scope.model.naturals)
    ):
        return None
    types = [value.value.type for value in values if not value.weak]
    return Counter(start, stop, step, reduce(common, types, INT32), weak=name == "static_range")
