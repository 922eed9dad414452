"""The draft of one state over the dims of another's: what `B` and `T` of the one are where the other counts `n_rows`.

An argument that both take has one size, whatever its extents are called: that gives equations between the dims, and
a launch that is written over the one set of dims can be written over the other. What no equation tells is a choice
of the state's own caller (the number of blocks that fill a device), and becomes a dim of the workload.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from kernel_gate.compile_time import is_word
from kernel_gate.expressions import ExpressionError, Number, evaluate
from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.device_size import counts_multiprocessors
from kernel_lineage.workloads.equal_dims import in_new_names
from kernel_lineage.workloads.model import NULL, Draft, DraftArgument

_PERTURBED = (3, 5, 7, 11, 13, 17, 19, 23)
"""Sizes are multiplied by these, so that no two that are equal by chance stay equal."""
_SPLITS = "how {whole} is made up of {parts} is chosen"


class DimsDifferError(Exception):
    """A buffer of both has another size in each; the message says which."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A state's draft over the dims of another; its `dims` are those that the other lacks."""

    draft: Draft
    doubt: str = ""
    """Why the two may be run on different tasks all the same."""


def over_dims_of(base: Draft, state: Draft) -> Rewritten:
    """A state's draft over the dims of the base. Raises `DimsDifferError`.

    A state of which no dims are known is as it was.
    """
    pairs = [(a, b) for a in state.arguments for b in base.arguments if a.name == b.name]
    solution, split = _solved(base, state, pairs)
    taken = {*base.dims, *(a.name for a in base.arguments)}
    own: dict[str, str] = {}
    # Of a state whose shapes are not all known, a size that nothing tells may be that of a buffer.
    whole = all(a.shape is not None or a.kind in ("scalar", NULL) for a in state.arguments)
    for name in state.dims:
        if name not in solution and name not in base.dims and (whole or counts_multiprocessors(name)):
            own[name] = f"{name}_" if name in taken or name in state.constexpr else name
    draft = _renamed(state, {**solution, **own})
    draft = replace(
        draft,
        dims={new: state.dims[old] for old, new in own.items()},
        checked={new: state.checked[old] for old, new in own.items()},
    )
    _compare(base, draft, state)
    if not split:
        return Rewritten(draft)
    # Where nothing but the product counts, any split of it is the same launch.
    other, _ = _solved(base, state, pairs, last=False)
    same = _texts(draft, base) == _texts(_renamed(state, {**other, **own}), base)
    return Rewritten(draft, "" if same else split)


def _texts(draft: Draft, base: Draft) -> list[object]:
    """What a draft's expressions are at the base's sizes; a text where they do not tell it."""
    arguments = [t for a in draft.arguments for t in (_product(a.shape or ()), a.value) if t is not None]
    texts = [*arguments, *draft.grid, *draft.block, draft.shared_bytes, *draft.constexpr.values()]
    return [v if (v := value_at(t, n)) is not None else t for t in texts for n in probes(base)]


def probes(draft: Draft) -> list[dict[str, Number]]:
    """Sizes at which expressions over a draft's dims are compared: as checked, as timed, and all apart."""
    factors = dict(zip(draft.checked, _PERTURBED * len(draft.checked), strict=False))
    apart = {name: size * factors[name] for name, size in draft.checked.items()}
    return [with_scalars(draft, sizes) for sizes in (draft.checked, draft.dims, apart)]


def with_scalars(draft: Draft, sizes: Mapping[str, Number]) -> dict[str, Number]:
    """What expressions of a draft may name, at these sizes."""
    numbers = dict(sizes)
    for argument in draft.arguments:
        if argument.kind == "scalar" and argument.value is not None:
            value = value_at(argument.value, sizes)
            if value is not None:
                numbers[argument.name] = value
    return numbers


def value_at(text: str | float, numbers: Mapping[str, Number]) -> Number | None:
    """The value of an expression; None where the numbers do not tell it."""
    try:
        return evaluate(text, numbers)
    except (ExpressionError, ArithmeticError):
        return None


_Pairs = Sequence[tuple[DraftArgument, DraftArgument]]


@dataclass(frozen=True, slots=True)
class _Equation:
    """What an expression over the state's dims equals, over the base's."""

    mine: str
    other: str
    by_parts: bool
    """Whether the dims of an expression may be told by it, not only a dim that stands alone."""


def _solved(base: Draft, state: Draft, pairs: _Pairs, last: bool = True) -> tuple[dict[str, str], str]:
    """State's dim → expression over the base's dims, for those that are told; and what was chosen.

    Of dims of which only the product is told, the last (or the first) has all of it.
    """
    equations = list(_equations(pairs))
    solution: dict[str, str] = {}
    doubt = ""
    while True:
        step = next((f for e in equations if (f := _alone(e, state, solution))), None)
        step = step or next((f for e in equations if (f := _as_named(e, base, state, solution))), None)
        step = step or next((f for e in equations if (f := _inverted(e, state, solution))), None)
        if step is not None:
            solution.update(step)
            continue
        split = next((s for e in equations if (s := _split(e, state, solution, last))), None)
        if split is None:
            return solution, doubt
        solution.update(split[0])
        doubt = split[1]


def _equations(pairs: _Pairs) -> Iterator[_Equation]:
    buffers = [(a, b) for a, b in pairs if a.shape and b.shape]
    # What a launcher allocates may have an extent of its choice; what it is given has none.
    for mine, other in sorted(buffers, key=lambda p: p[0].kind == "output"):
        by_parts = "output" not in (mine.kind, other.kind)
        first, second = mine.shape or (), other.shape or ()
        if len(first) == len(second):
            yield from (_Equation(a, b, by_parts) for a, b in zip(first, second, strict=True))
        elif by_parts:
            same = min(len(first), len(second)) - 1
            yield from (
                _Equation(a, b, True)
                for a, b in zip(first[len(first) - same :], second[len(second) - same :], strict=True)
            )
            yield _Equation(
                _product(first[: len(first) - same]), _product(second[: len(second) - same]), True
            )
    for mine, other in pairs:
        if mine.kind == other.kind == "scalar" and mine.value is not None and other.value is not None:
            yield _Equation(str(mine.value), str(other.value), False)


