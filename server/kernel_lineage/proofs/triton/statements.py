"""Statements of a Triton function, read symbolically along every path."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from kernel_lineage.code.integers import fitted
from kernel_lineage.code.values import INTEGERS
from kernel_lineage.proofs.triton.calls import evaluate_call
from kernel_lineage.proofs.triton.expressions import DTYPES, Expressions, merged
from kernel_lineage.proofs.triton.loops import changed_names, read_for, read_while
from kernel_lineage.proofs.triton.rounds import lost
from kernel_lineage.proofs.triton.scope import Scope, shown
from kernel_lineage.proofs.triton.values import Other, Tile, Tuple, Value


class Statements:
    """Reads the statements of one function."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.at = Expressions(scope, lambda at, node: evaluate_call(at, node, self.run))

    def run(self, statements: list[ast.stmt]) -> bool:
        """Read statements; False when no path goes on behind them."""
        return all(self._one(statement) for statement in statements)

    def _one(self, node: ast.stmt) -> bool:
        match node:
            case ast.Assign(targets=targets, value=value):
                read = self.at.value(value)
                for target in targets:
                    self._assign(target, read)
            case ast.AnnAssign(target=target, value=value, annotation=annotation):
                if value is not None:
                    self._assign(target, self._annotated(node, self.at.value(value), annotation))
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                before = self.scope.variables.get(name, Other(f"`{name}` on line {node.lineno} is not known"))
                self.scope.variables[name] = self.at.binary(node, op, before, self.at.value(value))
            case ast.Expr(value=value):
                self.at.value(value)
            case ast.If():
                return self._branch(node)
            case ast.For():
                read_for(self.at, node, self.run)
            case ast.While():
                read_while(self.at, node, self.run)
            case ast.Return(value=value):
                if value is not None:
                    self.scope.returned.append((self.scope.path, self.at.value(value)))
                return False
            case ast.Assert() | ast.Pass() | ast.Import() | ast.ImportFrom() | ast.Global():
                pass
            case _:
                self._unmodelled(node)
        return True

    def _annotated(self, node: ast.stmt, value: Value, annotation: ast.expr) -> Value:
        """`x: tl.constexpr = …` is a Python number, `x: tl.int64 = …` one of that type."""
        name = annotation.attr if isinstance(annotation, ast.Attribute) else ""
        if not isinstance(value, Tile):
            return value
        if name == "constexpr":
            return replace(value, weak=not value.shape)
        type_ = INTEGERS.get(DTYPES.get(name, ""))
        if type_ is None:
            return value
        return Tile(fitted(self.scope.site(node), value.value, type_), value.shape)

    def _assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self.scope.variables[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                items = value.items if isinstance(value, Tuple) and len(value.items) == len(parts) else None
                for position, part in enumerate(parts):
                    self._assign(part, items[position] if items is not None else Other())
            case _:
                self.scope.problem(target, f"an assignment to `{shown(target)}`")

    def _branch(self, node: ast.If) -> bool:
        condition = self.at.condition(node.test).term

        def both(yes: Mapping[str, Value], no: Mapping[str, Value]) -> dict[str, Value]:
            names = dict.fromkeys((*yes, *no))
            return {n: merged(self.scope, node.test, condition, yes.get(n), no.get(n)) for n in names}

        return self.scope.branch(condition, lambda: self.run(node.body), lambda: self.run(node.orelse), both)

    def _unmodelled(self, node: ast.stmt) -> None:
        """Forget what a statement may change, and remember that accesses may hide in it."""
        what = type(node).__name__.lower()
        self.scope.problem(node, f"a {what} statement: `{shown(node)}`")
        for name in changed_names([node]):
            if name in self.scope.variables:
                why = f"`{name}` is changed on line {node.lineno}"
                self.scope.variables[name] = lost(self.scope, name, self.scope.variables[name], why)
