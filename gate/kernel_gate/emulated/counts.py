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
        lanes = np.bincount(warps)
        lanes = lanes[lanes > 0]
        access = self.global_accesses.setdefault(number, _Access())
        access.requests += len(lanes)
        access.ideal += int((-(-lanes * nbytes // _SECTOR)).sum())
        if offsets.ndim == 0:
            access.transactions += len(lanes)
        else:
            access.transactions += _distinct((warps << 44) | (offsets.astype(np.int64) // _SECTOR))

    def shared_access(self, wave: Wave, number: int, offsets: Index, nbytes: int) -> None:
        """The active threads access `nbytes` at these bytes of shared memory."""
        parts = max(nbytes // _WORD, 1)
        lanes = wave.lane[wave.index]
        access = self.shared_accesses.setdefault(number, _Access())
        if len(lanes) % 32 == 0 and bool((lanes.reshape(-1, 32) == np.arange(32)).all()):
            words = (offsets[:, None] // _WORD + np.arange(parts)).reshape(-1, _BANKS)
            access.requests += len(lanes) // 32
            access.ideal += len(words)
            access.transactions += _wavefronts_of_rows(words)
            return
        warps = wave.warp[wave.index]
        group = warps * parts + lanes * parts // 32
        pairs = np.unique(np.concatenate([(group << 40) | (offsets // _WORD + k) for k in range(parts)]))
        _, row = np.unique(pairs >> 40, return_inverse=True)
        access.requests += _distinct(warps)
        access.ideal += int(row.max()) + 1
        access.transactions += _busiest(row, (pairs & ((1 << 40) - 1)) % _BANKS)

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


def _busiest(row: Index, bank: Index) -> int:
    """Summed over rows: how many of their distinct words fall into one bank at most."""
    rows = int(row.max()) + 1
    counts = np.bincount(row * _BANKS + bank, minlength=rows * _BANKS)
    return int(counts.reshape(rows, _BANKS).max(axis=1).sum())


def _wavefronts_of_rows(words: Index) -> int:
    """Wavefronts of requests of 32 words each."""
    # Words within 32 neighbours are in different banks or the same: one wavefront, and the usual case.
    spread = words.max(axis=1) - words.min(axis=1) >= _BANKS
    apart = np.sort(words[spread], axis=1)
    if not len(apart):
        return len(words)
    fresh = np.ones(apart.shape, np.bool_)
    fresh[:, 1:] = apart[:, 1:] != apart[:, :-1]
    row, _ = np.nonzero(fresh)
    return len(words) - len(apart) + _busiest(row, apart[fresh] % _BANKS)


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
