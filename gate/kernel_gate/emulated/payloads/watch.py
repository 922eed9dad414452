"""Payloads as a watcher of a launch: around each instruction that a stored float depends on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kernel_gate.devices.base import Asserted, Place
from kernel_gate.emulated.payloads import arithmetic, atomics, products
from kernel_gate.emulated.payloads.memory import Escape, Levels, PayloadMemory
from kernel_gate.emulated.payloads.sources import FLOATS
from kernel_gate.emulated.program import DecodedKernel
from kernel_gate.emulated.ptx.model import FloatBits
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags import matrices, memory, registers, warp
from kernel_gate.emulated.tags.bit_rules import BIT_RULES
from kernel_gate.emulated.tags.flow import Flow, flow_towards
from kernel_gate.emulated.tags.shadows import Shadows, around
from kernel_gate.emulated.tags.watch import MOVES
from kernel_gate.emulated.watching import Wrap
from kernel_gate.emulated.wave import Wave

_STORES = ("st", "red", "atom")


@dataclass(slots=True)
class PayloadWatch:
    """The payloads of one launch."""

    kernel: DecodedKernel
    memory: PayloadMemory
    flow: Flow = field(init=False)
    shadows: Shadows = field(init=False)

    def __post_init__(self) -> None:
        body = self.kernel.flat.body
        stores = [n for n, i in enumerate(body) if i.parts[0] in _STORES or "store" in i.parts[:2]]
        self.flow = flow_towards(body, self.kernel.layout.parameters, stores, self.memory.granule)
        self.shadows = Shadows(Levels((), {}, ()), self.flow, stored=self.memory.stored)

    def block_bytes(self, threads: int, shared_bytes: int) -> int:
        """Bytes that the payloads of one block may take."""
        width = 8 * self.shadows.coding.width
        memory_bytes = shared_bytes + threads * self.kernel.layout.frame_bytes
        return width * (threads * len(self.flow.registers) + memory_bytes // self.flow.granule)

    def results(self) -> tuple[Asserted, ...]:
        """Nothing is asserted of payloads."""
        return ()

    def tags_lost(self) -> tuple[Place, ...]:
        """Memory whose payloads did not fit."""
        return tuple(Place(f"stores to {name}") for name in sorted(self.shadows.forgotten))

    def watch(self, site: Site) -> Wrap | None:
        """What to put around an instruction."""
        name, shadows = site.parts[0], self.shadows
        match name, site.parts[1:2]:
            case (("setp" | "set"), _) if site.types and site.types[-1].kind in FLOATS:
                return self._decision(site)
            case "st", _:
                return memory.store(shadows, site, None)
            case (("red" | "atom"), _):
                return atomics.atomic(shadows, site)
            case "wmma", ("store",):
                return matrices.store_fragment(shadows, site, None)
            case "stmatrix", _:
                return warp.store_matrices(shadows, site)
            case "cp", _ if not site.has("bulk"):
                return memory.copy(shadows, site) if site.operand_count > 2 else None
        if not site.operand_count or not shadows.follows(site.operand(0)):
            return None
        match name, site.parts[1:2]:
            case "wmma", ("load",):
                return matrices.load_fragment(shadows, site)
            case (("mma" | "wmma"), _):
                return products.product(shadows, site) or self._lose(site)
            case "wgmma", ("mma_async",):
                return products.warpgroup(shadows, site) or self._lose(site)
            case (("ld" | "ldu" | "shfl" | "ldmatrix" | "movmatrix"), _):
                return MOVES[name](shadows, site)
            case "cvt", _:
                return arithmetic.convert(shadows, self.memory, site)
            case (("selp" | "cvta"), _):
                return registers.watch(shadows, site)
            case "mov", _:
                source = site.operand(1)
                if isinstance(source, FloatBits):
                    return arithmetic.literal_move(shadows, site, source)
                return registers.watch(shadows, site)
        if name in arithmetic.FOLLOWED and site.types and site.type.kind in FLOATS:
            return arithmetic.arithmetic(shadows, self.memory, site)
        if name in BIT_RULES:
            return arithmetic.sign_mask(shadows, site)
        return arithmetic.dropped(shadows, self.memory, site, "goes through integer arithmetic")

    def _decision(self, site: Site) -> Wrap:
        decision = Escape.at(site.instruction, "decides by its value")

        def watch(wave: Wave) -> Iterator[None]:
            if any(self.shadows.get(wave, o) is not None for o in site.instruction.operands[1:]):
                self.memory.decided.add(decision)
            yield

        return around(self.shadows, watch)

    def _lose(self, site: Site) -> Wrap:
        lost = Escape.at(site.instruction, "is not followed")
        return registers.clear(self.shadows, site, lambda _wave: self.memory.lost.add(lost))
