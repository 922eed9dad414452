"""The runs of memory that a group of neighbouring elements touches, read from a kernel's addresses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tree_sitter import Node

from kernel_gate.expr.polynomials import Polynomial, plus, polynomial, term_of
from kernel_lineage.code.model import Access as Touch
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.element_types import element_type
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.neighbour_steps import NeighbourSteps, over_element
from kernel_lineage.rewrite.assists.template_types import type_parameters
from kernel_lineage.rewrite.assists.vector_body import WIDEST

_MOST_TOGETHER = 4
"""Elements of a structure that lie side by side: pairs, triples, fours."""


@dataclass(slots=True)
class Run:
    """What a group touches in one run of memory: `width` elements side by side for each of its elements."""

    pointer: str
    width: int
    """0: one element for the whole group."""
    type: str
    bytes: int
    places: list[list[Node]]
    """The code's places, by their position within an element's part."""
    reads: bool
    writes: bool
    name: str = ""


def widest(
    runs_of: Callable[[NeighbourSteps], list[Run]],
    sizes: list[int],
    groups_of: Callable[[int], NeighbourSteps],
) -> tuple[NeighbourSteps, list[Run]]:
    """The largest groups whose wide accesses have 16 bytes at most: what is the same for a group may be larger."""
    for size in sizes:
        if not 0 < size <= WIDEST // 2:
            continue
        steps = groups_of(WIDEST // size)
        runs = runs_of(steps)
        if max(r.bytes for r in runs if r.width) * steps.lanes <= WIDEST:
            return steps, runs
    raise Refusal("no elements of a plain type lie side by side")


def runs_in(
    kernel: Kernel,
    syntax: CudaSyntax,
    touches: dict[tuple[int, int], list[Touch]],
    by_place: dict[tuple[int, int], Node],
    steps: NeighbourSteps,
) -> list[Run]:
    """The runs that a group's places make up; what is left out is read, or written, element by element as before."""
    families: dict[tuple[str, int, str], list[tuple[int, Polynomial, Node, list[Touch]]]] = {}
    singles: set[str] = set()
    for at, listed in touches.items():
        touch, node = listed[0], by_place.get(at)
        if touch.space != "global":
            raise Refusal(f"`{touch.text}` is no global memory, and other threads may rely on who touches it")
        place, step = _place_of(kernel, listed, steps) if node is not None else ({}, None)
        if step == 0 and any(t.writes for t in listed):
            raise Refusal(f"`{touch.text}` is written for every element of a group")
        kind = element_type(kernel, syntax, touch.root)
        plain = node is not None and kind is not None and kind[0] not in type_parameters(kernel)
        if node is None or step is None or not plain or not 0 <= step <= _MOST_TOGETHER:
            singles |= {touch.root} if any(t.writes or t.atomic for t in listed) else set()
            families.setdefault((touch.root, -1, touch.text), [])
            continue
        constant = place.get((), 0)
        rest = {m: c for m, c in place.items() if m}
        families.setdefault((touch.root, step, str(term_of(rest))), []).append((constant, rest, node, listed))
    runs: list[Run] = []
    apart = {root for (root, step, _), listed in families.items() if step <= 0}
    for (root, step, _), family in families.items():
        if step < 0:
            continue
        made = _of_family(kernel, syntax, root, step, family, steps)
        if made is None:
            apart.add(root)
        else:
            runs += made
    written = {r.pointer for r in runs if r.writes} | singles
    written |= {t.root for listed in touches.values() for t in listed if t.writes}
    for root in sorted(written & apart):
        several = sum(t.root == root for listed in touches.values() for t in listed) > 1
        if several:
            raise Refusal(f"`{root}` is written and touched at another place as well")
    if not any(r.width for r in runs):
        raise Refusal("no elements of a plain type lie side by side")
    return runs


def _place_of(kernel: Kernel, listed: list[Touch], steps: NeighbourSteps) -> tuple[Polynomial, int | None]:
    """A place in elements from the buffer's start, the same on all ways to it, and its step."""
    parameter = kernel.parameter(listed[0].root)
    places = []
    for touch in listed:
        whole = touch.offset is not None and parameter is not None and not touch.atomic and not touch.calls
        if not whole or touch.loops != steps.around or touch.via:
            return {}, None
        assert touch.offset is not None
        offset = polynomial(over_element(touch.offset, steps.element))
        if touch.nbytes <= 0 or any(c % touch.nbytes for c in offset.values()):
            return {}, None
        places.append({m: c // touch.nbytes for m, c in offset.items()})
    if any(p != places[0] for p in places):
        return {}, None
    trial = steps.trial()
    step = trial.step(term_of(places[0]))
    if step is not None:
        steps.needs = trial.needs
    return places[0], step


def _of_family(
    kernel: Kernel,
    syntax: CudaSyntax,
    root: str,
    step: int,
    listed: list[tuple[int, Polynomial, Node, list[Touch]]],
    steps: NeighbourSteps,
) -> list[Run] | None:
    """Runs of places that differ by numbers only; None where some of them make up none."""
    element = element_type(kernel, syntax, root)
    assert element is not None
    if any(t.nbytes != element[1] for _, _, _, touches in listed for t in touches):
        return None
    by_constant: dict[int, list[tuple[Node, list[Touch]]]] = {}
    for constant, _, node, touches in listed:
        by_constant.setdefault(constant, []).append((node, touches))
    rest, width, runs = listed[0][1], max(step, 1), []
    waiting = sorted(by_constant)
    while waiting:
        part, waiting = waiting[:width], waiting[width:]
        beside = part == list(range(part[0], part[0] + width))
        trial = steps.trial()
        if step and not (
            beside and trial.begins_group(term_of(plus(rest, {(): part[0]} if part[0] else {})))
        ):
            return None
        steps.needs = trial.needs
        places = [[n for n, _ in by_constant[c]] for c in part]
        touched = [t for c in part for _, ts in by_constant[c] for t in ts]
        reads, writes = any(t.reads for t in touched), any(t.writes for t in touched)
        runs.append(Run(root, step, *element, places, reads, writes))
    return runs


def check_order(touches: dict[tuple[int, int], list[Touch]], runs: list[Run]) -> None:
    """Refuse a load that stands behind a store which may have written what it reads: loads come first in a group."""
    of = {(n.start_byte, n.end_byte): r for r in runs for p in r.places for n in p}
    stored: list[tuple[int, str, Run | None]] = []
    for at, listed in sorted(touches.items()):
        touch, run = listed[0], of.get(at)
        if any(t.reads for t in listed):
            for where, root, other in stored:
                if where < at[0] and (run is None or other is not run) and root == touch.root:
                    raise Refusal(f"`{touch.text}` is read behind a store into `{root}`")
        if any(t.writes for t in listed):
            stored.append((at[0], touch.root, run))
