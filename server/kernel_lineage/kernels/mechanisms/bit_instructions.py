"""Instructions that take all bits of a word at once, in place of a loop over them."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit
from kernel_lineage.kernels.mechanisms.seeing import in_assembly, seen
from kernel_lineage.kernels.units import in_units

_CUDA = frozenset(
    {"__popc", "__popcll", "__clz", "__clzll", "__ffs", "__ffsll", "__brev", "__brevll", "__fns", "popcount",
     "countl_zero", "countr_zero"}
)  # fmt: skip
_PTX = ("popc.b", "clz.b", "brev.b", "bfind.", "fns.b")


def _detect(unit: Unit) -> Iterator[Site]:
    for call in unit.calls:
        if call.name in _CUDA:
            yield seen(call.node, f"{call.name} takes all bits of a word at once")
    for _, node in in_assembly(unit, *_PTX):
        yield seen(node, "inline PTX takes all bits of a word at once")


MECHANISM = Mechanism(
    title="Bit instructions",
    direction=Direction.INSTRUCTION_THROUGHPUT,
    summary="Counts or finds the bits of a whole word in one instruction instead of a loop over them.",
    looks_for="`__popc`, `__clz`, `__ffs`, `__brev` and their 64-bit forms; the same in PTX.",
    detect=in_units(_detect),
    conditions=(profit('profile.bound == "compute"', "pipeline", "Memory-bound kernels hide the loop."),),
)