def _product(extents: Sequence[str]) -> str:
    return " * ".join(e if WORD.fullmatch(e) else f"({e})" for e in extents)


def _open(text: str, state: Draft, solution: Mapping[str, str]) -> list[str]:
    """The state's dims in an expression of which nothing is known yet."""
    return [n for n in dict.fromkeys(WORD.findall(text)) if n in state.dims and n not in solution]


def _alone(equation: _Equation, state: Draft, solution: Mapping[str, str]) -> dict[str, str] | None:
    """`T` = `seq_len`."""
    name = equation.mine.strip("() ")
    return {name: equation.other} if [name] == _open(name, state, solution) else None


def _as_named(
    equation: _Equation, base: Draft, state: Draft, solution: Mapping[str, str]
) -> dict[str, str] | None:
    """`B * T` = `B * T`: dims of the same names, where these make it true."""
    names = _open(equation.mine, state, solution)
    if not names or not all(n in base.dims for n in names):
        return None
    same = {name: name for name in names}
    text = _substituted(equation.mine, {**solution, **same})
    return same if _equal(text, equation.other, base) else None


def _inverted(equation: _Equation, state: Draft, solution: Mapping[str, str]) -> dict[str, str] | None:
    """`T + 1` = `n`, `D // H` = `n`: solved for the only dim that is not known."""
    names = _open(equation.mine, state, solution)
    if len(names) != 1 or not equation.by_parts:
        return None
    try:
        tree = ast.parse(equation.mine, mode="eval").body
    except SyntaxError:
        return None
    other = equation.other if WORD.fullmatch(equation.other) else f"({equation.other})"
    while not isinstance(tree, ast.Name):
        if not isinstance(tree, ast.BinOp):
            return None
        left, right = (names[0] in names_in(side) for side in (tree.left, tree.right))
        operand = f"({_substituted(ast.unparse(tree.right if left else tree.left), solution)})"
        inverse = _INVERSES.get((type(tree.op), left))
        if left == right or inverse is None:
            return None
        if not (operand == "(1)" and isinstance(tree.op, (ast.Mult, ast.FloorDiv))):
            other = f"({inverse.format(other=other, known=operand)})"
        tree = tree.left if left else tree.right
    return {names[0]: other}


_INVERSES: Mapping[tuple[type[ast.operator], bool], str] = {
    (ast.Add, True): "{other} - {known}",
    (ast.Add, False): "{other} - {known}",
    (ast.Sub, True): "{other} + {known}",
    (ast.Mult, True): "{other} // {known}",
    (ast.Mult, False): "{other} // {known}",
    (ast.FloorDiv, True): "{other} * {known}",
}
"""Operator, and whether the dim stands on its left → what the dim is. What was rounded off is found by comparing."""


def _split(
    equation: _Equation, state: Draft, solution: Mapping[str, str], last: bool
) -> tuple[dict[str, str], str] | None:
    """`B * T` = `n_rows`, where nothing else tells B or T: all rows are of one batch."""
    names = _open(equation.mine, state, solution)
    factors = [factor.strip("() ") for factor in equation.mine.split("*")]
    if len(names) < 2 or not equation.by_parts or not set(names) <= set(factors):
        return None
    return dict.fromkeys(names[:-1] if last else names[1:], "1"), _SPLITS.format(
        whole=equation.other, parts=" and ".join(names)
    )


def _substituted(text: str, names: Mapping[str, str]) -> str:
    def one(match: re.Match[str]) -> str:
        new = names.get(match[0], match[0])
        return new if re.fullmatch(r"\w+", new) else f"({new})"

    return WORD.sub(one, text)


def _renamed(state: Draft, names: Mapping[str, str]) -> Draft:
    """The draft with its dims written as `names` has them."""

    def renamed(text: str) -> str:
        return text if is_word(text) else new if (new := names.get(text)) else _substituted(text, names)

    return replace(in_new_names(state, renamed), assumed=state.assumed)


def _equal(one: str, other: str, base: Draft) -> bool:
    return all(
        (value := value_at(one, numbers)) is not None and value == value_at(other, numbers)
        for numbers in probes(base)
    )


def _compare(base: Draft, draft: Draft, state: Draft) -> None:
    """Raises where the rewritten state reaches further into a buffer than the base has it, or writes less of it."""
    arguments = {a.name: a for a in base.arguments}
    for mine in draft.arguments:
        other = arguments.get(mine.name)
        if other is None or not mine.shape or not other.shape or NULL in (mine.kind, other.kind):
            continue
        for numbers in probes(base):
            sizes = {**draft.checked, **numbers}
            here, there = _elements(mine, sizes), _elements(other, sizes)
            if here is None or there is None:
                continue
            if here > there or (here < there and "input" not in (mine.kind, other.kind)):
                own, theirs = ", ".join(mine.shape), ", ".join(other.shape)
                raise DimsDifferError(
                    f"{mine.name} has the shape ({own}) in {state.kernel} and ({theirs}) in the other state, which is "
                    "another size"
                )


def _elements(argument: DraftArgument, numbers: Mapping[str, Number]) -> Number | None:
    extents = [value_at(extent, numbers) for extent in argument.shape or ()]
    return prod(e for e in extents if e is not None) if None not in extents else None
