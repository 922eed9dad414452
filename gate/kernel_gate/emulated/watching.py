"""Steps of a decoded kernel with watchers around them, for detectors that look at operands and results.

They are put around the steps of one launch that asks for them, so that others pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from kernel_gate.emulated.program import Block, DecodedKernel, guarded
from kernel_gate.emulated.registry import Step, Unsupported
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.wave import Wave

Wrap: TypeAlias = Callable[[Step], Step]
Watch: TypeAlias = Callable[[Wave], Iterator[None]]
"""What looks at a step: before it yields, at the operands, and after, at the result."""
Watcher: TypeAlias = Callable[[Site], Wrap | None]
"""What to put around the step of an instruction; None: nothing. It runs for the threads that execute it."""


def around(watch: Watch, enter: Callable[[Wave], None] | None = None) -> Wrap:
    """What to put around a step: `enter`, and what looks at it."""

    def wrap(step: Step) -> Step:
        def watched(wave: Wave) -> None:
            if enter is not None:
                enter(wave)
            watching = watch(wave)
            next(watching)
            step(wave)
            next(watching, None)

        return watched

    return wrap


def watched(kernel: DecodedKernel, watchers: Sequence[Watcher]) -> DecodedKernel:
    """The kernel with each watcher around the steps that it asks for."""
    blocks: list[Block] = []
    start = 0
    for block in kernel.blocks:
        body = kernel.flat.body[start : start + block.count]
        sites = [Site.of(ins, n, kernel.layout, frozenset()) for n, ins in enumerate(body, start)]
        steps = [_around(step, site, watchers) for step, site in zip(block.steps, sites, strict=False)]
        blocks.append(Block(steps, block.count, block.end))
        start += block.count
    return replace(kernel, blocks=blocks)


def _around(step: Step, site: Site, watchers: Sequence[Watcher]) -> Step:
    for watcher in watchers:
        try:
            wrap = watcher(site)
            guard = site.instruction.guard
            holds = None if guard is None else site.reader(guard, TYPES["pred"])
        except Unsupported:
            # Its step says so itself, when a thread reaches it.
            continue
        if wrap is not None:
            step = wrap(step) if holds is None else guarded(wrap(step), holds)
    return step
