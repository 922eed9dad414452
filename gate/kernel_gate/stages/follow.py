"""Cases that follow the code: shapes, values and memory for both sides of what the programs decide by.

Branches that depend on arguments alone are asked for their sides on shapes that nothing is run on, until every side
that can be found has a shape. So are grids: an extent from which more blocks come is taken with one of them and with
more, because what only the second block reads is seen by nothing smaller. Values are drawn around the constants that
the programs compare with. Where buffers lie is varied on a shape of each path, because a path that needs alignment may
not be the usual one.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from kernel_gate.built import Built
from kernel_gate.cases import ALLOCATED, Case, float_scalars
from kernel_gate.deadline import seconds_left
from kernel_gate.emulated.guards import Constants, has_few_digits
from kernel_gate.expressions import names
from kernel_gate.memory_cases import memory_cases
from kernel_gate.processes.closing import Closing
from kernel_gate.shapes import elements, is_valid, named_shapes, ragged_beyond, typical_shape
from kernel_gate.stages.critical import critical_cases
from kernel_gate.stages.decisions import Decisions
from kernel_gate.stages.float_indices import float_index_cases
from kernel_gate.stages.grids import Dims, Grids, Signature, joins_blocks, sides_taken, signature_of
from kernel_gate.stages.scalar_sides import Scalars, Side, scalar_cases
from kernel_gate.variations import Variation, may_shrink
from kernel_gate.workload import Workload

_MOST_ELEMENTS = 1 << 19
_MOST_ASKED = 1000
_MOST_SHAPES = 6
_MOST_SIDES = 70
_FEW_ELEMENTS = 1 << 14
_MOST_PATHS = 4
_MOST_CONSTANTS = 8
_MOST_OF_ROWS = 4
_MOST_ROW_CASES = 8
_MOST_SCALES = 4
_MOST_FACTORS = 2
_SMALL = 1e-2
_FEW = 40
_LARGEST = 1 << 16
_WIDTHS = (32, 64, 128, 256, 512, 1024)
"""Elements of a block, for launches of just more blocks than a number of the code."""
_PAIRED = (1, 2, 3, 4, 5, 8, 15, 16, 17, 32, 33, 64, 65, 100, 128)
"""Extents of which any two dims take any pair: for branches that two dims decide."""


@dataclass(slots=True)
class Paths(Closing):
    """What both programs decide by, asked on shapes. A context manager."""

    baseline: Built
    candidate: Built
    workload: Workload
    theirs: Decisions | None = None
    """The baseline's, where it was asked before; they stay open."""
    _before: Decisions = field(init=False)
    _after: Decisions = field(init=False)
    _decided: dict[tuple[tuple[int, ...], Scalars], tuple[Signature, Signature] | None] = field(
        default_factory=dict
    )
    """Sides of guards, and relations."""
    _owners: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        theirs = self.theirs or self._owners.enter_context(Decisions(self.baseline, self.workload))
        self._before = self._after = theirs
        if not self.candidate.program.is_same_as(self.baseline.program):
            self._after = self._owners.enter_context(Decisions(self.candidate, self.workload))

    def close(self) -> None:
        self._owners.close()

    def of(self, dims: Dims, scalars: Scalars = ()) -> Signature | None:
        """The sides that both programs take on a shape; None for one that they cannot be asked on."""
        decided = self._decided_on(dims, scalars)
        return None if decided is None else decided[0]

    def relations(self, dims: Dims) -> Signature | None:
        """How the numbers relate that both programs compare on a shape."""
        decided = self._decided_on(dims)
        return None if decided is None else decided[1]

    def _decided_on(self, dims: Dims, scalars: Scalars = ()) -> tuple[Signature, Signature] | None:
        key = tuple(dims.values()), scalars
        if key not in self._decided:
            before, after = (one.on(dims, scalars) for one in (self._before, self._after))
            if before is None or after is None:
                self._decided[key] = None
            else:
                launches = before if self._before is self._after else (*before, *after)
                self._decided[key] = (
                    signature_of((kernel, decided.guards) for kernel, decided in launches),
                    signature_of((kernel, decided.relations) for kernel, decided in launches),
                )
        return self._decided[key]

    @property
    def _constants(self) -> tuple[Constants, Constants]:
        """The baseline's and the candidate's."""
        return self._before.constants, self._after.constants

    def numbers(self) -> list[int]:
        """Whole numbers that the code of the programs compares with; after the first shape was asked."""
        before, after = self._constants
        return sorted(n for n in before.whole | after.whole if 1 < n < _LARGEST)

    def constants(self) -> list[float]:
        """What data may be compared with; after the first shape was asked. What only one program has comes first."""
        before, after = self._constants
        new = after.compared - before.compared | after.others - before.others - {1.0, -1.0}
        wholes = [{float(n) for n in c.whole if abs(n) > 1} for c in (before, after)]
        new |= wholes[1] - wholes[0]
        numbers = before.compared | wholes[0]
        ordered = [sorted(some, key=abs, reverse=True) for some in (new, numbers - new)]
        return [c for some in ordered for c in some][:_MOST_CONSTANTS]

    def of_rows(self) -> list[float]:
        """Floats that the candidate compares with, new ones first, and what is half-way between two of them."""
        before, after = self._constants
        compared = sorted(after.compared, key=lambda c: (c in before.compared, -abs(c)))[:_MOST_OF_ROWS]
        between = [(a + b) / 2 for a, b in itertools.pairwise(sorted(compared))]
        return [c for c in (*compared, *between) if 0.0 < abs(c) < _LARGEST]

    def factors(self) -> list[int]:
        """What the candidate hashes by, its own first; after the first shape was asked."""
        before, after = self._constants
        return sorted(after.factors, key=lambda f: (f in before.factors, f))[:_MOST_FACTORS]

    def floats(self) -> set[float]:
        """Floats of the code of the programs; after the first shape was asked."""
        before, after = self._constants
        return before.compared | after.compared | before.others | after.others

    def small(self, scalars: Iterable[float]) -> list[float]:
        """Small numbers that are added to data, or that bound it; after the first shape was asked.

        Those that not both programs use, or not in the same way, come first. Of the many coefficients of elementary
        functions most have all the digits of their type, or are powers of two and in both programs.
        """
        before, after = self._constants
        different = before.compared ^ after.compared | before.others ^ after.others
        added = {n for n in before.others | after.others if 0.0 < n < _SMALL}
        added = {n for n in added if has_few_digits(n) or (n in different and math.frexp(n)[0] == 1 / 2)}
        small = {n for n in (*before.compared, *after.compared, *added, *scalars) if 0.0 < n < _SMALL}
        return sorted(small, key=lambda n: (n not in different, not has_few_digits(n), -n))


