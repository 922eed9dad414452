"""Expressions over dims as a person writes them: no more brackets than needed, and `ceil_div` by its name."""

from __future__ import annotations

import ast

from kernel_gate.expr.syntax import tree_of
from kernel_gate.expressions import ExpressionError, evaluate


def tidy(text: str) -> str:
    """An expression of the workload's language in its shortest spelling; itself where it cannot be parsed."""
    try:
        tree = tree_of(text)
        return ast.unparse(_Tidy().visit(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError, ExpressionError):
        return text


class _Tidy(ast.NodeTransformer):
    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        is_constant = not any(isinstance(inner, (ast.Name, ast.Call)) for inner in ast.walk(node))
        return ast.Constant(bool(evaluate(ast.unparse(node), {}))) if is_constant else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        is_and = isinstance(node.op, ast.And)
        if any(_is_bool(side, not is_and) for side in node.values):
            return ast.Constant(not is_and)
        left = [side for side in node.values if not _is_bool(side, is_and)]
        return ast.BoolOp(node.op, left) if len(left) > 1 else left[0] if left else ast.Constant(is_and)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if _is_bool(node.test, True) or _is_bool(node.test, False):
            return node.body if _is_bool(node.test, True) else node.orelse
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.FloorDiv) and (rounded := _rounded_up(node.left, node.right)) is not None:
            return ast.Call(ast.Name("ceil_div", ast.Load()), [rounded, node.right], [])
        if isinstance(node.op, ast.Mult) and _number(node.right) == 1:
            return node.left
        return node


def _is_bool(node: ast.AST, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _rounded_up(top: ast.expr, bottom: ast.expr) -> ast.expr | None:
    """`n` of `n + d - 1`, `n + (d - 1)` and `(n - 1) + d`, where `d` is the divisor; None of another expression."""
    added, constant = _terms(top)
    divisor = _number(bottom)
    if divisor is not None:
        constant -= divisor - 1
    elif (at := next((i for i, t in enumerate(added) if ast.dump(t) == ast.dump(bottom)), None)) is not None:
        del added[at]
        constant += 1
    else:
        return None
    if constant != 0 or len(added) != 1 or divisor == 1:
        return None
    return added[0]


def _terms(node: ast.expr) -> tuple[list[ast.expr], int]:
    """What a sum adds up: its terms, and its constant."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            terms, constant = _terms(left)
            more, other = _terms(right)
            return [*terms, *more], constant + other
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=int(less))):
            terms, constant = _terms(left)
            return terms, constant - less
        case ast.Constant(value=int(number)):
            return [], number
    return [node], 0


def _number(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
