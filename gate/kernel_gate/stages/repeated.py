"""Cases that go round the candidate's loops: where no planned case repeats one, extents are looked for that do.

Small shapes end a loop over tiles, or over the rows that a grid which fills the device leaves to each block, after its
first round; what one round leaves to the next is then seen by nothing. Loops that different dims repeat are repeated
together.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from kernel_gate.cases import Case
from kernel_gate.shapes import elements, is_valid, named_shapes, ragged_beyond, typical_shape
from kernel_gate.stages.check_coverage import loops_of
from kernel_gate.stages.check_state import CheckState
from kernel_gate.workload import Workload

_MOST_ELEMENTS = 1 << 17
"""Elements of all buffers of a shape in which one dim is longer than in the usual one."""
_MOST_TOGETHER = 1 << 19
_LONGEST = 1 << 16
_SLOW = 0.25
"""Seconds of a case: nothing longer is tried after it."""


def repeating_cases(run: CheckState, seed: int) -> Iterator[Case]:
    """Cases in turn, each with a family of its own, which is to be run before the next one is asked for.

    None where some case repeats each loop, or where nothing tells.
    """
    once = {line for line, again in loops_of(run).items() if not again}
    named = named_shapes(run.workload)
    if not once or not named:
        return
    usual, least = typical_shape(named), dict[int, dict[str, int]]()
    cases = 0
    for name in usual:
        for extent in _extents(run.workload, usual, name):
            if not once - least.keys():
                break
            case = Case({**usual, name: extent}, seed + cases, origin="hidden")
            cases, started = cases + 1, time.monotonic()
            yield case
            again = loops_of(run, family_of_repeating(case))
            least |= {line: dict(case.dims) for line in once - least.keys() if again.get(line)}
            if time.monotonic() - started > _SLOW:
                break
    longer = [dims for n, dims in enumerate(least.values()) if dims not in [*least.values()][:n]]
    together = {name: max(dims[name] for dims in longer) for name in usual} if len(longer) > 1 else {}
    if together and _fits(run.workload, together, _MOST_TOGETHER):
        yield Case(together, seed + cases, origin="hidden")
        longer.append(together)
    for dims in reversed(longer):
        for ragged in ragged_beyond(run.workload, dims, usual, seed):
            if _fits(run.workload, ragged, _MOST_TOGETHER):
                cases += 1
                yield Case(ragged, seed + cases, origin="hidden")


def family_of_repeating(case: Case) -> str:
    """What the launches of one of these cases are kept apart by."""
    return f"repeating {dict(case.dims)}"


def _extents(workload: Workload, usual: Mapping[str, int], name: str) -> Iterator[int]:
    """Extents of a dim that are longer than the usual one: powers of two, which end with a whole tile, else the usual
    one times powers.
    """
    for factor in (1, usual[name]):
        extents = [factor << k for k in range(_LONGEST.bit_length()) if factor << k <= _LONGEST]
        fit = [e for e in extents if e > usual[name] and _fits(workload, {**usual, name: e}, _MOST_ELEMENTS)]
        if fit:
            yield from fit
            return


def _fits(workload: Workload, dims: Mapping[str, int], most: int) -> bool:
    return is_valid(workload, dims) and elements(workload, dims) <= most
