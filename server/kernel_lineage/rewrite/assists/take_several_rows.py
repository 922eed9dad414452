"""Let each thread of a two-dimensional grid take several rows, in blocks as wide as a warp.

Before:
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) { out[y * w + x] = in[y * w + x] + in[(y + 1) * w + x]; }
After: a block of 256 threads takes 32 x 32 places, and each thread does the same work for four rows, one below the
other, in an unrolled loop. What one row reads the next one finds in the cache, a warp reads whole lines, and a thread
has four rows' loads under way. Blocks of several layers along z keep them: of four layers, each has 32 x 8 places.
Each launch gets a block for each tile; the candidate's alternatives take two and eight rows.

Threads had no order among each other, so that one may do the work of four. Refused where they work together, where
something tells more of a thread than its place, where an access is not bounded along both axes, and where neither
blocks are narrower than a warp nor rows read what their neighbours read: then there is nothing to gain.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernel_gate.expr.polynomials import Polynomial, coefficient_of, plus, polynomial, term_of, times
from kernel_gate.expr.terms import Num, Op, Term, Var, variables
from kernel_gate.program import WARP
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.code.model import Access, Model
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.blocks_at_launch import block_extents, launches_of
from kernel_lineage.rewrite.assists.element_work import check_alone
from kernel_lineage.rewrite.assists.layout import fresh_name, syntax_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt, with_alternatives
from kernel_lineage.rewrite.assists.product_launch import Blocks, tiled_launches
from kernel_lineage.rewrite.assists.product_outputs import place_work, with_body
from kernel_lineage.rewrite.assists.products import PLACES, block_extents_of, conjuncts, placed, product_of
from kernel_lineage.rewrite.candidate import Candidate, Edit

_ROWS = (4, 2, 8)
_THREADS = 256
_DEPTHS = (1, 2, 4, 8)
"""Threads along z that leave a block of warps along x."""
_NEAR = 4
"""Rows as far apart as this are read again soon."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    check_alone(kernel, syntax_of(kernel))
    depth = _depth_of(kernel)
    model, extents = read_open(kernel), block_extents_of(kernel, depth)
    if model.problems:
        line, what = model.problems[0]
        raise Refusal(f"what line {line} does could not be read: {what}")
    if model.events:
        raise Refusal(
            f"{kernel.name} calls `{model.events[0].name}`, which is not known to leave threads alone"
        )
    for access in model.accesses:
        for axis in PLACES:
            if not _is_bounded(access, axis, extents):
                raise Refusal(f"no check of its bounds tells where `{access.text}` ends along {axis}")
    if not isinstance(attempt(lambda: product_of(kernel)), Refusal):
        raise Refusal(f"{kernel.name} is a matrix product, whose operands are shared in tiles")
    width = extents["x"]
    if not (isinstance(width, Num) and width.value < WARP) and not _shares_rows(model, extents):
        raise Refusal(
            f"rows of {kernel.name} read nothing that their neighbours read, in blocks of whole warps"
        )
    return with_alternatives(_ROWS, lambda rows: _with_rows(kernel, model, extents, rows, depth))


def _depth_of(kernel: Kernel) -> int:
    """Threads of a block along z, which stay as they are; 1 where the launches do not agree on what fits a block."""
    depths = {block_extents(kernel, launch)[2] for launch in launches_of(kernel)}
    (depth,) = depths if len(depths) == 1 else (None,)
    return depth if depth is not None and depth in _DEPTHS else 1


def _with_rows(kernel: Kernel, model: Model, extents: Mapping[str, Term], rows: int, depth: int) -> Candidate:
    height = _THREADS // WARP // depth * rows
    return ASSIST.candidate(
        kernel,
        [
            *tiled_launches(kernel, {"x": WARP, "y": height}, Blocks(_THREADS, depth=depth)),
            _body(kernel, model, extents, rows, depth),
        ],
        explanation=f"Blocks of {_THREADS} threads take {WARP}x{height}{f'x{depth}' if depth > 1 else ''} places, "
        f"each thread {rows} of them; each place is computed as before.",
    )


def _body(kernel: Kernel, model: Model, extents: Mapping[str, Term], rows: int, depth: int) -> Edit:
    """The kernel's body as a loop over a thread's rows."""
    syntax = syntax_of(kernel)
    taken = identifiers_in(syntax.entry.node)
    across, first, step, down = (fresh_name(n, taken) for n in ("across", "first", "step", "down"))
    work = place_work(kernel, syntax, model, extents, {"x": across, "y": down})
    height = _THREADS // WARP // depth * rows
    lane, warp = (
        (f"threadIdx.x % {WARP}", f"threadIdx.x / {WARP}") if depth == 1 else ("threadIdx.x", "threadIdx.y")
    )
    lines = [
        f"const unsigned {across} = blockIdx.x * {WARP} + {lane};",
        f"const unsigned {first} = blockIdx.y * {height} + {warp} * {rows};",
        "#pragma unroll",
        f"for (unsigned {step} = 0; {step} < {rows}; {step}++) {{",
        f"    const unsigned {down} = {first} + {step};",
        *(f"    {line}" if line else "" for line in work),
        "}",
    ]
    return with_body(kernel, syntax, lines)


def _is_bounded(access: Access, axis: str, extents: Mapping[str, Term]) -> bool:
    """Whether an access happens below some bound of an axis only, whatever the place along the other."""
    others = {place.name for place in PLACES.values()} - {PLACES[axis].name}
    for condition in (placed(c, extents) for part in access.path for c in conjuncts(part)):
        if not isinstance(condition, Op) or condition.name not in ("<", "<="):
            continue
        left, right = condition.args
        room = coefficient_of(plus(polynomial(right), times({(): -1}, polynomial(left))), PLACES[axis])
        if room is None or set(room[0]) != {()} or others & set(variables(term_of(room[1]))):
            continue
        if room[0][()] < 0:
            return True
    return False


def _shares_rows(model: Model, extents: Mapping[str, Term]) -> bool:
    """Whether two rows that are near each other read one element."""
    down = PLACES["y"]
    read: dict[str, list[tuple[Polynomial, Polynomial]]] = {}
    for access in model.accesses:
        if not access.reads or access.offset is None:
            continue
        split = coefficient_of(polynomial(placed(access.offset, extents)), down)
        if split is None or not split[0]:
            continue
        if any(_steps(split[1], Var(round_)) == split[0] for round_ in access.loops):
            return True
        read.setdefault(access.root, []).append(split)
    for places in read.values():
        for step, rest in places:
            near = [times(step, {(): k}) for k in range(1, _NEAR)]
            apart = (plus(rest, times({(): -1}, other)) for again, other in places if again == step)
            if any(distance in near for distance in apart):
                return True
    return False


def _steps(of: Polynomial, round_: Var) -> Polynomial | None:
    split = coefficient_of(of, round_)
    return split[0] if split is not None else None


ASSIST = Assist(
    title="Take several rows in each thread",
    skill="rows-per-thread",
    pattern="launch_configuration",
    make=_rewrite,
)
