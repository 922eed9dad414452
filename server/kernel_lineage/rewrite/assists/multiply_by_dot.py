"""Multiply two blocks of a Triton kernel by `tl.dot`, where products of all pairs of their elements are added up.

Before:                                              After:
    total += tl.sum(a[:, :, None] * b[None, :, :], axis=1)   total += tl.dot(a, b, input_precision="ieee")

Before:
    for k in range(0, K):
        x = tl.load(a + rows * K + k, mask=rows < M)
        y = tl.load(b + k * N + columns, mask=columns < N)
        total += x[:, None] * y[None, :]
After:
    for first in range(0, K, BLOCK_K):
        k = first + tl.arange(0, BLOCK_K)
        x = tl.load(a + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & (k[None, :] < K), other=0)
        y = tl.load(b + k[:, None] * N + columns, mask=(columns < N) & (k[:, None] < K), other=0)
        total += tl.dot(x, y, input_precision="ieee")

A tensor core adds up products of halves without rounding each, and no block of three axes lies in registers. Operands
are multiplied as they are loaded where both were only converted to float32 before; the candidate's alternatives
convert them still. Some versions of Triton make a product in TF32 of a sum of products by themselves: of floats that is
an alternative, which a gate lets pass where the kernel computed so already. The sizes of the tiles are chosen with it
where a launch may (`triton_block_choices`). Refused are
sides of fewer than 16 elements, which `tl.dot` does not take, and rounds that do more than load, compute each element
by itself and add one product.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import fresh_name
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt, with_alternatives
from kernel_lineage.rewrite.assists.triton_block_choices import (
    BlockChoice,
    block_choices,
    kernel_after,
    resized,
)
from kernel_lineage.rewrite.assists.triton_dots import (
    Spine,
    SummedProduct,
    dot,
    inner_spine,
    plain,
    summed_product,
)
from kernel_lineage.rewrite.assists.triton_lanes import Walk
from kernel_lineage.rewrite.assists.triton_outer_rounds import rounds_together
from kernel_lineage.rewrite.assists.triton_places import (
    calls_of,
    check_launched_here,
    function_of,
    parameter_added,
    span_of,
    stored_names,
)
from kernel_lineage.rewrite.assists.triton_tiles import Tiles
from kernel_lineage.rewrite.assists.triton_values import Unfollowed
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.skills.kernel_facts import constant

_LEAST = 16
"""Elements along each side of what `tl.dot` multiplies."""
_DEPTHS = (32, 64)
"""Rounds that are multiplied at a time where the tiles' sizes cannot be chosen."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    function = function_of(kernel)
    check_launched_here(kernel, "gives it its sizes")
    walk = _walked(function)
    sums = [s for c in calls_of(function, "sum") if (s := summed_product(walk, c)) is not None]
    if sums:
        make = partial(_multiplied, kernel, function, sums)
        return _candidate(kernel, make, {}, coarse=make(converted=True, precision="tf32"))
    size, refusals = fresh_name("BLOCK_K", names_in(function)), list[Refusal]()
    for loop in (s for s in function.body if isinstance(s, ast.For)):
        make = partial(_rounds, kernel, function, walk, loop, size)
        if not isinstance(made := attempt(make), Refusal):
            return _candidate(kernel, make, {size: str(_DEPTHS[0])})
        refusals.append(made)
    raise (refusals or [Refusal(f"{kernel.name} adds up no products of all pairs of two blocks' elements")])[
        0
    ]


def _walked(function: ast.FunctionDef) -> Walk:
    """What the names of a kernel stand for. Refused where that is not followed."""
    walk = Walk(Tiles(), function)
    try:
        walk.block(function.body)
    except Unfollowed as what:
        raise Refusal(str(what)) from what
    return walk


def _rounds(
    kernel: Kernel,
    function: ast.FunctionDef,
    walk: Walk,
    loop: ast.For,
    size: str,
    *,
    converted: bool = False,
) -> list[Edit]:
    added = parameter_added(kernel, function, size)
    return [*rounds_together(kernel, function, walk, loop, size, converted=converted), added]