def followed(
    cases: Sequence[Case],
    baseline: Built,
    candidate: Built,
    workload: Workload,
    seed: int,
    theirs: Decisions | None = None,
) -> list[Case]:
    """Cases beside the planned ones, which follow the code of both programs: shapes, then values, then memory, with
    what is planned of it. `theirs` is what the baseline decides by, where it was asked before.
    """
    named = named_shapes(workload)
    if not named:
        return [c for c in cases if c.memory != ALLOCATED]
    with Paths(baseline, candidate, workload, theirs) as paths:
        planned = [c.dims for c in cases if c.memory == ALLOCATED]
        asked = [*named, *planned]
        shapes = _shapes(paths.of, paths, workload, asked)
        further = [d for d in shapes[_MOST_SHAPES:] if elements(workload, d) <= _FEW_ELEMENTS]
        del shapes[_MOST_SHAPES:]
        usual = typical_shape(named)
        beyond = (
            ragged
            for n, dims in enumerate(shapes)
            for ragged in ragged_beyond(workload, dims, usual, seed + n)
        )
        shapes += [dims for dims in beyond if elements(workload, dims) <= _MOST_ELEMENTS]
        shapes += _shapes(paths.relations, paths, workload, [*asked, *shapes])[:_MOST_SHAPES]
        grids = Grids(baseline, candidate, workload)
        if grids.growing:
            shapes += _shapes(grids.of, paths, workload, [*asked, *shapes])[:_MOST_SHAPES]
            steps = (dims for dims in grids.steps() if dims not in [*asked, *shapes])
            shapes += [dims for dims in steps if elements(workload, dims) <= _MOST_ELEMENTS][:_MOST_SHAPES]
        ragged = grids.ragged([*asked, *shapes]) if joins_blocks(candidate) else []
        taken = _one_of_each(paths, workload, [*planned, *shapes])
        around = tuple(dict.fromkeys((*paths.constants(), *float_scalars(workload, named[0]))))
        scales = list(
            dict.fromkeys(s for c in paths.small(float_scalars(workload, named[0])) for s in (c**0.5, c))
        )
        of_rows, factors = paths.of_rows(), paths.factors()
        plain = [c for c in cases if c.memory == ALLOCATED]
        of_scalars = scalar_cases(
            lambda dims, scalars: sides_taken(paths.of(dims, scalars)),
            workload,
            [*plain, *(Case(dims, seed) for dims in shapes)],
            usual,
            paths.floats(),
            seed + 4400,
        )
    extra = [Case(dims, seed + 4000 + i, origin="hidden") for i, dims in enumerate(shapes)]
    if any(a.has_free_values for a in workload.args if a.kind in {"input", "inout"}):
        # What blocks begin with, as a sum of 0 or a largest value of 0, shows where nothing exceeds it.
        below = Variation.NEGATIVE
        extra += [Case(dims, seed + 4900 + i, below, origin="hidden") for i, dims in enumerate(ragged)]
    if around:
        kinds = (Variation.AROUND, Variation.AROUND, Variation.ABOVE, Variation.BELOW)
        extra += [
            Case(usual, seed + 4500 + i, kind, origin="hidden", around=around) for i, kind in enumerate(kinds)
        ]
    if of_rows:
        extra += [
            Case(named[-1], seed + 4550 + i, Variation.ROWS_AT, origin="hidden", around=tuple(of_rows))
            for i in range(_MOST_ROW_CASES)
        ]
    if any(a.values_spec[0] == "integers" for a in workload.args if a.kind in {"input", "inout"}):
        extra += [
            Case(named[-1], seed + 4650 + i, Variation.CROWDED, origin="hidden", around=(float(factor),))
            for i, factor in enumerate(factors)
        ]
    if any(a.kind in {"input", "inout"} and may_shrink(a) for a in workload.args):
        extra += [
            Case(usual, seed + 4600 + i, Variation.SCALED, origin="hidden", around=(scale,))
            for i, scale in enumerate(scales[:_MOST_SCALES])
        ]
    extra += critical_cases(baseline, candidate, workload, usual, seed + 4700)
    extra += float_index_cases(baseline, candidate, workload, usual, seed + 4800)
    extra += of_scalars
    others = [dims for dims in taken if dims != usual][:_MOST_PATHS]
    last = [Case(dims, seed + 6000 + i, origin="hidden") for i, dims in enumerate(further)]
    return [*extra, *memory_cases(workload, baseline.program, seed, others), *last]


