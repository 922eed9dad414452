"""Load several rows of a Triton block together, where a loop goes down its columns row by row.

Before:
    for r in range(rows):
        v = tl.load(x + r * columns + c, mask=c < columns, other=0.0)
        total += v
After:
    total_parts = tl.full((ROWS, BLOCK), 0, total.dtype)
    for first in range(0, rows, ROWS):
        r = first + tl.arange(0, ROWS)[:, None]
        v = tl.load(x + r * columns + c, mask=(c < columns) & (r < rows), other=0.0)
        total_parts += tl.where(r < rows, v.to(total.dtype), 0)
    total += tl.sum(total_parts, axis=0)

Each row of a block is combined by itself: the loop neither waits for other warps nor goes through shared memory.
`ROWS` is a new parameter that each launch gives. Where the columns of a program are the launch's to choose as well
(`triton_block_choices`), few of them make enough programs for a device; the candidate's alternatives are other sizes.
What the loop reads or stores under its counter is masked by the counter's bound as well; a pointer that each round
moves on by a row is moved on by `ROWS` of them, and each row of a block reads behind it. The loop may add up, and take
maxima or minima of floats; a sum is rounded in another order. It may store once in each round, at places a step apart,
to a buffer that it does not load from: single elements, or blocks that are masked to be no longer than the step. Other
loops of the kernel that allow it are changed with it. Whatever else goes from row to row is refused, as is all that is
no row: blocks of two axes, and what is done to a whole block. A kernel that has `ROWS` already, from another of its
loops, goes along this loop with the same.
"""

from __future__ import annotations

import ast

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import fresh_name, insert_before
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt, with_alternatives
from kernel_lineage.rewrite.assists.triton_block_choices import (
    BlockChoice,
    block_choices,
    kernel_after,
    resized,
)
from kernel_lineage.rewrite.assists.triton_lanes import Walk
from kernel_lineage.rewrite.assists.triton_places import (
    assignments,
    called,
    calls_of,
    check_launched_here,
    function_of,
    parameter_added,
    sources,
    span_of,
    stored_names,
)
from kernel_lineage.rewrite.assists.triton_rounds import MASKS, factor, rounds_of
from kernel_lineage.rewrite.assists.triton_steps import is_below_step, terms_of
from kernel_lineage.rewrite.assists.triton_tiles import Tiles
from kernel_lineage.rewrite.assists.triton_totals import Total, can_begin, kept_apart, loop_at
from kernel_lineage.rewrite.assists.triton_values import (
    OF_LANES,
    Unfollowed,
    combined_in,
    is_carried,
    number_of,
)
from kernel_lineage.rewrite.candidate import Candidate, Edit

_ROWS = "ROWS"
_TRIED = (32, 8)
"""Rows of a block where nothing else of its size can be chosen: many keep loads in flight, few spare registers."""


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    function = function_of(kernel)
    check_launched_here(kernel, "gives it its sizes")
    loop = loop_at(kernel, function, anchor)
    edits = rows_together(kernel, function, loop)
    if _has_rows(function):
        explanation = f"{_ROWS} elements of this loop are taken together as well."
        return ASSIST.candidate(kernel, edits, explanation=explanation)
    # Few columns and many warps are right for all of the kernel's loops or for none.
    edits += [e for other in function.body if other is not loop for e in _along(kernel, function, other)]
    edits.append(parameter_added(kernel, function, _ROWS))
    choices = attempt(lambda: block_choices(kernel_after(kernel, edits, {_ROWS: str(_TRIED[0])})))
    if isinstance(choices, Refusal) or not choices:
        choices = [BlockChoice({_ROWS: rows}) for rows in _TRIED]
    return with_alternatives(choices, lambda choice: _launched(kernel, edits, choice))


def _along(kernel: Kernel, function: ast.FunctionDef, statement: ast.stmt) -> list[Edit]:
    """The edits of another loop of the kernel; none where the statement is none that goes row by row."""
    if not isinstance(statement, ast.For):
        return []
    here = Anchor(span_of(kernel, statement), "")
    edits = attempt(lambda: rows_together(kernel, function, loop_at(kernel, function, here)))
    return [] if isinstance(edits, Refusal) else edits


def _has_rows(function: ast.FunctionDef) -> bool:
    """Whether a parameter is the size of a block of rows already."""
    blocks = [ast.unparse(c.args[1]) for c in calls_of(function, "arange") if len(c.args) > 1]
    return _ROWS in blocks and any(a.arg == _ROWS for a in function.args.args)


def _launched(kernel: Kernel, edits: list[Edit], choice: BlockChoice) -> Candidate:
    return ASSIST.candidate(
        kernel,
        [*edits, *resized(kernel, choice)],
        explanation=f"{choice.options[_ROWS]} rows are loaded together, launched with {choice.text}; sums over "
        "rows are rounded in another order.",
        launch=choice.launch,
    )


