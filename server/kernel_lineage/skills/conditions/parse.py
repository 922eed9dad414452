"""From text to a condition's tree: read with Python's `ast`, checked by type, never evaluated as Python.

What is allowed: comparisons (also chained), `and`, `or`, `not`, `+ - * // % **`, `in` with a tuple, numbers, texts,
tuples, names, the dotted names and functions of `names.py`, and `min`, `max`, `ceil_div`, `is_power_of_2`, `itemsize`.
"""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache

from kernel_gate.expr.syntax import tree_of
from kernel_lineage.skills.conditions.fact_name import Argument, FactName, Type
from kernel_lineage.skills.conditions.names import DTYPES, FACT_NAMES, declared
from kernel_lineage.skills.conditions.tree import FUNCTIONS, Expr, FactRef, Items, Literal, Op

MAX_LENGTH = 600
"""Longer conditions are refused: a card must stay readable."""
MAX_DEPTH = 50
"""Deeper nesting is refused, so that no walk over a tree runs out of stack."""

_ARITHMETIC: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_COMPARISON: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_ORDERED = {Type.NUMBER, Type.VERSION, Type.INTERVAL}


class ConditionError(ValueError):
    """An expression that is not in the language. `column` counts from 1."""

    def __init__(self, message: str, expr: str, column: int) -> None:
        super().__init__(f"column {column} of `{expr}`: {message}")
        self.message, self.expr, self.column = message, expr, column


@lru_cache(maxsize=8192)
def parse(expr: str) -> Expr:
    """The tree of a condition. Raises `ConditionError`, which names the column and what is allowed there."""
    expr = expr.strip()
    return _Parser(expr).truth(_read(expr))


@lru_cache(maxsize=8192)
def parse_number(expr: str) -> Expr:
    """The tree of an expression that is a number: `2 * C`. Raises `ConditionError`."""
    expr = expr.strip()
    return _Parser(expr).number(_read(expr))


def _read(expr: str) -> ast.expr:
    if len(expr) > MAX_LENGTH:
        raise ConditionError(
            f"longer than {MAX_LENGTH} characters; split it into several conditions", expr[:40], 1
        )
    try:
        return tree_of(expr)
    except SyntaxError as error:
        raise ConditionError(f"not an expression ({error.msg})", expr, error.offset or 1) from None
    except (ValueError, RecursionError, MemoryError) as error:  # null bytes; nested too deeply for the parser
        raise ConditionError(f"not an expression ({type(error).__name__})", expr, 1) from None