def one_of_each_path(
    cases: Iterable[Case], baseline: Built, candidate: Built, workload: Workload
) -> list[Case]:
    """The smallest case of each path, smallest first."""
    with Paths(baseline, candidate, workload) as paths:
        chosen: dict[Signature | None, Case] = {}
        for case in sorted(cases, key=lambda c: elements(workload, c.dims)):
            chosen.setdefault(paths.of(case.dims), case)
    return list(chosen.values())


def _one_of_each(paths: Paths, workload: Workload, shapes: Iterable[Dims]) -> list[Dims]:
    """The smallest shape of each path; single elements, which take few, come last."""
    chosen: dict[Signature | None, Dims] = {}
    for dims in sorted(shapes, key=lambda d: _size(workload, d)):
        chosen.setdefault(paths.of(dims), dims)
    return [dims for signature, dims in chosen.items() if signature is not None]


def _shapes(
    sides_of: Callable[[Dims], Signature | None], paths: Paths, workload: Workload, planned: Sequence[Dims]
) -> list[dict[str, int]]:
    """Shapes that take sides which no planned one takes, the smallest for each; those of most elements come first.

    Beyond `_MOST_SHAPES` come the others of code that decides by each size on its own, as an unrolled tail does.
    """
    seen: set[Side] = set()
    every: set[Side] = set()
    for dims in planned:
        signature = sides_of(dims)
        seen |= sides_taken(signature)
        every |= {(place, side) for place, sides in signature or () for side in range(len(sides))}
    by_side: dict[Side, dict[str, int]] = {}
    if seen == every:
        return []
    proposals = itertools.islice(_proposals(paths, workload, planned), _MOST_ASKED)
    for dims in sorted(proposals, key=_is_single):
        if not seconds_left():
            break
        for side in sides_taken(sides_of(dims)) - seen:
            best = by_side.get(side)
            if best is None or _size(workload, dims) < _size(workload, best):
                by_side[side] = dims
        if every <= seen | by_side.keys():
            break
    chosen: list[dict[str, int]] = []
    for _, dims in sorted(by_side.items(), key=lambda item: -elements(workload, item[1])):
        fresh = sides_taken(sides_of(dims)) - seen
        if fresh and len(chosen) < _MOST_SIDES:
            chosen.append(dims)
            seen |= fresh
    first = sorted(chosen[:_MOST_SHAPES], key=lambda d: elements(workload, d))
    return [*first, *chosen[_MOST_SHAPES:]]