def rows_together(kernel: Kernel, function: ast.FunctionDef, loop: ast.For) -> list[Edit]:
    """The loop over blocks of rows, its loads masked by the last row, and its sums over a block's rows."""
    rounds = rounds_of(function, loop)
    row, stop, moved, behind, depends = rounds.row, rounds.stop, rounds.moved, rounds.behind, rounds.depends
    stores = [c for s in loop.body if (c := _stored(s)) is not None]
    totals, alone = _totals(function, loop, rounds.changed, behind, stores=bool(stores))
    if stores:
        _check_stores(kernel, function, loop, stores, moving={row, *moved}, depends=depends, alone=alone)
    taken = names_in(function)
    if row == "_":
        row = fresh_name("row", taken)
    inside = f"{row} < {stop}"
    edits: list[Edit] = []
    for statement in loop.body:
        accesses = (n for n in ast.walk(statement) if isinstance(n, ast.Call) and called(n) in MASKS)
        edits += [_masked(kernel, call, inside) for call in accesses if names_in(call) & depends]
    spread = "" if alone else "[:, None]"
    edits += [e for name, step in moved.items() for e in _by_rows(kernel, loop, name, step, spread)]
    first = fresh_name("first", taken)
    if none := [t.statement.lineno for t in totals if not names_in(t.what) & depends]:
        raise Refusal(f"what line {none[0]} takes in each round is no row")
    return [
        *rounds.together(kernel, row, first, _ROWS, spread),
        *kept_apart(kernel, loop, totals, taken, inside),
        *edits,
    ]


def _totals(
    function: ast.FunctionDef, loop: ast.For, changed: frozenset[str], behind: frozenset[str], *, stores: bool
) -> tuple[list[Total], bool]:
    """What the loop combines over rows, and whether a row is a single element. Refused where it does anything else with
    one, but to store it.

    `changed` are the names that it gives values, `behind` those that are read when it has ended.
    """
    walk = Walk(Tiles(), function)
    try:
        walk.block(function.body[: function.body.index(loop)])
    except Unfollowed as what:
        raise Refusal(str(what)) from what
    totals = []
    for statement in loop.body:
        _check_of_rows(statement)
    for name in sorted(changed):
        step = combined_in(loop.body, name) if is_carried(loop.body, name) else None
        axes = walk.values[name].axes if name in walk.values else ()
        if step is not None and not axes and (kind := _type_of(function, loop, name, step[1])):
            shape, along = f"({_ROWS},)", ", axis=0"
            totals.append(Total(name, step[1], step[0], step[2], step[2], shape, kind, along, is_alone=True))
        elif step is not None and len(axes) == 1:
            statement, how, added = step
            before = function.body[: function.body.index(loop)]
            if not can_begin(how, walk.values[name], before, name):
                raise Refusal(f"`{name}` begins neither with an infinity nor as a tile of a float type")
            shape = f"({_ROWS}, {axes[0].size or 1})"
            totals.append(Total(name, how, statement, added, added, shape, f"{name}.dtype", ", axis=0"))
        elif is_carried(loop.body, name):
            raise Refusal(
                f"`{name}` is carried from row to row, and is no sum, maximum or minimum of a block's axis"
            )
        elif name in behind:
            raise Refusal(f"`{name}` is of the last row behind the loop in line {loop.lineno}")
    own = {n for n in changed if not is_carried(loop.body, n)} | {*stored_names(loop.target)}
    used = {n for s in loop.body for n in names_in(s)} - {t.name for t in totals if t.is_alone} - own
    widths = {n: len(walk.values[n].axes) for n in used if n in walk.values}
    single = any(t.is_alone for t in totals)
    for name, number in widths.items():
        if number > (0 if single else 1):
            raise Refusal(f"`{name}` has {'an axis' if single else 'two axes'} already")
    if not totals and not stores:
        raise Refusal(f"the loop in line {loop.lineno} combines nothing over rows")
    return totals, single or not any(widths.values())


def _type_of(function: ast.FunctionDef, loop: ast.For, name: str, how: str) -> str:
    """The type of a number that a loop begins with, as Triton takes it; "" where it does not begin as a number."""
    before = function.body[: function.body.index(loop)]
    values = [s.value for s in before if isinstance(s, ast.Assign) and stored_names(s) == [name]]
    begins = (
        number_of(values[-1])
        if values and len(values) == sum(name in stored_names(s) for s in before)
        else None
    )
    if begins is None:
        return ""
    whole = isinstance(values[-1], ast.Constant) and isinstance(values[-1].value, int)
    return "" if whole and how != "sum" else "tl.int32" if whole else "tl.float32"


