"""Invariants as a watcher of a launch: around each instruction that moves what assertions ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernel_gate.devices.base import Asserted, Place
from kernel_gate.emulated.access import Located
from kernel_gate.emulated.matrices.fragments import WARP
from kernel_gate.emulated.matrices.registers import items
from kernel_gate.emulated.program import DecodedKernel
from kernel_gate.emulated.registry import Step
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags import matrices, memory, registers, warp
from kernel_gate.emulated.tags.assertions import Assertions
from kernel_gate.emulated.tags.flow import Flow, flow_of
from kernel_gate.emulated.tags.keys import UNTAGGED, Coding, Keys, over_lanes
from kernel_gate.emulated.tags.marks import Mark, mark_of
from kernel_gate.emulated.tags.shadows import Shadows
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.watching import Wrap
from kernel_gate.emulated.wave import Wave
from kernel_gate.invariants.bound import Invariants
from kernel_gate.invariants.model import AT, LEFT, RIGHT, STORED, Assertion, Binding

_FACTORS = ("mul", "fma", "mad")
_NOT_FOLLOWED = ("wgmma", "tex", "tld4", "suld", "sust")


@dataclass(slots=True)
class Watch:
    """Of one launch."""

    kernel: DecodedKernel
    invariants: Invariants
    flow: Flow = field(init=False)
    shadows: Shadows = field(init=False)
    assertions: Assertions = field(init=False)
    lost: dict[tuple[str, int | None], Place] = field(default_factory=dict)
    _operands: dict[tuple[int, int], Keys] = field(default_factory=dict)
    """By assertion and operand: (width, lanes, all threads), as the marks have set them."""
    _numbers: dict[tuple[int, int], Any] = field(default_factory=dict)
    _blocks: Any = None

    def __post_init__(self) -> None:
        body, layout = self.kernel.flat.body, self.kernel.layout
        buffers = self.invariants.buffers
        asked = [n for n, ins in enumerate(body) if self._of_line(ins.line, ins.parts)]
        sizes = [tagged.itemsize for tagged in buffers.values()]
        self.flow = flow_of(body, layout.parameters, asked, sizes)
        sites = [n for n, effect in enumerate(self.flow.effects) if "global" in effect.reads_memory]
        coding = Coding(self.invariants.coordinates, buffers, sites)
        self.shadows = Shadows(coding, self.flow)
        self.assertions = Assertions(coding, body, self.flow.granule)

    def block_bytes(self, threads: int, shared_bytes: int) -> int:
        """What tags of one block may take."""
        lanes = 4 // self.flow.granule + 1
        each = 8 * self.shadows.coding.width
        memory_bytes = shared_bytes + threads * self.kernel.layout.frame_bytes
        return each * (threads * lanes * len(self.flow.registers) + memory_bytes // self.flow.granule)

    def results(self) -> tuple[Asserted, ...]:
        """Of every assertion what the launch says."""
        seen = self.assertions.seen
        return tuple(seen.get(a.number, Asserted(a.number)) for a in self.invariants.assertions)

    def tags_lost(self) -> tuple[Place, ...]:
        """Where tags were not followed."""
        forgotten = [Place(f"stores to {name}") for name in sorted(self.shadows.forgotten)]
        return (*self.lost.values(), *forgotten)

    def watch(self, site: Site) -> Wrap | None:
        """What to put around an instruction."""
        name = site.parts[0]
        mark = mark_of(site.instruction)
        if mark is not None:
            return self._mark(site, mark)
        if not self.flow.touches(site.number):
            return None
        products = self._of_line(site.instruction.line, site.parts)
        if name in _FACTORS:
            wrap = registers.watch(self.shadows, site)
            return self._factors(site, products, wrap) if products else wrap
        if name in ("mma", "wmma") and "load" not in site.parts and "store" not in site.parts:
            return matrices.multiply(self.shadows, site, self._of_matrices(site, products)) or self._lose(
                site
            )
        if name in ("st", "atom", "red"):
            build = memory.store if name == "st" else memory.atomic
            return build(self.shadows, site, self._of_store(site, products) if products else None)
        if name in _MOVES:
            return _MOVES[name](self.shadows, site)
        if name == "cp" and not site.has("bulk"):
            moves = site.operand_count > 2
            return memory.copy(self.shadows, site) if moves else None
        if name == "wmma" and site.has("load"):
            return matrices.load_fragment(self.shadows, site) or self._lose(site)
        if name in ("cp", "wmma", *_NOT_FOLLOWED):
            return self._lose(site)
        return registers.watch(self.shadows, site)

    def _of_line(self, line: int | None, parts: Sequence[str]) -> list[Assertion]:
        """Assertions about the products or the stores of the line of an instruction."""
        binding: Binding | None = None
        if parts[0] in (*_FACTORS, "mma") or tuple(parts[:2]) == ("wmma", "mma"):
            binding = "products"
        elif parts[0] in ("st", "atom", "red") and not {"shared", "local", "param"} & set(parts):
            binding = "stores"
        if line is None or binding is None:
            return []
        return [
            a
            for a in self.invariants.assertions
            if a.binding == binding and a.code_lines[0] <= line <= a.code_lines[1]
        ]

    def _lose(self, site: Site) -> Wrap:
        """An instruction through which tags are not followed: said, when it runs, and its results have none."""
        line, opcode = site.instruction.line, ".".join(site.parts[:3])
        cleared = registers.clear(self.shadows, site)

        def wrap(step: Step) -> Step:
            clear = cleared(step)

            def watched(wave: Wave) -> None:
                self.lost.setdefault((opcode, line), Place(opcode, line))
                clear(wave)

            return watched

        return wrap

    def _factors(self, site: Site, asserted: list[Assertion], inner: Wrap | None) -> Wrap:
        packed = bool(site.types) and site.type.kind in ("packed", "lanes")
        first, second = site.operand(1), site.operand(2)

        def wrap(step: Step) -> Step:
            follow = step if inner is None else inner(step)

            def watched(wave: Wave) -> None:
                self.shadows.enter(wave)
                tags = [self.shadows.get(wave, operand) for operand in (first, second)]
                if any(tag is not None for tag in tags):
                    lanes = max(tag.shape[1] for tag in tags if tag is not None) if packed else 1
                    full = [
                        self.shadows.filled(wave, tag if packed else over_lanes(tag), lanes) for tag in tags
                    ]
                    for assertion in asserted:
                        operands = {LEFT: full[0], RIGHT: full[1]}
                        self.assertions.check(wave, assertion, operands, {}, site.instruction)
                follow(wave)

            return watched

        return wrap

    def _of_matrices(self, site: Site, asserted: list[Assertion]) -> matrices.Look | None:
        if not asserted:
            return None

        def look(wave: Wave, a: Keys, b: Keys) -> None:
            left, right = a.min(axis=2).transpose(0, 2, 1), b.min(axis=3).transpose(0, 2, 1)
            if not ((left[::2] != UNTAGGED).any() or (right[::2] != UNTAGGED).any()):
                return
            first_lanes = wave.index.reshape(-1, WARP)[:, 0]
            for assertion in asserted:
                operands = {LEFT: left, RIGHT: right}
                self.assertions.check(
                    wave, assertion, operands, {}, site.instruction, first_lanes, "step {} of k"
                )

        return look

    def _of_store(self, site: Site, asserted: list[Assertion]) -> memory.Look:
        coding = self.shadows.coding

        def look(wave: Wave, at: Located, tags: Keys | None) -> None:
            if at.segment is None:
                return
            nbytes = site.type.size * len(items(site.operand(int(site.parts[0] == "atom") + 1)))
            tagged = coding.buffers.get(at.segment.name)
            itemsize = site.type.size if tagged is None else tagged.itemsize
            count = max(nbytes // itemsize, 1)
            start = (wave.spread(at.index) * at.cells.dtype.itemsize - at.segment.offset) // itemsize
            elements = start + np.arange(count)[:, None]
            shape = (coding.width, count, wave.active_count)
            goes_to = np.full(shape, UNTAGGED, np.int64)
            if tagged is not None:
                goes_to = coding.tags(at.segment.name, elements, -1)
            stored = np.full(shape, UNTAGGED, np.int64)
            if tags is not None:
                lanes = tags.shape[1]
                stored = (
                    tags.reshape(coding.width, count, lanes // count, -1).min(axis=2)
                    if lanes >= count
                    else np.repeat(tags, count // lanes, axis=1)
                )
            for assertion in asserted:
                self.assertions.check(
                    wave, assertion, {STORED: stored, AT: goes_to}, {}, site.instruction, part="element {}"
                )

        return look

    def _mark(self, site: Site, mark: Mark) -> Wrap | None:
        assertion = next((a for a in self.invariants.assertions if a.number == mark.assertion), None)
        if assertion is None:
            return None
        act: Callable[[Wave], None]
        if mark.kind == "operand":
            act = self._operand(site, mark)
        elif mark.kind == "number":
            key, read = (mark.assertion, mark.position), site.read(1, TYPES["s64"])

            def act(wave: Wave) -> None:
                numbers = self._numbers.setdefault(key, np.zeros(wave.threads, np.int64))
                numbers[wave.index] = read(wave)

        else:

            def act(wave: Wave) -> None:
                self._check(wave, site, assertion)

        def wrap(_step: Step) -> Step:
            def watched(wave: Wave) -> None:
                self.shadows.enter(wave)
                if self._blocks is not wave.blocks:
                    self._blocks = wave.blocks
                    self._operands.clear()
                    self._numbers.clear()
                act(wave)

            return watched

        return wrap

    def _operand(self, site: Site, mark: Mark) -> Callable[[Wave], None]:
        """One word of 4 bytes of an operand."""
        register = site.operand(1)
        lanes, per_word = self.shadows.lanes(mark.nbytes), self.shadows.lanes(4)
        width, first = self.shadows.coding.width, mark.word * per_word

        def act(wave: Wave) -> None:
            key = (mark.assertion, mark.position)
            held = self._operands.get(key)
            if held is None:
                held = np.full((width, lanes, wave.threads), UNTAGGED, np.int64)
                self._operands[key] = held
            own = min(per_word, lanes - first)
            tags = self.shadows.filled(wave, self.shadows.get(wave, register), own)
            here: Any = slice(None) if wave.active is None else wave.active
            held[:, first : first + own, here] = tags

        return act

    def _check(self, wave: Wave, site: Site, assertion: Assertion) -> None:
        """The marks of all operands stand before the check, so each is there for every active thread."""
        here: Any = slice(None) if wave.active is None else wave.active
        mine = assertion.number
        operands = {p: tags[..., here] for (n, p), tags in self._operands.items() if n == mine}
        numbers = {p: values[here] for (n, p), values in self._numbers.items() if n == mine}
        self.assertions.check(wave, assertion, operands, numbers, site.instruction)


_MOVES: dict[str, Callable[[Shadows, Site], Wrap | None]] = {
    "ld": memory.load,
    "ldu": memory.load,
    "shfl": warp.shuffle,
    "redux": warp.reduce,
    "ldmatrix": warp.load_matrices,
    "stmatrix": warp.store_matrices,
    "movmatrix": warp.transpose_matrix,
}