class _Parser:
    """Holds the text for messages while the tree is made."""

    def __init__(self, expr: str) -> None:
        self.expr = expr
        self.depth = 0

    def fail(self, node: ast.AST, message: str) -> ConditionError:
        return ConditionError(message, self.expr, getattr(node, "col_offset", 0) + 1)

    def truth(self, node: ast.expr) -> Expr:
        """A part that must be true or false; a bare name may be a flag."""
        tree = self.node(node)
        if tree.type is Type.TRUTH or (isinstance(tree, FactRef) and isinstance(node, ast.Name)):
            return tree
        raise self.fail(node, f"a {tree.type} cannot be true or false; compare it with something")

    def number(self, node: ast.expr) -> Expr:
        """A part that must be a number."""
        tree = self.node(node)
        if tree.type is not Type.NUMBER:
            raise self.fail(node, f"a number is needed here, this is a {tree.type}")
        return tree

    def node(self, node: ast.expr) -> Expr:
        """Any part."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail(node, f"nested more than {MAX_DEPTH} deep; split it into several conditions")
        tree = self.untracked(node)
        self.depth -= 1
        return tree

    def untracked(self, node: ast.expr) -> Expr:
        column = node.col_offset + 1
        match node:
            case ast.Constant():
                return self.literal(node)
            case ast.Tuple():
                return Items(tuple(self.node(e) for e in node.elts), column=column)
            case ast.Name() | ast.Attribute():
                return self.name(node)
            case ast.Call():
                return self.call(node)
            case ast.UnaryOp(op=ast.Not()):
                return Op("not", (self.truth(node.operand),), Type.TRUTH, column)
            case ast.UnaryOp(op=ast.USub()):
                return Op("neg", (self.number(node.operand),), column=column)
            case ast.BinOp():
                op = _ARITHMETIC.get(type(node.op))
                if op is None:
                    raise self.fail(
                        node, f"only {' '.join(_ARITHMETIC.values())} are allowed between numbers"
                    )
                return Op(op, (self.number(node.left), self.number(node.right)), column=column)
            case ast.BoolOp():
                op = "and" if isinstance(node.op, ast.And) else "or"
                return Op(op, tuple(self.truth(v) for v in node.values), Type.TRUTH, column)
            case ast.Compare():
                return self.comparison(node)
            case _:
                raise self.fail(
                    node,
                    f"{type(node).__name__} is not in the condition language; allowed are comparisons, and/or/not, "
                    "arithmetic, `in`, numbers, texts, tuples, fact names and "
                    f"{', '.join(FUNCTIONS)}",
                )

    def literal(self, node: ast.Constant) -> Literal:
        value, column = node.value, node.col_offset + 1
        if isinstance(value, bool):
            return Literal(value, Type.TRUTH, column)
        if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
            return Literal(value, Type.NUMBER, column)
        if isinstance(value, str):
            return Literal(value, Type.TEXT, column)
        raise self.fail(
            node, f"{value!r} is no value of the language; allowed are numbers, True, False and texts"
        )

    def name(self, node: ast.Name | ast.Attribute) -> Expr:
        name, column = ast.unparse(node), node.col_offset + 1
        if name in DTYPES:
            return Literal(name, Type.DTYPE, column)
        declaration = FACT_NAMES.get(name)
        if declaration is not None and not declaration.arguments:
            return FactRef(name, declaration.type, column=column)
        if declaration is not None:
            raise self.fail(node, f"`{name}` takes arguments: `{declaration.form}`")
        if isinstance(node, ast.Attribute):
            raise self.fail(node, f"`{name}` is no declared fact{_nearest(name, FACT_NAMES)}")
        if name in FUNCTIONS:
            raise self.fail(node, f"`{name}` is a function and takes arguments")
        return FactRef(name, Type.NUMBER, column=column)

    def call(self, node: ast.Call) -> Expr:
        name, column = ast.unparse(node.func), node.col_offset + 1
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise self.fail(node, "arguments are given by position")
        declaration = FACT_NAMES.get(name)
        if declaration is not None:
            if len(node.args) != len(declaration.arguments) or not declaration.arguments:
                raise self.fail(node, f"write it as `{declaration.form}`")
            written = (
                self.argument(a, kind, declaration)
                for a, kind in zip(node.args, declaration.arguments, strict=True)
            )
            return FactRef(f"{name}({', '.join(written)})", declaration.type, column=column)
        function = FUNCTIONS.get(name)
        if function is None:
            every = [*FACT_NAMES, *FUNCTIONS]
            raise self.fail(node, f"`{name}` is no declared function{_nearest(name, every)}")
        least = len(function.parameters)
        if len(node.args) < least or (len(node.args) > least and not function.variadic):
            raise self.fail(
                node, f"`{name}` takes {least} argument{'s' if least > 1 else ''}, not {len(node.args)}"
            )
        arguments = tuple(self.node(a) for a in node.args)
        for i, (tree, written_as) in enumerate(zip(arguments, node.args, strict=True)):
            expected = function.parameters[min(i, least - 1)]
            if tree.type is not expected:
                raise self.fail(written_as, f"`{name}` takes a {expected} here, this is a {tree.type}")
        return Op(name, arguments, function.type, column)

    def argument(self, node: ast.expr, kind: Argument, of: FactName) -> str:
        match kind, node:
            case Argument.TENSOR, ast.Name(id=name) if name not in DTYPES:
                return name
            case Argument.AXIS, ast.Constant(value=int() as axis) if not isinstance(axis, bool):
                return str(axis)
            case Argument.MECHANISM, ast.Constant(value=str() as mechanism) if mechanism.isidentifier():
                return f'"{mechanism}"'
            case _:
                raise self.fail(node, f"this is no {kind}; write it as `{of.form}`")

    def comparison(self, node: ast.Compare) -> Expr:
        operands = [self.node(e) for e in (node.left, *node.comparators)]
        parts: list[Expr] = []
        for i, op_node in enumerate(node.ops):
            op = _COMPARISON.get(type(op_node))
            if op is None:
                raise self.fail(node, f"only {' '.join(_COMPARISON.values())} compare")
            left, right = operands[i], operands[i + 1]
            at = node.comparators[i]
            if op in ("in", "not in"):
                right = self.check_in(left, right, at)
            else:
                self.check_comparable(op, left, right, at)
            parts.append(Op(op, (left, right), Type.TRUTH, left.column))
        return parts[0] if len(parts) == 1 else Op("and", tuple(parts), Type.TRUTH, node.col_offset + 1)

    def check_in(self, left: Expr, right: Expr, at: ast.expr) -> Expr:
        if left.type is Type.TEXT and right.type is Type.TEXT:
            return right
        if not isinstance(right, Items) or not right.items:
            raise self.fail(
                at, "`in` takes a tuple that is not empty on its right: `in (1, 2)`, `in (float32,)`"
            )
        for item in right.items:
            self.check_comparable("==", left, item, at)
        return right

    def check_comparable(self, op: str, left: Expr, right: Expr, at: ast.expr) -> None:
        for side in (left, right):
            if isinstance(side, Items) and not (
                side.items and all(isinstance(i, Literal) and type(i.value) is int for i in side.items)
            ):
                raise self.fail(at, "a tuple is compared only as a version: `(8, 0)`")
        types = {left.type, right.type}
        ordered = op in ("<", "<=", ">", ">=")
        if types == {Type.INTERVAL, Type.NUMBER}:
            if not ordered:
                raise self.fail(
                    at, "an interval is compared with a number by < <= > >=, which speaks of every value"
                )
            return
        if len(types) > 1 and not (types == {Type.TRUTH, Type.NUMBER} and _is_flag(left, right)):
            raise self.fail(at, f"a {left.type} cannot be compared with a {right.type}")
        if ordered and (left.type not in _ORDERED or left.type is Type.INTERVAL):
            raise self.fail(at, f"a {left.type} has no order; use == or !=")
        for fact, value in ((left, right), (right, left)):
            self.check_choice(fact, value, at)

    def check_choice(self, fact: Expr, value: Expr, at: ast.expr) -> None:
        if isinstance(fact, FactRef) and isinstance(value, Literal) and isinstance(value.value, str):
            declaration = declared(fact.name)
            if declaration is not None and declaration.choices and value.value not in declaration.choices:
                raise self.fail(
                    at, f"`{fact.name}` is one of {', '.join(declaration.choices)}, never {value.value!r}"
                )


def _is_flag(left: Expr, right: Expr) -> bool:
    """Whether a comparison is of a bare name with True or False."""
    pair = (left, right)
    return any(isinstance(a, FactRef) and isinstance(b, Literal) for a, b in (pair, pair[::-1]))


def _nearest(name: str, candidates: Iterable[str]) -> str:
    names = sorted(candidates)
    close = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean `{close[0]}`?" if close else f"; declared are {', '.join(names)}"
