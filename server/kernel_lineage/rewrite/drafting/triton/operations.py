"""Operators and built-in functions of Python on what the names of the host stand for."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from kernel_lineage.rewrite.drafting.triton.torch_calls import dtype_named
from kernel_lineage.rewrite.drafting.triton.values import (
    Dtype,
    External,
    Open,
    Size,
    Tensor,
    Unknown,
    is_number,
    size_of,
    tree_of,
)


def arithmetic(node: ast.BinOp, op: ast.operator, left: object, right: object) -> object:
    """What an operator gives; `Unknown` where an operand is."""
    if is_number(left) and is_number(right):
        if isinstance(op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)):
            return size_of(ast.BinOp(tree_of(left), op, tree_of(right)))
    elif isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)) and isinstance(op, ast.Add):
        return (*left, *right)
    tensors = [v for v in (left, right) if isinstance(v, Tensor) and v.shape is not None]
    others = [v for v in (left, right) if not isinstance(v, Tensor)]
    if tensors and all(is_number(v) for v in others) and len({t.shape for t in tensors}) == 1:
        return Tensor("", tensors[0].shape, tensors[0].dtype)
    unknown = next((v for v in (left, right) if isinstance(v, Unknown)), None)
    return unknown or Unknown(f"`{ast.unparse(node)}`")


def compare(node: ast.Compare, op: ast.cmpop, left: object, right: object) -> object:
    """What an operator gives; `Unknown` where an operand is."""
    if isinstance(op, (ast.Is, ast.IsNot)) and right is None:
        if isinstance(left, Unknown):
            return left
        return (left is None) == isinstance(op, ast.Is)
    if is_number(left) and is_number(right):
        return size_of(ast.Compare(tree_of(left), [op], [tree_of(right)]))
    plain = (str, Dtype, type(None), bool, int, float)
    if isinstance(left, plain) and isinstance(right, plain):
        return (left == right) == isinstance(op, (ast.Eq, ast.Is))
    if (
        isinstance(left, plain)
        and isinstance(op, (ast.In, ast.NotIn))
        and isinstance(right, (tuple, list, dict))
    ):
        return (left in right) == isinstance(op, ast.In)
    return Unknown(f"`{ast.unparse(node)}`")


def builtin_function(name: str, given: list[object], named: Mapping[str, object]) -> object:
    """What a function of Python gives; `Unknown` for all others."""
    last = name.rpartition(".")[2]
    match name:
        case "len" if given and isinstance(given[0], (tuple, list, dict)):
            return len(given[0])
        case "min" | "max" | "abs" if given and all(is_number(g) for g in given):
            inner = [tree_of(g) for g in given]
            return size_of(ast.Call(ast.Name(name, ast.Load()), inner, []))
        case "int" | "float" | "bool" if len(given) == 1 and is_number(given[0]):
            return given[0]
        case "tuple" | "list" if given and isinstance(given[0], (tuple, list)):
            return given[0]
        case "dict":
            return dict(named)
        case "range" if given and all(isinstance(g, int) for g in given):
            return range(*(g for g in given if isinstance(g, int)))
        case "isinstance" if isinstance(given[0], (int, float, str)):
            asked = given[1] if isinstance(given[1], tuple) else (given[1],)
            return any(isinstance(a, External) and a.name == type(given[0]).__name__ for a in asked)
        case "math.ceil" if given and isinstance(given[0], Size):
            tree = tree_of(given[0])
            if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Div):
                return size_of(ast.Call(ast.Name("ceil_div", ast.Load()), [tree.left, tree.right], []))
    if last == "constexpr" and len(given) == 1:
        return given[0]
    if last == "Config" and given and isinstance(given[0], dict):
        return {**given[0], **{k: v for k, v in named.items() if k in ("num_warps", "num_stages")}}
    return Unknown(f"{name}(…)")


def unpacked(value: object, targets: list[ast.expr]) -> list[object]:
    """One value for each target; `*rest` takes what is left."""
    if isinstance(value, (tuple, list)):
        star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
        if star is None and len(value) == len(targets):
            return list(value)
        if star is not None and len(value) >= len(targets) - 1:
            behind = len(targets) - star - 1
            end = len(value) - behind
            return [*value[:star], tuple(value[star:end]), *value[end:]]
    if isinstance(value, External):
        return [Open(t.id) if isinstance(t, ast.Name) else Unknown("ctx") for t in targets]
    return [value if isinstance(value, Unknown) else Unknown("an unpacked value") for _ in targets]


def external_name(dotted: str) -> Dtype | External:
    """What a dotted name of a package stands for."""
    dtype = dtype_named(dotted) if dotted.startswith(("torch.", "triton.")) else None
    return dtype or External(dotted)
