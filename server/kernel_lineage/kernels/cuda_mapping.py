"""How the threads of a CUDA C++ kernel share out rows and elements: what loops stride over, who owns a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tree_sitter import Node

from kernel_gate.expr.terms import Num, Var, mul, variables
from kernel_lineage.kernels.cuda_forms import Loop, bare, test_of, text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing, loop_axis
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.cuda_tests import conditions
from kernel_lineage.kernels.linear_forms import Coefficient, is_of_a_warp, lane_stride


class Stride(StrEnum):
    """What a loop's step covers in each round."""

    GRID_THREADS = "the threads of the grid"
    GRID_BLOCKS = "the blocks of the grid"
    BLOCK = "the threads of a block"
    WARP = "the threads of a warp"
    ONE = "one element"
    OTHER = "something else"


def stride_of(unit: Unit, loop: Loop) -> Stride:
    """What a loop strides over. A start that moves with the thread tells threads from blocks."""
    reach = indexing(unit)
    counter = loop.counter or _tested(loop)
    first, step = reach.counted(loop, counter)
    if step is None:
        return Stride.OTHER
    if step == Num(1):
        return Stride.ONE
    start = reach.form_of(first)
    moves = {"x", "y", "lane", "warp"} & start.keys()
    names = set(variables(step))
    if any(name.startswith("gridDim") for name in names):
        by_threads = moves or any(name.startswith("blockDim") for name in names)
        return Stride.GRID_THREADS if by_threads else Stride.GRID_BLOCKS
    if not moves - {"warp"}:
        return Stride.OTHER
    covered = reach.form_of(mul(step, Var("threadIdx.x"))).get("x", "?")
    return Stride.WARP if is_of_a_warp(covered, start.get("lane", start.get("x", 1))) else Stride.BLOCK


def _tested(loop: Loop) -> str:
    """What the condition of a loop without a head of its own compares."""
    condition = bare(loop.condition)
    return text_of(condition.child_by_field_name("left")) if condition is not None else ""


def is_row_pitch(coefficient: Coefficient) -> bool:
    """Whether a coefficient is the length of a row: a symbol that is not made of the launch's own sizes."""
    if isinstance(coefficient, int) or coefficient == "?" or coefficient.startswith("/"):
        return False
    parts = coefficient.replace(" ", "").split("*")
    return any(not part.isdigit() and not _is_launch_size(part) for part in parts)


def _is_launch_size(part: str) -> bool:
    plain = part.strip("()").lower().replace("_", "")
    words = (
        "blockdim",
        "griddim",
        "metagroupsize",
        "::size",
        "warpsize",
        "numwarps",
        "warpsperblock",
        "sizeof",
    )
    return plain.startswith(words) or plain.endswith("::size") or any(word in plain for word in words)


def is_contiguous(access: Access) -> bool:
    """Whether neighbouring threads access neighbouring elements, or neighbouring packs of them."""
    stride = lane_stride(access.index)
    if stride == 1:
        return True
    if isinstance(stride, int):
        return bool(access.cast) and stride in (2, 4, 8, 16)
    return bool(access.cast) and stride.replace(" ", "").endswith("::size")


def is_strided(access: Access) -> bool:
    """Whether neighbouring threads access elements that are known to lie apart."""
    stride = lane_stride(access.index)
    if isinstance(stride, int):
        return abs(stride) > 1 and not is_contiguous(access)
    return stride != "?" and not stride.startswith("/") and not is_contiguous(access)


def moves_along_loop(access: Access, loop: Loop) -> bool:
    """Whether the index moves with a loop's counter."""
    return loop_axis(loop) in access.index


def moving_loops(unit: Unit, access: Access) -> list[Loop]:
    """The loops around an access whose counters its index moves with, outermost first."""
    if not any(axis.startswith("loop@") for axis in access.index):
        return []
    return [loop for loop in unit.loops_around(access.node) if moves_along_loop(access, loop)]


def innermost_loop(unit: Unit, access: Access) -> Loop | None:
    """The innermost loop around an access whose counter its index moves with."""
    moving = moving_loops(unit, access)
    return moving[-1] if moving else None


def row_is_shared_by(unit: Unit, access: Access, *owners: Stride) -> bool:
    """Whether one of the loops that an access moves along strides over such a set of threads."""
    return any(stride_of(unit, loop) in owners for loop in moving_loops(unit, access))


@dataclass(frozen=True, slots=True)
class BoundsGuard:
    """`if (i < n) { … }`, or `if (i >= n) return;`: what is compared, with what, and the `if`."""

    index: Node
    bound: Node
    node: Node
    leaves: bool
    """Whether the guard returns where it fails, so that it holds for all that follows."""


def bounds_guards(unit: Unit) -> tuple[BoundsGuard, ...]:
    """The guards that compare something that moves with the thread or the block to a bound."""
    kept = unit.derived.get("bounds_guards")
    if not isinstance(kept, tuple):
        kept = unit.derived["bounds_guards"] = tuple(_read_guards(unit))
    return kept


def _read_guards(unit: Unit) -> Iterator[BoundsGuard]:
    reach = indexing(unit)
    for node in unit.of("if_statement"):
        test, consequence = test_of(node), node.child_by_field_name("consequence")
        leaves = consequence is not None and _returns(consequence)
        for part in conditions(test, holds=not leaves) if test is not None else ():
            if part.below is None:
                continue
            index, bound = part.below
            form = reach.form(index)
            if any(axis in form for axis in ("x", "y", "lane", "warp", "block", "slow")) and not reach.form(
                bound
            ):
                yield BoundsGuard(index, bound, node, leaves)


def _returns(statement: Node) -> bool:
    if statement.type == "return_statement":
        return True
    return any(child.type == "return_statement" for child in statement.named_children)


def guard_of(unit: Unit, node: Node, axis: str = "") -> BoundsGuard | None:
    """The innermost guard that holds where a node is; with an axis, only of an index that moves with it."""
    holding = [
        guard
        for guard in bounds_guards(unit)
        if not axis or axis in indexing(unit).form(guard.index)
        if (guard.leaves and guard.node.end_byte <= node.start_byte)
        or (
            not guard.leaves
            and guard.node.start_byte < node.start_byte
            and node.end_byte <= guard.node.end_byte
        )
    ]
    return holding[-1] if holding else None