def _is_single(dims: Dims) -> bool:
    """Whether a shape has an extent of 1: a wrong stride is not seen in a single row."""
    return min(dims.values(), default=1) == 1


def _size(workload: Workload, dims: Dims) -> tuple[bool, int]:
    return _is_single(dims), elements(workload, dims)


def _proposals(paths: Paths, workload: Workload, planned: Sequence[Dims]) -> Iterator[dict[str, int]]:
    """Shapes around a usual one, small first: one extent at a time, then two."""
    base = dict(typical_shape([dict(d) for d in planned]))
    near = {n + d for n in paths.numbers() for d in (-1, 0, 1)}
    powers = {(1 << k) + d for k in range(2, 17) for d in (-1, 0, 1)}
    callers = {e + d for shape in workload.profile_dims for e in shape.values() for d in (-1, 0, 1)}
    as_blocks = {n * width + 1 for n in paths.numbers() if n >= _FEW for width in _WIDTHS}
    wanted = sorted({*range(1, _FEW), *near, *powers, *callers, *as_blocks} - {0})
    together = [names(promise) & workload.dims.keys() for promise in workload.promises]
    tied = {
        name: set().union(*(some for some in together if name in some)) - {name} for name in workload.dims
    }
    for extent in wanted:
        for name, others in itertools.product(workload.dims, (base, dict.fromkeys(base, 1))):
            dims = {**others, name: extent}
            if not is_valid(workload, dims):
                # `stride >= len`: what is promised beside the extent grows with it.
                dims |= {other: max(dims[other], extent) for other in tied.get(name, ())}
            if is_valid(workload, dims) and elements(workload, dims) <= _MOST_ELEMENTS:
                yield dims
    few = sorted({*near, *_PAIRED} - {0})
    for first, second in itertools.combinations(workload.dims, 2):
        for one, other in sorted(itertools.product(few, few), key=math.prod):
            dims = {**base, first: one, second: other}
            if is_valid(workload, dims) and elements(workload, dims) <= _MOST_ELEMENTS:
                yield dims
