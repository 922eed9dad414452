"""How much of some PTX the emulated device knows, without running it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kernel_gate.emulated.program import decode
from kernel_gate.emulated.ptx.model import Module, PtxError
from kernel_gate.emulated.ptx.parser import parse
from kernel_gate.emulated.variables import place_variables, places_of


@dataclass(frozen=True, slots=True)
class KernelCoverage:
    """One kernel of a module."""

    kernel: str
    """Mangled name."""
    instructions: int
    """With calls inlined."""
    unsupported: Counter[str]
    """Opcodes that would stop a launch, with how often they stand in the kernel."""

    @property
    def decoded(self) -> bool:
        """Whether every instruction is known."""
        return not self.unsupported


def cover(ptx: str, entry: str | None = None) -> list[KernelCoverage]:
    """Every kernel of a module in its order, or the one called `entry`.

    Raises `PtxError` when the text cannot be read.
    """
    module = parse(ptx, entry)
    return [_cover(module, f.name) for f in module.functions.values() if f.entry and entry in (None, f.name)]


def _cover(module: Module, entry: str) -> KernelCoverage:
    try:
        kernel = decode(module, entry, places_of(place_variables(module)))
    except PtxError as error:
        return KernelCoverage(entry, 0, Counter({str(error): 1}))
    return KernelCoverage(entry, len(kernel.flat.body), kernel.unsupported)