def _check_of_rows(statement: ast.stmt) -> None:
    """Refuse what would mean something else for several rows at once."""
    stored = _stored(statement)
    match statement:
        case ast.Assign(targets=[ast.Name()]) | ast.AugAssign():
            pass
        case _ if stored is None:
            raise Refusal(f"line {statement.lineno} does more with a row than to load, combine or store it")
    for node in ast.walk(statement):
        if node is stored:
            continue
        method = (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to"
        )
        is_plain = isinstance(node, ast.Call) and (called(node) in ("load", "where", *OF_LANES) or method)
        if isinstance(node, ast.Call) and not is_plain and ast.unparse(node.func) != "float":
            raise Refusal(
                f"`{ast.unparse(node)}` in line {node.lineno} is not known to be one for each element"
            )
        if isinstance(node, ast.Call) and called(node) == "load" and not node.args:
            raise Refusal(f"`{ast.unparse(node)}` in line {node.lineno} names what it loads from")
        if isinstance(node, ast.Subscript | ast.IfExp | ast.BoolOp):
            raise Refusal(
                f"`{ast.unparse(node)}` in line {statement.lineno} is another thing for several rows"
            )


def _stored(statement: ast.stmt) -> ast.Call | None:
    """The call of a statement that is a store and no more."""
    match statement:
        case ast.Expr(value=ast.Call(args=[_, _, *_]) as call) if called(call) == "store":
            return call
    return None


def _check_stores(
    kernel: Kernel,
    function: ast.FunctionDef,
    loop: ast.For,
    stores: list[ast.Call],
    *,
    moving: set[str],
    depends: frozenset[str],
    alone: bool,
) -> None:
    """Refuse stores that two rounds may make to one place, or to a place that the kernel loads from."""
    flow, pointers = assignments(function), {p.name for p in kernel.parameters if p.pointer}
    stored = {n for c in stores for n in sources(c.args[0], flow)[0] & pointers}
    loaded = {n for c in calls_of(function, "load") for n in sources(c, flow)[0] & pointers}
    for statement in loop.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_apart(value, moving, depends):
                moving = moving | {name}
    for call in stores:
        if not _is_apart(call.args[0], moving, depends):
            raise Refusal(f"the places that line {call.lineno} stores to are not known to be a step apart")
        if not alone and not is_below_step(function, call, depends):
            raise Refusal(
                f"the blocks that line {call.lineno} stores may be longer than the step between them"
            )
    if wrong := stored & loaded:
        raise Refusal(
            f"{kernel.name} loads from `{min(wrong)}`, which the loop in line {loop.lineno} stores to"
        )
    if len(stored) < len(stores):
        raise Refusal(f"the loop in line {loop.lineno} stores to a buffer in two places")


def _is_apart(address: ast.expr, moving: set[str], depends: frozenset[str]) -> bool:
    """Whether an address is what stays, and the number of a round once, times a step."""
    terms = [t for t in terms_of(address) if names_in(t) & depends]
    return len(terms) == 1 and _is_step(terms[0], moving, depends)


def _is_step(term: ast.expr, moving: set[str], depends: frozenset[str]) -> bool:
    """Whether a term is the number of a round, or a product of it with what stays."""
    match term:
        case ast.Name(id=name):
            return name in moving
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            one, other = (left, right) if names_in(left) & depends else (right, left)
            return not names_in(other) & depends and _is_step(one, moving, depends)
    return False


def _by_rows(kernel: Kernel, loop: ast.For, name: str, step: ast.expr, spread: str) -> list[Edit]:
    """Edits by which a round moves a name on by a block's rows, and each of the rows reads behind it."""
    by = factor(step)
    behind = f"({name} + tl.arange(0, {_ROWS}){spread} * {by})"
    names = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name]
    return [
        *(Edit(span_of(kernel, n), behind) for n in names if isinstance(n.ctx, ast.Load)),
        Edit(span_of(kernel, step), f"{_ROWS} * {by}"),
    ]


def _masked(kernel: Kernel, call: ast.Call, inside: str) -> Edit:
    """A load or a store of no row behind the last one."""
    place = MASKS[called(call)]
    listed = call.args[place] if len(call.args) > place else None
    mask = next((k.value for k in call.keywords if k.arg == "mask"), listed)
    if mask is None:
        return insert_before(kernel, span_of(kernel, call.args[-1]).end, f", mask={inside}")
    written = ast.unparse(mask)
    return Edit(
        span_of(kernel, mask), f"{written if written.isidentifier() else f'({written})'} & ({inside})"
    )


ASSIST = Assist(
    title="Load several rows together",
    skill="triton-rows-together",
    pattern="triton_unstaged_loop",
    make=_rewrite,
)
