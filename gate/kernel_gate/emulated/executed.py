"""What launches of a kernel have executed, by basic block, kept apart by what the launches were for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated.program import DecodedKernel
from kernel_gate.emulated.terminators import Branch


@dataclass(slots=True)
class Executed:
    """Blocks of a kernel that some thread has run, and those from whose end some thread has gone back."""

    kernel: DecodedKernel
    _families: dict[str, npt.NDArray[np.bool_]] = field(default_factory=dict)

    def of(self, family: str) -> npt.NDArray[np.bool_]:
        """[2, blocks], for launches of a family to write into: run, and gone back from."""
        return self._families.setdefault(family, np.zeros((2, len(self.kernel.blocks)), np.bool_))

    def lines(self, family: str | None = None) -> set[int]:
        """Lines of which some thread has executed an instruction, in launches of that family; None: in any."""
        lines: set[int] = set()
        for name, blocks in self._families.items():
            start = 0
            for block, executed in zip(self.kernel.blocks, blocks[0], strict=True):
                if executed and family in (None, name):
                    body = self.kernel.flat.body[start : start + block.count]
                    lines |= {ins.line for ins in body if ins.line is not None}
                start += block.count
        return lines

    def loops(self, family: str | None = None) -> dict[int, bool]:
        """Line of each loop that a branch goes back in → whether some thread has gone back, in launches of that family;
        None: in any.
        """
        families = [blocks for name, blocks in self._families.items() if family in (None, name)]
        lines: dict[int, bool] = {}
        for number, block in enumerate(self.kernel.blocks):
            end = block.end
            if isinstance(end, Branch) and end.target is not None and end.target <= number:
                line = end.instruction.line
                if line is not None:
                    again = any(blocks[1, number] for blocks in families)
                    lines[line] = lines.get(line, False) or again
        return lines
