"""Rows of a CUDA C++ kernel's outputs that lie over one another, because how far apart they are was chosen.

What a kernel reaches of a buffer tells its rows: `(H - 1) * pitch + W` elements are `H` rows of `W`, each `pitch`
behind the one before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from kernel_gate.arguments import Argument
from kernel_gate.expr.parsing import Reading
from kernel_gate.expr.polynomials import Polynomial, coefficient_of, plus, polynomial, term_of
from kernel_gate.expr.terms import Var
from kernel_gate.expressions import ExpressionError, evaluate
from kernel_gate.launch_tables import Launch
from kernel_gate.workload import Workload
from kernel_lineage.kernels.cuda_forms import inside
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.model import CHOSEN, Draft, DraftArgument
from kernel_lineage.workloads.promises import broken

_ORDERS = frozenset({"<", "<=", ">", ">="})


def with_separate_rows(draft: Draft, reason: str) -> Draft | None:
    """The draft with the promise `pitch >= W` for rows of an output that overlap at some sizes, where `pitch` was
    chosen; `reason` says on which outputs threads race. None where no output that it names has such rows.
    """
    rows = [
        row
        for argument in draft.arguments
        if argument.kind in ("output", "inout") and f"{argument.name}[" in reason
        for row in _rows(argument.shape or (), draft)
    ]
    promises = {promise: row for row in rows if (promise := " >= ".join(row)) not in draft.promises}
    dims, checked = dict(draft.dims), dict(draft.checked)
    for sizes in (dims, checked):
        for pitch, length in promises.values():
            with suppress(ExpressionError):  # then the promise is broken, too
                sizes[pitch] *= max(1, -(-int(evaluate(length, sizes)) // sizes[pitch]))
    wanted = (*draft.promises, *promises)
    if not promises or broken(dims, wanted) or broken(checked, wanted):
        return None
    assumed = (*draft.assumed, *(f"{p}: else rows overlap, and threads race" for p in promises))
    return replace(draft, dims=dims, checked=checked, promises=wanted, assumed=assumed)


def _rows(shape: Collection[str], draft: Draft) -> Iterator[tuple[str, str]]:
    """The chosen dims by which rows follow one another, each with the length of a row, in elements."""
    if len(shape) != 1:
        return
    reached = polynomial(Reading({name: Var(name) for name in draft.dims}).read(*shape))
    for pitch in sorted(draft.untold):
        parts = coefficient_of(reached, Var(pitch))
        # One pitch less than there are rows: the last one ends with its elements.
        if parts is not None and _is_one_less(parts[0]) and parts[1]:
            length = str(term_of(parts[1]))
            yield pitch, length[1:-1] if length.startswith("(") else length


def _is_one_less(count: Polynomial) -> bool:
    return count.get((), 0) == -1 and bool(plus(count, {(): 1}))


def chosen_pitches(workload: Workload, assumed: Collection[str], kernel: Kernel) -> list[str]:
    """The dims of a drafted workload that were chosen, and that may say how far apart rows are: the kernel multiplies
    by them and compares them with nothing, and its launch does not depend on them. `assumed` is what the draft says.
    """
    launches = (workload.launch, *(table for table in workload.launches if isinstance(table, Launch)))
    extents = (str(extent) for launch in launches for extent in (*launch.grid, *launch.block))
    launched = {word for text in extents for word in WORD.findall(text)}
    factors = _names_beside({"*"}, kernel)
    return [
        name
        for name in compared_with_nothing(workload.args, workload.dims, kernel)
        if f"{name}{CHOSEN}" in assumed
        and name not in launched
        and any(a.value == name and a.name in factors for a in workload.args)
    ]


def compared_with_nothing(
    arguments: Iterable[Argument | DraftArgument], dims: Collection[str], kernel: Kernel
) -> list[str]:
    """The dims that a kernel takes as numbers of which no comparison speaks."""
    if kernel.source is None or kernel.source.root is None:
        return []
    compared = _names_beside(_ORDERS, kernel)
    return [str(a.value) for a in arguments if a.value in dims and a.name not in compared]


def _names_beside(operators: Collection[str], kernel: Kernel) -> set[str]:
    """The names in operands of some operators in a kernel, fields as a workload has them."""
    if kernel.source is None or kernel.source.root is None:
        return set()
    own = kernel.span
    return {
        name.text.decode().replace(".", "_")
        for node in inside(kernel.source.root)
        if own.start <= node.start_byte < own.end and any(c.type in operators for c in node.children)
        for name in inside(node)
        if name.type in ("identifier", "field_expression") and name.text is not None
    }
