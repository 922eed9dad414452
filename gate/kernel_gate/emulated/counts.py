"""Exact counts of the executed addresses; never a time.

A global request of a warp touches some 32-byte sectors. A shared request takes as many wavefronts as the busiest of
its 32 four-byte banks has distinct words; accesses wider than 4 bytes are served in 2 (8 bytes) or 4 (16 bytes) parts
of the warp, each counted on its own (CUDA C++ best practices guide, shared memory and memory banks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernel_gate.emulated.ptx.model import Instruction
from kernel_gate.emulated.types import Array
from kernel_gate.emulated.wave import Index, Wave

_SECTOR = 32
_BANKS = 32
_WORD = 4


@dataclass(slots=True)
class _Access:
    requests: int = 0
    transactions: int = 0
    ideal: int = 0


@dataclass(slots=True)
class Counts:
    """Per instruction: requests of warps, and the sectors or wavefronts that they took."""

    global_accesses: dict[int, _Access] = field(default_factory=dict)
    shared_accesses: dict[int, _Access] = field(default_factory=dict)

    def global_access(self, wave: Wave, number: int, offsets: Array, nbytes: int) -> None:
        """The active threads access `nbytes` at these offsets of one buffer."""
        warps = wave.warp[wave.index]
        sectors = wave.spread(offsets).astype(np.int64) // _SECTOR
        access = self.global_accesses.setdefault(number, _Access())
        access.requests += _distinct(warps)
        access.transactions += _distinct((warps << 44) | sectors)
        access.ideal += int(np.sum(-(-np.bincount(warps)[np.unique(warps)] * nbytes // _SECTOR)))

    def shared_access(self, wave: Wave, number: int, offsets: Index, nbytes: int) -> None:
        """The active threads access `nbytes` at these bytes of shared memory."""
        warps = wave.warp[wave.index]
        parts = max(nbytes // _WORD, 1)
        group = warps * parts + wave.lane[wave.index] * parts // 32
        words = np.concatenate([(group << 40) | (offsets // _WORD + k) for k in range(parts)])
        words = np.unique(words)
        owner, bank = words >> 40, (words & ((1 << 40) - 1)) % _BANKS
        _, rank = np.unique(owner, return_inverse=True)
        busy = np.bincount(rank * _BANKS + bank, minlength=(int(rank.max()) + 1) * _BANKS)
        access = self.shared_accesses.setdefault(number, _Access())
        access.requests += _distinct(warps)
        access.transactions += int(busy.reshape(-1, _BANKS).max(axis=1).sum())
        access.ideal += int(rank.max()) + 1

    def document(self, body: Sequence[Instruction]) -> dict[str, Any]:
        """The counts in total and per source line."""
        return {
            "global": _summary(self.global_accesses, body, "sectors"),
            "shared": _summary(self.shared_accesses, body, "wavefronts"),
        }


def _distinct(keys: Index) -> int:
    """Distinct values; ascending ones, the usual case, need no sort."""
    steps = np.diff(keys)
    if (steps < 0).any():
        steps = np.diff(np.sort(keys))
    return int(np.count_nonzero(steps)) + 1


def _summary(accesses: dict[int, _Access], body: Sequence[Instruction], unit: str) -> dict[str, Any]:
    lines: dict[str, dict[str, Any]] = {}
    total = {"requests": 0, unit: 0, f"ideal_{unit}": 0}
    for number, access in sorted(accesses.items()):
        instruction = body[number]
        key = f"{instruction.line}:{instruction.parts[0]}"
        row = lines.setdefault(
            key, {"line": instruction.line, "op": instruction.parts[0]} | dict.fromkeys(total, 0)
        )
        found = {"requests": access.requests, unit: access.transactions, f"ideal_{unit}": access.ideal}
        for name, value in found.items():
            row[name] += value
            total[name] += value
    return total | {"lines": list(lines.values())}
