"""`klineage.operand`, `klineage.number`, `klineage.check`: marks that an assertion leaves in an annotated program.

No GPU has them, and on this device they do nothing: who watches for invariants reads their operands
(`tags.assertions`).
"""

from __future__ import annotations

from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.wave import Wave


@opcode("klineage")
def mark(_site: Site) -> Step:
    """Nothing happens."""
    return _nothing


def _nothing(wave: Wave) -> None:
    """The mark is for those who watch."""
