"""Let the lanes of a warp work out their sums together, so that they read whole lines of memory in wide accesses.

Before:
    for (int t = threadIdx.x; t < n; t += blockDim.x) {
        float dot = 0; for (int d = 0; d < D; d++) { dot += q[d] * k[t * D + d]; }
        w[t] = dot;
    }
    for (int t = 0; t < n; t++) { sum += w[t] * v[t * D + threadIdx.x]; }
After: eight lanes read a row of `k` side by side, for the rows of all eight in turn; and of `v` a lane reads eight
neighbouring elements (of two bytes) of every eighth row. Shuffles add up what the lanes have of each sum, and hand it
to the thread that it belongs to. All else of the kernel stays, and so does its launch.

Before, a thread read a row by itself, a sector for each few elements, or waited for one narrow load after the other.
The sums are added in another order. Refused where not all lanes of a warp come to the loop, and where what one lane
reads may be what another writes. The candidate's alternatives change one kind of loop only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Loop
from kernel_lineage.kernels.edits import Edit, differing_lines, edited
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import data_of, syntax_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt, with_alternatives
from kernel_lineage.rewrite.assists.named_columns import with_named_columns
from kernel_lineage.rewrite.assists.shared_sums import NoSuchLoop
from kernel_lineage.rewrite.assists.shared_sums_down import column_sums
from kernel_lineage.rewrite.assists.shared_sums_rows import row_sums
from kernel_lineage.rewrite.candidate import Candidate

_WHAT = {
    "rows": "eight lanes read each row together",
    "columns": "lanes take several columns of every so-manieth row",
}


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    form = with_named_columns(kernel)
    syntax = syntax_of(form)
    taken = identifiers_in(syntax.entry.node)
    made: dict[str, list[Edit]] = {"rows": [], "columns": []}
    refusals: list[Refusal] = []
    works: dict[str, Callable[[Loop], list[Edit]]] = {
        "rows": lambda loop: row_sums(form, syntax, loop, taken),
        # What is written for a column stands in a block of its own.
        "columns": lambda loop: column_sums(form, syntax, loop, identifiers_in(syntax.entry.node)),
    }
    for loop in syntax.entry.loops:
        for kind, work in works.items():
            edits = attempt(partial(work, loop))
            if isinstance(edits, Refusal):
                refusals.append(edits)
            else:
                made[kind] += edits
    kinds = [kind for kind, edits in made.items() if edits]
    if not kinds:
        raise _nearest(refusals, kernel)
    choices = [kinds, *([kind] for kind in kinds if len(kinds) > 1)]
    return with_alternatives(choices, lambda chosen: _candidate(kernel, form, made, chosen))


def _nearest(refusals: list[Refusal], kernel: Kernel) -> Refusal:
    """The refusal of the loop that fits best."""
    fitting = [r for r in refusals if not isinstance(r, NoSuchLoop)]
    return (
        fitting[0] if fitting else Refusal(f"no loop of {kernel.name} sums a row or a column for each thread")
    )


def _candidate(kernel: Kernel, form: Kernel, made: dict[str, list[Edit]], kinds: list[str]) -> Candidate:
    what = " and ".join(_WHAT[kind] for kind in kinds)
    edits = [edit for kind in kinds for edit in made[kind]]
    if form is not kernel:
        edits = list(differing_lines(edited(data_of(form), edits).decode(), data_of(kernel).decode()))
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"{what[0].upper()}{what[1:]}, and shuffles add that up; a sum is rounded in another order.",
        guarded=True,
    )


ASSIST = Assist(
    title="Share sums among the lanes of a warp",
    skill="sums-by-warps",
    pattern="thread_sum",
    make=_rewrite,
)
