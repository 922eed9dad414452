"""Shapes and sizes that no code tells, seen by running the kernel: how far into its buffers it reaches.

The kernel is launched on the emulated device in buffers with room to spare, at several sizes; the shape of a buffer is
the product of dims (or a sum of products) that gives what was reached at all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from math import prod
from pathlib import Path

from kernel_gate.deadline import ends_within, seconds_left
from kernel_gate.expressions import ExpressionError, evaluate
from kernel_gate.footprint import Footprint, FootprintError, footprints
from kernel_gate.variations import Variation
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.checked_sizes import with_checked_sizes
from kernel_lineage.workloads.chosen_sizes import Plan
from kernel_lineage.workloads.files import Target, data_of
from kernel_lineage.workloads.fit import (
    NoFitError,
    Sizes,
    fitted,
    sizes_for_products,
    sizes_for_sums,
)
from kernel_lineage.workloads.index_ranges import stays_in_bounds, with_ranges_in_bounds
from kernel_lineage.workloads.model import CHOSEN, NULL, UNRANGED, UNSHAPED, Draft, DraftArgument, Role
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from kernel_lineage.workloads.promises import broken
from kernel_lineage.workloads.row_offsets import row_offsets, with_row_offsets
from kernel_lineage.workloads.trials import for_dims_of, of_two_tiles, promised, trials_of
from kernel_lineage.workloads.tried_ranges import below_own_dim, up_to_numbers, with_ranges, without_ranges

_SEED = 91
_AGAIN = ((7, Variation.DECLARED), (29, Variation.DECLARED))
"""Other draws: where data decide whether an element is read, one alone may leave out the last one."""
_OTHERS = ((17, Variation.DECLARED), (5, Variation.LOWEST), (2, Variation.NEGATIVE), (3, Variation.HIGHEST))
"""Other values for a run in which a buffer is not touched: they may lead to it."""
_FURTHER = ((17, Variation.FAR_FROM_ZERO), (17, Variation.FAR_BELOW))
"""Values on one side of a threshold: where data decide how far a buffer is written, they write all of it."""
_NEARLY = 0.9
_ROLES_SHARE = 0.25
"""The part of the time that is left for seeing which buffers are read and which are written, and nothing else."""
_LATE = "the time for a draft is up; --seconds gives more"


def with_measured_shapes(draft: Draft, kernel: Target, path: Path, root: Path) -> Draft:
    """The draft with the shapes that were missing and with sizes for the dims that were chosen.

    A draft in which something else is missing, or whose kernel cannot be run at the sizes that are tried, keeps what
    is missing and says why.
    """
    unknown = [a.name for a in draft.arguments if a.is_buffer and a.shape is None]
    unranged = any(m.startswith(UNRANGED) for m in draft.missing)
    if not unknown and not draft.chosen and not unranged and not draft.unread_roles:
        return draft
    # A kernel can be checked without its roles, where buffers count as read and written.
    share = 1.0 if unknown or draft.chosen or draft.missing else _ROLES_SHARE
    with ends_within(share * seconds_left()):
        return _measured(draft, unknown, kernel, path, root)


def _measured(draft: Draft, unknown: list[str], kernel: Target, path: Path, root: Path) -> Draft:
    """The draft with what running its kernel tells, as above; `unknown` are the buffers without a shape."""
    unranged = any(m.startswith(UNRANGED) for m in draft.missing)
    starts = row_offsets(kernel) & {m.removeprefix(UNRANGED) for m in draft.missing}
    if unranged and not unknown:
        of_rows = (with_ranges_in_bounds(d, kernel, path, root) for d in with_row_offsets(draft, starts))
        in_order = (d for d in of_rows if _in_order(d, kernel, path, root))
        draft = next(in_order, None) or with_ranges_in_bounds(draft, kernel, path, root)
    ranged, free = with_ranges(draft), without_ranges(draft)
    rest = tuple(m for m in ranged.missing if not m.startswith(UNSHAPED))
    trials = trials_of(ranged)
    first = trials[0]
    if rest:
        dims, checked = ({n: sizes[n] for n in draft.dims} for sizes in (first.timed, first.tried))
        return replace(draft, dims=dims, checked=checked)
    if not unknown and not draft.chosen and not draft.missing:
        # Roles show at the sizes that are checked: at larger ones a kernel may not end in time.
        often = with_checked_sizes(ranged).checked
        small = {n: min(size, often[n]) for n, size in first.tried.items()}
        trials.insert(0, promised(replace(first, tried=small), ranged))
    why: list[str] = []
    unbuilt = ""
    # A kernel that only takes whole tiles reaches into other rows at smaller sizes: threads race there. One that races
    # or has a barrier in divergent code at all sizes is wrong, which its check says once it has a workload. One that
    # fails of something else fails of it where nobody looks at the order of threads, too.
    racing: list[tuple[Draft, Plan]] = []
    partly: Draft | None = None
    free_ways = [(free, for_dims_of(free, first), True)] if free is not None else []
    counted = _with_shapes(draft, starts & {*unknown}, _Measured(ranged, first, False, kernel, path, root))
    rows = [with_ranges(d) for d in with_row_offsets(counted, starts)] if counted is not None else []
    ways = [*free_ways, *((d, trials_of(d)[0], True) for d in rows), *((ranged, p, True) for p in trials)]
    is_left = False
    lengths = (
        (d, p, True) for d in up_to_numbers(draft) if is_left for p in (trials_of(d)[0], trials_of(d)[-1])
    )
    for way, plan, races in chain(ways, lengths, ((d, p, False) for d, p in racing)):
        if not seconds_left():
            break
        if unkept := broken(plan.tried, way.promises):
            why.append(f"no sizes were found that keep `{unkept[0]}`")
            continue
        try:
            measured = _Measured(way, plan, races, kernel, path, root)
            unshaped = [a.name for a in way.arguments if a.is_buffer and a.shape is None]
            shapes = measured.shapes(unshaped)
            wider = of_two_tiles(plan, way)
            if wider is not None and measured.reaches_beyond(shapes, wider.tried):
                measured = _Measured(way, wider, races, kernel, path, root)
                shapes = measured.shapes(unshaped)
        except (WorkloadError, ProgramError, FootprintError, NoFitError) as error:
            why.append(str(error).splitlines()[0])
            if isinstance(error, FootprintError):
                if error.of_build and draft.language is Language.CUDA:
                    unbuilt = why[-1]
                    break
                is_left |= error.of_bounds
                racing += [(way, plan)] * error.of_order
            continue
        left = [n for n, shape in shapes.items() if shape is None]
        if not left:
            return _in_bounds(_completed(way, plan, shapes, measured.uses), kernel, path, root)
        # What is not reached at some sizes, or with some values, may be at others.
        why.append(f"{', '.join(left)} is touched at none of the sizes that were tried")
        writes = any(written for _, written in measured.uses.values())
        if (
            partly is None
            and writes
            and not any(a.kind == "output" and a.name in left for a in way.arguments)
        ):
            partly = _completed(way, plan, shapes, measured.uses)
    if partly is not None:
        return partly
    if not draft.missing and not draft.chosen:  # only roles were asked for, and they stay what they are
        return draft
    shown = "; ".join(dict.fromkeys(why)) if seconds_left() else _LATE
    reason = f"the kernel cannot be run to see it: {shown}"
    # Where only ranges were asked for, they stay open.
    asked = ranged if ranged.missing or draft.chosen else draft
    missing = [f"{m} ({reason})" for m in asked.missing] or [f"sizes for {', '.join(draft.chosen)}: {reason}"]
    best = for_dims_of(asked, first)
    return replace(asked, dims=best.timed, checked=best.tried, missing=tuple(missing), unbuilt=unbuilt)


def _in_order(draft: Draft, kernel: Target, path: Path, root: Path) -> bool:
    """Whether nothing is missing with which the kernel stays in its buffers, and no threads race."""
    sizes = trials_of(draft)[0].tried
    return not draft.missing and stays_in_bounds(
        replace(draft, dims=sizes, checked=sizes), sizes, kernel, path, root, races=True
    )


def _in_bounds(draft: Draft, kernel: Target, path: Path, root: Path) -> Draft:
    """The draft in which ranges that are dims of their own are those with which the kernel stays in its buffers."""
    names = [a.name for a in draft.arguments if a.values == f"integers(0, {a.name}_values)"]
    asked = replace(
        draft,
        dims={n: size for n, size in draft.dims.items() if n.removesuffix("_values") not in names},
        checked={n: size for n, size in draft.checked.items() if n.removesuffix("_values") not in names},
        arguments=tuple(replace(a, values="") if a.name in names else a for a in draft.arguments),
        assumed=tuple(s for s in draft.assumed if not any(s.startswith(below_own_dim(n)) for n in names)),
        missing=tuple(f"{UNRANGED}{name}" for name in names),
    )
    ranged = with_ranges_in_bounds(asked, kernel, path, root) if names else draft
    return draft if ranged.missing else ranged


def _with_shapes(draft: Draft, names: Set[str], measured: _Measured) -> Draft | None:
    """The draft with the shapes of some buffers alone; None where they cannot be measured."""
    if not names:
        return draft
    try:
        shapes = measured.shapes_alone(names)
    except (WorkloadError, ProgramError, FootprintError, NoFitError):
        return None
    return replace(
        draft,
        arguments=tuple(replace(a, shape=shapes.get(a.name, a.shape)) for a in draft.arguments),
        assumed=(*draft.assumed, *_shape_notes(sorted(names))),
        missing=tuple(m for m in draft.missing if not any(m.startswith(f"{UNSHAPED}{n}:") for n in names)),
    )


_BELOW = re.compile(r"integers\(0, ([^,]+)\)")


def _tried(argument: DraftArgument, room: int, drawn: bool) -> DraftArgument:
    """An argument as it is while the kernel is measured: indices have their largest value, or are `drawn`."""
    is_kept = drawn or argument.kind == "scratch"  # cleared, which its values say
    values = argument.values if is_kept else _BELOW.sub(r"integers(\1 - 1, \1)", argument.values)
    return replace(argument, values=values, shape=(str(room),) if room else argument.shape)


Shapes = Mapping[str, tuple[str, ...] | None]
"""Buffer → its extents; None for one that is not touched."""


def _completed(draft: Draft, plan: Plan, shapes: Shapes, uses: Mapping[str, tuple[bool, bool]]) -> Draft:
    """The draft with what was measured; a buffer that is not touched at all is given as a null pointer."""
    untouched = [name for name, shape in shapes.items() if shape is None]
    arguments = tuple(
        replace(a, kind=NULL)
        if a.name in untouched
        else _with_role(replace(a, shape=shapes.get(a.name, a.shape)), draft, uses)
        for a in draft.arguments
    )
    shapes = {name: shape for name, shape in shapes.items() if shape is not None}
    notes = [f"{name}{CHOSEN}" for name in draft.chosen if name not in draft.told]
    notes += [f"{n} is checked with {plan.tried[n]} and timed with {plan.timed[n]}" for n in draft.told]
    notes += [f"{name} is null: the kernel did not touch it on the emulated device" for name in untouched]
    notes += _shape_notes(shapes)
    return replace(
        draft,
        dims=plan.timed,
        checked=plan.tried,
        arguments=arguments,
        assumed=(*draft.assumed, *notes),
        missing=(),
    )


def _shape_notes(names: Iterable[str]) -> list[str]:
    """What is said of buffers whose shapes are measured."""
    return [f"the shape of {name} is what the kernel reaches on the emulated device" for name in names]


def _with_role(argument: DraftArgument, draft: Draft, uses: Mapping[str, tuple[bool, bool]]) -> DraftArgument:
    """A buffer whose role no code tells, with the one that it has when the kernel runs."""
    reads, writes = uses.get(argument.name, (False, False))
    if argument.name not in draft.unread_roles or not (reads or writes):
        return argument
    role: Role = "inout" if reads and writes else "output" if writes else "input"
    return replace(argument, kind=role, values="" if role == "output" else argument.values)


@dataclass(slots=True)
class _Measured:
    """What a program reaches at some sizes, run when it is asked for."""

    draft: Draft
    plan: Plan
    races: bool
    kernel: Target
    path: Path
    root: Path
    uses: dict[str, tuple[bool, bool]] = field(default_factory=dict)
    """Buffer → whether it was read, and whether it was written."""

    def shapes(self, unknown: list[str]) -> Shapes:
        """The extents of the buffers that are not known. Raises as running a program does, and `NoFitError`."""
        base = self.plan.tried
        wanted = sizes_for_products(base, self.plan.steady)
        seen = dict(self._run(wanted, unknown))
        shapes: dict[str, tuple[str, ...] | None] = {}
        for name in unknown:
            with suppress(NoFitError):
                shapes[name] = _fitted(base, wanted[-1], name, seen)
        for name in (n for n in unknown if n not in shapes):
            is_read = not self.uses.get(name, (False, False))[1]
            other = next((o for o, shape in shapes.items() if shape and _is_nearly(name, o, seen)), None)
            if is_read and other is not None:
                shapes[name] = shapes[other]
            else:
                sums = sizes_for_sums(base, _reached(name, seen))
                more = [s for s in sums if _key(s) not in seen]
                touched = [n for n in unknown if any(reached[n] for reached in seen.values())]
                seen.update(self._run(more, touched))
                try:
                    shapes[name] = _fitted(base, wanted[-1], name, seen)
                except NoFitError:
                    # Data decide how far it is written: other values lead further.
                    if is_read:
                        raise
                    further = dict(self._run(wanted, unknown, is_further=True))
                    shapes[name] = _fitted(base, wanted[-1], name, further)
        return shapes

    def reaches_beyond(self, shapes: Shapes, sizes: Sizes) -> bool:
        """Whether more of some buffer is reached at other sizes than its extents say there."""
        extents = {name: shape for name, shape in shapes.items() if shape}
        with suppress(WorkloadError, ProgramError, FootprintError, ExpressionError):
            workload, data = self._roomy(list(shapes), True), data_of(self.kernel)
            program = program_from_file(self.path, self.kernel.name, workload, data=data, root=self.root)
            (seen,) = footprints(program, workload, [dict(sizes)], races=False)
            return any(
                seen[n].elements > prod(int(evaluate(e, sizes)) for e in shape)
                for n, shape in extents.items()
            )
        return False

    def shapes_alone(self, names: Set[str]) -> Shapes:
        """The extents of some of the buffers that are not known. Raises as `shapes` does."""
        unknown = [a.name for a in self.draft.arguments if a.is_buffer and a.shape is None]
        base = self.plan.tried
        wanted = sizes_for_products(base, self.plan.steady)
        seen = dict(self._run(wanted, unknown))
        return {name: _fitted(base, wanted[-1], name, seen) for name in names}

    def _run(
        self, wanted: list[dict[str, int]], unknown: list[str], *, is_further: bool = False
    ) -> Iterator[tuple[_Key, dict[str, int]]]:
        """How far each buffer is reached at some sizes: with indices at their largest, and with any.

        Values of other kinds are tried where a buffer is not touched; `is_further`: those that lead further, too.
        """
        reached: dict[_Key, dict[str, int]] = {}
        ways = [False, True] if any(_BELOW.match(a.values) for a in self.draft.arguments) else [True]
        declared = [(way, _SEED, Variation.DECLARED) for way in ways]
        others = (*_AGAIN, *(_FURTHER if is_further else ()), *_OTHERS)
        for drawn, seed, variation in [*declared, *((True, *other) for other in others)]:
            is_touched = all(any(at[n] for at in reached.values()) for n in unknown)
            if (seed, variation) in _OTHERS and is_touched:
                break
            workload = self._roomy(unknown, drawn)
            data = data_of(self.kernel)
            program = program_from_file(self.path, self.kernel.name, workload, data=data, root=self.root)
            runs = footprints(program, workload, wanted, races=self.races, seed=seed, variation=variation)
            for sizes, seen in zip(wanted, runs, strict=True):
                before = reached.setdefault(_key(sizes), {})
                # Other values are of use where they lead further than those before.
                if (
                    seed != _SEED
                    and sizes is wanted[0]
                    and all(seen[n].elements <= before[n] for n in unknown)
                ):
                    break
                before.update({name: max(f.elements, before.get(name, 0)) for name, f in seen.items()})
                self._used(seen)
        yield from reached.items()

    def _used(self, seen: Mapping[str, Footprint]) -> None:
        for name, footprint in seen.items():
            reads, writes = self.uses.get(name, (False, False))
            self.uses[name] = reads or footprint.reads, writes or footprint.writes

    def _roomy(self, unknown: list[str], drawn: bool) -> Workload:
        """The workload with room to spare in the buffers that are not known."""
        room, sizes = self.plan.room, self.plan.tried
        arguments = tuple(_tried(a, room if a.name in unknown else 0, drawn) for a in self.draft.arguments)
        return replace(self.draft, dims=sizes, checked=sizes, arguments=arguments, missing=()).workload()


def _fitted(
    base: Mapping[str, int], probe: Mapping[str, int], name: str, seen: Mapping[_Key, Mapping[str, int]]
) -> tuple[str, ...] | None:
    """The extents of a buffer; None where it is not touched at all."""
    return (
        fitted(base, probe, _reached(name, seen)) if any(reached[name] for reached in seen.values()) else None
    )


def _is_nearly(name: str, other: str, seen: Mapping[_Key, Mapping[str, int]]) -> bool:
    """Whether a buffer is reached at all sizes almost as far as another, as where data decide what of it is read."""
    return all(_NEARLY * at[other] <= at[name] <= at[other] for at in seen.values())


_Key = tuple[tuple[str, int], ...]


def _key(sizes: Sizes) -> _Key:
    return tuple(sorted(sizes.items()))


def _reached(name: str, seen: Mapping[_Key, Mapping[str, int]]) -> Callable[[Sizes], int]:
    return lambda sizes: seen[_key(sizes)][name]
