"""Invariants as a watcher of a launch: around each instruction that moves what assertions ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kernel_gate.devices.base import Asserted, Place
from kernel_gate.emulated.program import DecodedKernel
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags import matrices, memory, registers, warp
from kernel_gate.emulated.tags.assertions import Assertions
from kernel_gate.emulated.tags.flow import Flow, flow_of
from kernel_gate.emulated.tags.keys import Coding
from kernel_gate.emulated.tags.line_checks import FACTORS, LineChecks, asserted_of
from kernel_gate.emulated.tags.marks import mark_of
from kernel_gate.emulated.tags.place_checks import PlaceChecks
from kernel_gate.emulated.tags.shadows import Shadows
from kernel_gate.emulated.watching import Wrap
from kernel_gate.emulated.wave import Wave
from kernel_gate.invariants.bound import Invariants

_NOT_FOLLOWED = ("wgmma", "tex", "tld4", "suld", "sust")
"""Besides bulk copies and what the builders give None for."""


@dataclass(slots=True)
class Watch:
    """What is watched in one launch."""

    kernel: DecodedKernel
    invariants: Invariants
    flow: Flow = field(init=False)
    shadows: Shadows = field(init=False)
    seen: Assertions = field(init=False)
    lost: dict[tuple[str, int | None], Place] = field(default_factory=dict)
    _lines: LineChecks = field(init=False)
    _places: PlaceChecks = field(init=False)

    def __post_init__(self) -> None:
        body, layout = self.kernel.flat.body, self.kernel.layout
        assertions, buffers = self.invariants.assertions, self.invariants.buffers
        asked = [n for n, ins in enumerate(body) if asserted_of(assertions, ins.line, ins.parts)]
        sizes = [tagged.itemsize for tagged in buffers.values()]
        self.flow = flow_of(body, layout.parameters, asked, sizes)
        sites = [n for n, effect in enumerate(self.flow.effects) if "global" in effect.reads_memory]
        coding = Coding(self.invariants.coordinates, buffers, sites)
        self.shadows = Shadows(coding, self.flow)
        self.seen = Assertions(coding, body, self.flow.granule)
        self._lines = LineChecks(self.shadows, self.seen)
        self._places = PlaceChecks(self.shadows, self.seen, assertions)

    def block_bytes(self, threads: int, shared_bytes: int) -> int:
        """What tags of one block may take."""
        lanes = 4 // self.flow.granule + 1
        each = 8 * self.shadows.coding.width
        memory_bytes = shared_bytes + threads * self.kernel.layout.frame_bytes
        return each * (threads * lanes * len(self.flow.registers) + memory_bytes // self.flow.granule)

    def results(self) -> tuple[Asserted, ...]:
        """What the launch says of every assertion."""
        seen = self.seen.seen
        return tuple(seen.get(a.number, Asserted(a.number)) for a in self.invariants.assertions)

    def tags_lost(self) -> tuple[Place, ...]:
        """Where tags were not followed."""
        forgotten = [Place(f"stores to {name}") for name in sorted(self.shadows.forgotten)]
        return (*self.lost.values(), *forgotten)

    def watch(self, site: Site) -> Wrap | None:
        """What to put around an instruction."""
        mark = mark_of(site.instruction)
        if mark is not None:
            return self._places.watch(site, mark)
        if not self.flow.touches(site.number):
            return None
        asserted = asserted_of(self.invariants.assertions, site.instruction.line, site.parts)
        match site.parts[0], site.parts[1:2]:
            case name, _ if name in FACTORS:
                wrap = registers.watch(self.shadows, site)
                return self._lines.factors(site, asserted, wrap) if asserted else wrap
            case ("mma", _) | ("wmma", ("mma",)):
                wrapper = matrices.multiply(self.shadows, site, self._lines.matrices(site, asserted))
            case "wmma", ("load",):
                wrapper = matrices.load_fragment(self.shadows, site)
            case "wmma", ("store",):
                wrapper = matrices.store_fragment(self.shadows, site, self._lines.stores(site, asserted))
            case "st", _:
                return memory.store(self.shadows, site, self._lines.stores(site, asserted))
            case (("atom" | "red"), _):
                return memory.atomic(self.shadows, site, self._lines.stores(site, asserted))
            case "cp", _ if not site.has("bulk"):
                # Groups, waits and arrivals move nothing.
                return memory.copy(self.shadows, site) if site.operand_count > 2 else None
            case name, _ if name in MOVES:
                return MOVES[name](self.shadows, site)
            case name, _ if name == "cp" or name in _NOT_FOLLOWED:
                wrapper = None
            case _:
                return registers.watch(self.shadows, site)
        return wrapper if wrapper is not None else self._lose(site)

    def _lose(self, site: Site) -> Wrap:
        """An instruction through which tags are not followed: said, when it runs, and its results have none."""
        line, opcode = site.instruction.line, ".".join(site.parts[:3])
        spaces = self.flow.effects[site.number].writes_memory

        def note(_wave: Wave) -> None:
            self.lost.setdefault((opcode, line), Place(opcode, line))
            self.shadows.forget(spaces)

        return registers.clear(self.shadows, site, note)


MOVES: dict[str, Callable[[Shadows, Site], Wrap | None]] = {
    "ld": memory.load,
    "ldu": memory.load,
    "shfl": warp.shuffle,
    "redux": warp.reduce,
    "ldmatrix": warp.load_matrices,
    "stmatrix": warp.store_matrices,
    "movmatrix": warp.transpose_matrix,
}
