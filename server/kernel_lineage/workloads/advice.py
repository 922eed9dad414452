"""What to add to a workload so that it kills the mutants that survived."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from kernel_gate.shapes import hidden_shapes, next_prime
from kernel_gate.workload import Workload
from kernel_lineage.workloads.proof import Tried

_TAIL = frozenset({"dropped_guard", "missing_tail", "off_by_one_bound"})
_ROUNDS = frozenset({"dropped_accumulation", "wrong_k_slice", "buffer_reused_early", "lower_precision"})
_PLACES = frozenset({"wrong_stride", "swapped_index"})
_SMALL = frozenset({"wrong_constant", "dropped_term"})


def advice(survivors: Iterable[Tried], workload: Workload) -> tuple[str, ...]:
    """One line for each change of the workload that could kill some of the survivors."""
    kinds = {t.mutant.kind for t in survivors}
    lines: list[str] = []
    if kinds & _TAIL:
        hidden = hidden_shapes(workload, 1)
        for name, extents in workload.dims.items():
            if gcd(*extents) > 1 and not any(dims[name] % gcd(*extents) for dims in hidden):
                longer = [*extents, next_prime(max(extents))]
                lines.append(f"a size that is no multiple of the block: {name} = {longer}; if no caller has one, "
                             f'say so: promises = ["{name} % {gcd(*extents)} == 0"]')  # fmt: skip
    if kinds & _ROUNDS:
        lines += [
            f"a size that takes several rounds: {name} = {[*extents, 2 * max(extents)]}"
            for name, extents in list(workload.dims.items())[-1:]
        ]
    if kinds & _PLACES:
        equal = len({max(e) for e in workload.dims.values()}) < len(workload.dims)
        single = [name for name, extents in workload.dims.items() if max(extents) == 1]
        if equal or single:
            lines.append("extents that differ from each other, and more than one row")
    if kinds & _SMALL:
        lines.append('inputs as small as the constants: values = "uniform(-1e-3, 1e-3)" for one input')
    if "wrong_first_value" in kinds:
        lines.append('inputs that are all negative, for a maximum: values = "uniform(-3, -1)"')
    return tuple(lines)
