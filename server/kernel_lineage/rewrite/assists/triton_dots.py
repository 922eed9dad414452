"""The operands of a product of matrices in Triton that is written as sums of products of pairs."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.triton_lanes import Walk
from kernel_lineage.rewrite.assists.triton_many import arguments_of, constant_of
from kernel_lineage.rewrite.assists.triton_places import called


def dot(first: str, second: str, precision: str = "ieee") -> str:
    """The product of two blocks; by default with all bits of floats."""
    return f'tl.dot({first}, {second}, input_precision="{precision}")'


@dataclass(frozen=True, slots=True)
class Spine:
    """What an operand is, back to where it is loaded: by names, by new axes, by conversions to float32."""

    conversions: tuple[ast.Call, ...]
    is_loaded: bool
    """It ends at a load which gives 0 where it does not load."""

    @staticmethod
    def of(node: ast.expr, values: Mapping[str, ast.expr], scope: ast.AST) -> Spine:
        """The spine of an operand whose names have these values, and are used below `scope`."""
        conversions, single = list[ast.Call](), True
        while True:
            match node:
                case ast.Call() if is_widened(node):
                    conversions += [node] if single else []
                    node = converted_by(node)
                case ast.Subscript(value=inner):
                    node = inner
                case ast.Name(id=name) if name in values:
                    uses = [n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == name]
                    single = single and len(uses) == len(("given", "used"))
                    node = values[name]
                case _:
                    break
        loads = isinstance(node, ast.Call) and called(node) == "load"
        return Spine(tuple(conversions), loads)


def inner_spine(first: Spine, second: Spine) -> Mapping[int, ast.expr]:
    """The conversions of two operands that can be left out, and what they convert: both are loaded, and both were
    converted, to multiply them.
    """
    if not all(s.conversions and s.is_loaded for s in (first, second)):
        return {}
    return {id(c): converted_by(c) for s in (first, second) for c in s.conversions}


def plain(node: ast.expr, dropped: Mapping[int, ast.expr]) -> ast.expr:
    """An expression without the conversions around it that are left out."""
    while id(node) in dropped:
        node = dropped[id(node)]
    return node


def converted_by(node: ast.expr) -> ast.expr:
    """What stands before `.to(…)`."""
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return node.func.value


def is_widened(node: ast.expr) -> bool:
    """Whether an expression is converted to float32 and no more."""
    match node:
        case ast.Call(func=ast.Attribute(attr="to"), args=[kind], keywords=[]) if not called(node):
            return dotted(kind).endswith("float32")
    return False


def multiplied_in(walk: Walk, added: ast.expr, tile: tuple[str, ...]) -> tuple[ast.expr, ast.expr, ast.expr]:
    """What a round adds to a tile, and its factors along the first axis and along the second. Refused where it is no
    such product.
    """
    product = added
    while is_widened(product):
        product = converted_by(product)
    if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
        for one, other in ((product.left, product.right), (product.right, product.left)):
            sides = [[a.size for a in walk.of(o).axes] for o in (one, other)]
            if sides[0] == [tile[0], ""] and sides[1] in (["", tile[1]], [tile[1]]):
                return added, one, other
    raise Refusal(f"`{ast.unparse(added)}` is no product of a column and a row")


@dataclass(frozen=True, slots=True)
class SummedProduct:
    """`tl.sum` of a product over an axis that both factors have, and each has one that the other has not."""

    call: ast.Call
    operands: tuple[ast.expr, ast.expr]
    """The blocks of two axes, as they are."""
    turned: tuple[bool, bool]
    """Which have to be transposed for `tl.dot`."""


def summed_product(walk: Walk, call: ast.Call) -> SummedProduct | None:
    """What a call of `tl.sum` sums, where it is a product of matrices; None where it is none."""
    named = arguments_of(call, ("input", "axis"))
    summed, axis = named.get("input"), constant_of(named.get("axis"))
    while summed is not None and is_widened(summed):
        summed = converted_by(summed)
    if len(named) != len(call.args) + len(call.keywords) or axis not in (0, 1, 2, -1, -2, -3):
        return None
    if not isinstance(summed, ast.BinOp) or not isinstance(summed.op, ast.Mult):
        return None
    over, sides = int(str(axis)) % 3, dict[int, tuple[ast.expr, bool]]()
    for factor in (summed.left, summed.right):
        lacks = _lacking(walk, factor)
        if lacks is None or lacks[0] in (over, *sides):
            return None
        sides[lacks[0]] = (lacks[1], over < 3 - over - lacks[0])
    (rows, columns) = sorted(sides)
    # The factor that lacks the columns' axis has the rows'; the second one's summed axis has to stand first.
    (first, first_over_leads), (second, second_over_leads) = sides[columns], sides[rows]
    return SummedProduct(call, (first, second), (first_over_leads, not second_over_leads))


def _lacking(walk: Walk, factor: ast.expr) -> tuple[int, ast.expr] | None:
    """Which of three axes a factor has none of its own for, and the block of two axes that it is."""
    while is_widened(factor):
        factor = converted_by(factor)
    match factor:
        case ast.Subscript(value=block, slice=ast.Tuple(elts=[_, _, _] as index)):
            new = [n for n, e in enumerate(index) if isinstance(e, ast.Constant) and e.value is None]
            whole = [e for e in index if isinstance(e, ast.Slice) and not (e.lower or e.upper or e.step)]
            if len(new) == 1 and len(whole) == len(("y", "x")) == len(walk.of(block).axes):
                return new[0], block
    return None
