"""Blocks of a Triton program that lie a step apart: whether each ends before the next one begins."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.rewrite.assists.triton_places import assignments, called, sources
from kernel_lineage.rewrite.assists.triton_rounds import MASKS

_COUNTING = (
    ast.Add,
    ast.Mult,
    ast.FloorDiv,
    ast.Mod,
    ast.BinOp,
    ast.Name,
    ast.Constant,
    ast.Attribute,
    ast.Call,
    ast.expr_context,
)
_CALLS = frozenset({"program_id", "num_programs", "arange", "cdiv"})


def terms_of(node: ast.expr) -> Iterator[ast.expr]:
    """The parts of a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from terms_of(node.left)
        yield from terms_of(node.right)
    else:
        yield node


def is_below_step(function: ast.FunctionDef, store: ast.Call, depends: frozenset[str]) -> bool:
    """Whether a store to `… + row * STEP + lane` is masked by `lane < STEP`, with a lane that counts from 0 or more.

    `depends` are the names that change with the row.
    """
    flow = assignments(function)
    listed = store.args[MASKS["store"]] if len(store.args) > MASKS["store"] else None
    mask = next((k.value for k in store.keywords if k.arg == "mask"), listed)
    bounds = _bounds(mask, flow) if mask is not None else {}
    steps, lanes = list[str](), list[str]()
    for term in _expanded(store.args[0], flow, frozenset(bounds)):
        if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Mult) and names_in(term) & depends:
            steps += [ast.unparse(side) for side in (term.left, term.right) if not names_in(side) & depends]
        elif _has_lanes(term, flow):
            lanes.append(ast.unparse(term))
    if len(steps) != 1 or len(lanes) != 1 or bounds.get(lanes[0]) != steps[0]:
        return False
    if any(len(flow.get(n, ())) > 1 for n in names_in(ast.parse(steps[0], mode="eval"))):
        return False
    _, parts = sources(ast.Name(lanes[0]), flow)
    return all(_counts(node) for part in parts for node in ast.walk(part))


def _bounds(mask: ast.expr, flow: Mapping[str, list[ast.expr]]) -> dict[str, str]:
    """The names that a mask lets be below something."""
    match mask:
        case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
            return _bounds(left, flow) | _bounds(right, flow)
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Lt()], comparators=[bound]):
            return {name: ast.unparse(bound)}
        case ast.Name(id=name) if len(flow.get(name, ())) == 1:
            return _bounds(flow[name][0], flow)
    return {}


def _expanded(node: ast.expr, flow: Mapping[str, list[ast.expr]], kept: frozenset[str]) -> Iterator[ast.expr]:
    """The parts of a sum, with names that stand for sums of lanes written out, but for those that are kept."""
    for term in terms_of(node):
        name = term.id if isinstance(term, ast.Name) else ""
        if name in flow and name not in kept and len(flow[name]) == 1:
            yield from _expanded(flow[name][0], flow, kept)
        else:
            yield term


def _has_lanes(term: ast.expr, flow: dict[str, list[ast.expr]]) -> bool:
    _, parts = sources(term, flow)
    made = {called(n) for part in parts for n in ast.walk(part) if isinstance(n, ast.Call)}
    return not made <= _CALLS - {"arange"}


def _counts(node: ast.AST) -> bool:
    """Whether a part of an expression leaves numbers from 0 on what they are."""
    if isinstance(node, ast.Call):
        return called(node) in _CALLS
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and node.value >= 0
    return isinstance(node, _COUNTING)
