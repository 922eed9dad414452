"""The extents that a kernel divides, and what it divides them by: sizes at which a wrong division is seen.

With as many groups as channels, or with one group, `c / (channels / groups)` and `c % groups` are the same place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from kernel_gate.expr.syntax import tree_of
from kernel_gate.expr.terms import Num, Op, Term, Var, variables
from kernel_gate.expressions import ExpressionError
from kernel_gate.expressions import names as names_in
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.code.model import Model, UnreadableError
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.proofs.triton.read import open_setting, read_triton
from kernel_lineage.workloads.files import Target
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.promises import broken, fitted_sizes

_DIVISIONS = frozenset({"//", "%", "quot", "rem"})
_BLOCK = "blockIdx"
_Divided = tuple[str, str]


def with_divisions(draft: Draft, target: Target) -> Draft:
    """The draft with what is divided by what, by its kernel and by its own expressions.

    Dims of which nothing tells a size get one at which each divisor goes into what it divides several times.
    """
    pairs = {p for p in (*_by_kernel(draft, target), *_by_host(draft)) if _is_over_dims(p, draft.dims)}
    draft = replace(draft, divided=tuple(sorted(pairs)))
    fixed = draft.dims.keys() - draft.chosen - draft.untold
    dims = divisible(draft, draft.dims, fixed)
    return replace(draft, dims=dims, checked=dims if draft.checked == draft.dims else draft.checked)


def divisible(draft: Draft, sizes: Mapping[str, int], fixed: Set[str]) -> dict[str, int]:
    """The sizes, those that are not `fixed` changed so that what is divided is told from what it is divided by.

    Promises that are kept stay so.
    """
    fitted = fitted_sizes(sizes, (*draft.promises, *conditions(draft)), fixed)
    return fitted if {*broken(fitted, draft.promises)} <= {*broken(sizes, draft.promises)} else dict(sizes)


def conditions(draft: Draft) -> Iterator[str]:
    """What sizes keep, where they can, for wrong divisions to be seen: twice the divisor goes into what is divided."""
    for whole, divisor in draft.divided:
        yield f"({whole}) % (2 * ({divisor})) == 0"
        yield f"({whole}) != ({divisor}) * ({divisor})"
        yield f"({divisor}) > 1"


def divisors(draft: Draft) -> frozenset[str]:
    """The dims that others are divided by."""
    return frozenset(name for _, divisor in draft.divided for name in names_in(divisor))


def _is_over_dims(pair: _Divided, dims: Mapping[str, int]) -> bool:
    try:
        whole, divisor = map(names_in, pair)
    except ExpressionError:
        return False
    return bool(whole) and bool(divisor) and whole | divisor <= dims.keys() and not whole & divisor


def _by_host(draft: Draft) -> Iterator[_Divided]:
    """What numbers of the launch and promises divide."""
    texts = [str(a.value) for a in draft.arguments if a.kind == "scalar"]
    for text in (*texts, *draft.constexpr.values(), *draft.promises):
        try:
            nodes = [*ast.walk(tree_of(text))]
        except SyntaxError:
            continue
        for node in nodes:
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod):
                yield ast.unparse(node.left), ast.unparse(node.right)


def _by_kernel(draft: Draft, target: Target) -> Iterator[_Divided]:
    """What a kernel divides on the way to its addresses, by its numbers as expressions over dims."""
    if not isinstance(target, Kernel):
        return
    template = (p.name for p in target.template_parameters)
    texts = {a.name: str(a.value) for a in draft.arguments if a.kind == "scalar" and a.value is not None}
    texts |= {**draft.constexpr, **dict(zip(template, draft.template_arguments, strict=False))}
    for term in _divisions(target):
        if all({*variables(a)} <= texts.keys() for a in term.args):
            whole, divisor = (_text(a, texts) for a in term.args)
            if whole and divisor:
                yield whole, divisor


def numbers_divided_by(draft: Draft, kernel: Kernel) -> list[int]:
    """The numbers beyond 1 by which a kernel divides what differs between blocks on the way to its addresses, as
    `i / 8 * 8` does, and those by which its launch divides, in order.
    """
    numbers: set[int] = set()
    for term in _divisions(kernel):
        whole, divisor = term.args
        if isinstance(divisor, Num) and any(name.startswith(_BLOCK) for name in variables(whole)):
            numbers.add(int(divisor.value))
    for text in draft.grid:
        try:
            nodes = [*ast.walk(tree_of(text))]
        except SyntaxError:
            continue
        for node in nodes:
            match node:
                case ast.BinOp(op=ast.FloorDiv(), right=ast.Constant(value=int(number))):
                    numbers.add(number)
    return sorted(number for number in numbers if number > 1)


def _divisions(kernel: Kernel) -> Iterator[Op]:
    """The quotients and remainders in a kernel's addresses."""
    waiting = [a.offset for a in _model(kernel).accesses if a.offset is not None]
    seen: set[int] = set()
    while waiting:
        term = waiting.pop()
        if not isinstance(term, Op) or id(term) in seen:
            continue
        seen.add(id(term))
        waiting += term.args
        if term.name in _DIVISIONS:
            yield term


def _model(kernel: Kernel) -> Model:
    try:
        return (
            read_open(kernel)
            if kernel.language is Language.CUDA
            else read_triton(kernel, open_setting(kernel))
        )
    except (UnreadableError, RecursionError):
        return Model()


def _text(term: Term, texts: Mapping[str, str]) -> str:
    """A sum or a product of numbers that the kernel gets; "" for others."""
    match term:
        case Num(value):
            return str(value)
        case Var(name):
            return texts[name] if texts[name].isidentifier() else f"({texts[name]})"
        case Op("+" | "*" as sign, args) if all(parts := [_text(a, texts) for a in args]):
            return f"({f' {sign} '.join(parts)})"
    return ""