def _multiplied(
    kernel: Kernel,
    function: ast.FunctionDef,
    sums: list[SummedProduct],
    *,
    converted: bool = False,
    precision: str = "ieee",
) -> list[Edit]:
    """Sums over an axis of three as products of matrices."""
    stored = stored_names(function)
    values = {
        s.targets[0].id: s.value
        for s in ast.walk(function)
        if isinstance(s, ast.Assign)
        and isinstance(s.targets[0], ast.Name)
        and stored.count(s.targets[0].id) == 1
    }
    edits = dict[int, Edit]()
    for product in sums:
        spines = [Spine.of(o, values, function) for o in product.operands]
        dropped = {} if converted else inner_spine(*spines)
        texts = []
        for operand, turned in zip(product.operands, product.turned, strict=True):
            text = ast.unparse(plain(operand, dropped))
            texts.append(f"tl.trans({text})" if turned else text)
        edits[id(product.call)] = Edit(span_of(kernel, product.call), dot(texts[0], texts[1], precision))
        for value in values.values():
            if id(value) in dropped:
                edits[id(value)] = Edit(span_of(kernel, value), ast.unparse(plain(value, dropped)))
    return list(edits.values())


def _candidate(
    kernel: Kernel,
    make: Callable[..., list[Edit]],
    options: Mapping[str, str],
    coarse: list[Edit] | None = None,
) -> Candidate:
    """The candidate with the sizes that may be chosen; its operands are converted as they were in an alternative, or
    are floats, whose `coarse` products in TF32 are alternatives.
    """
    made, converted = make(), make(converted=True)
    of_floats = made == converted
    choices = _choices(kernel, made, options, "ieee" if of_floats else "")
    tried = [(made, choice, "") for choice in choices]
    if not of_floats:
        tried.append((converted, choices[0], ""))
    elif coarse is not None:
        rounded = "; floats are multiplied in TF32, as some versions of Triton do for such sums by themselves"
        tried[1:1] = [(coarse, choice, rounded) for choice in _choices(kernel, coarse, options, "tf32")]
    return with_alternatives(tried, lambda one: _launched(kernel, *one))


def _choices(
    kernel: Kernel, edits: list[Edit], options: Mapping[str, str], precision: str
) -> list[BlockChoice]:
    after = kernel_after(kernel, edits, options)
    choices = attempt(lambda: block_choices(after, precision))
    if not isinstance(choices, Refusal) and choices:
        return choices
    _check_sides(after)
    return [BlockChoice({name: depth}) for name in options for depth in _DEPTHS] or [BlockChoice({})]


def _launched(kernel: Kernel, edits: list[Edit], choice: BlockChoice, rounded: str) -> Candidate:
    launched = f", launched with {choice.text}" if choice.options else ""
    return ASSIST.candidate(
        kernel,
        [*edits, *resized(kernel, choice)],
        explanation=f"Products of pairs are added up by `tl.dot`{launched}; a product of halves is not rounded before "
        f"it is added, and sums are rounded in another order{rounded}.",
        launch=choice.launch,
    )


def _check_sides(kernel: Kernel) -> None:
    """Refuse operands of `tl.dot` that are known to be too small for it."""
    function = function_of(kernel)
    walk = _walked(function)
    extents = {a.size for c in calls_of(function, "dot") for o in c.args[:2] for a in walk.of(o).axes}
    for launch in kernel.launches:
        for extent in sorted(extents):
            number = constant(launch.options.get(extent, extent or "1"), launch.definitions)
            if number is not None and number < _LEAST:
                raise Refusal(
                    f"a side of {number}, fewer than {_LEAST} elements, is not multiplied by `tl.dot`"
                )


ASSIST = Assist(
    title="Multiply blocks by tl.dot",
    skill="triton-dot-product",
    pattern="triton_launch_options",
    make=_rewrite,
)
