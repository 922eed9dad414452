"""Exact counts of the executed addresses; never a time.

A global request of a warp touches some 32-byte sectors. A shared request takes as many wavefronts as the busiest of
its 32 four-byte banks has distinct words; accesses wider than 4 bytes are served in 2 (8 bytes) or 4 (16 bytes) parts
of the warp, each counted on its own (CUDA C++ best practices guide, shared memory and memory banks).

Threads of a warp that stand at different places are issued for separately; they meet again at the first place in the
code that both reach.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernel_gate.devices.launch_counts import LaunchCounts, Tally, WorkDone
from kernel_gate.emulated.addresses import Segment
from kernel_gate.emulated.float_operations import per_thread, per_warp
from kernel_gate.emulated.instruction_classes import instruction_class
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
    nbytes: int = 0
    """That its threads asked for."""


@dataclass(slots=True)
class _Block:
    """Executions of one basic block."""

    warps: int = 0
    threads: int = 0
    branches: int = 0
    """Warps that came to its end, when that is a conditional branch."""
    divergent: int = 0


class _Touched:
    """Which bytes of a buffer a launch has read before it wrote them, and which it has written."""

    def __init__(self, nbytes: int) -> None:
        self.read, self.written = np.zeros(nbytes, np.bool_), np.zeros(nbytes, np.bool_)


@dataclass(slots=True)
class Counts:
    """Per instruction: requests of warps, and the sectors or wavefronts that they took."""

    global_accesses: dict[int, _Access] = field(default_factory=dict)
    shared_accesses: dict[int, _Access] = field(default_factory=dict)
    blocks: dict[int, _Block] = field(default_factory=dict)
    touched: dict[int, _Touched] = field(default_factory=dict)
    """By number of the buffer."""

    def execute(self, wave: Wave, number: int) -> None:
        """The active threads run a basic block."""
        block = self.blocks.setdefault(number, _Block())
        block.threads += wave.active_count
        block.warps += int(wave.warp[-1]) + 1 if wave.active is None else _distinct(wave.warp[wave.active])

    def branch(self, wave: Wave, number: int, active: Index, taken: Array) -> None:
        """The active threads come to the conditional branch at the end of a basic block."""
        block = self.blocks[number]
        warps = wave.warp[active]
        block.branches += _distinct(warps)
        if taken.ndim and taken.any() and not taken.all():
            starts = np.flatnonzero(np.diff(warps, prepend=-1))
            some = np.logical_or.reduceat(taken, starts)
            block.divergent += int((some & ~np.logical_and.reduceat(taken, starts)).sum())

    def touch(self, segment: Segment, offsets: Array, nbytes: int, purpose: str) -> None:
        """The active threads read or write `nbytes` at these bytes of a buffer's data; atomics do both."""
        touched = self.touched.get(segment.number)
        if touched is None:
            touched = self.touched[segment.number] = _Touched(len(segment.data))
        at = (np.reshape(offsets, (-1, 1)).astype(np.int64) + np.arange(nbytes)).ravel()
        if purpose != "write":
            touched.read[at[~touched.written[at]]] = True
        if purpose != "read":
            touched.written[at] = True

    def global_access(self, wave: Wave, number: int, offsets: Array, nbytes: int) -> None:
        """The active threads access `nbytes` at these offsets of one buffer."""
        warps = wave.warp[wave.index]
        lanes = np.bincount(warps)
        lanes = lanes[lanes > 0]
        access = self.global_accesses.setdefault(number, _Access())
        access.requests += len(lanes)
        access.nbytes += len(warps) * nbytes
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
        access.nbytes += len(lanes) * nbytes
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

    def result(self, body: Sequence[Instruction], sizes: Sequence[int]) -> LaunchCounts:
        """All of it, by source line. `sizes`: instructions of each basic block, in the order of the body."""
        lines: dict[int | None, Tally] = {}

        def add(line: int | None, tally: Tally) -> None:
            lines[line] = lines.get(line, Tally()) + tally

        starts = np.concatenate([[0], np.cumsum(sizes)])
        for number, block in self.blocks.items():
            start, stop = int(starts[number]), int(starts[number + 1])
            of_lines: dict[int | None, Counter[str]] = {}
            for instruction in body[start:stop]:
                of_lines.setdefault(instruction.line, Counter())[instruction_class(instruction.opcode)] += 1
            for line, classes in of_lines.items():
                issued = {name: count * block.warps for name, count in classes.items()}
                add(line, Tally(issued, classes.total() * block.threads))
            end = body[stop - 1].line
            add(end, Tally(branches=block.branches, divergent_branches=block.divergent))
        for number, access in self.global_accesses.items():
            read, written = _moved(body[number], "global", access.nbytes)
            add(
                body[number].line,
                Tally(
                    global_requests=access.requests,
                    global_sectors=access.transactions,
                    global_read_bytes=read,
                    global_written_bytes=written,
                ),
            )
        for number, access in self.shared_accesses.items():
            read, written = _moved(body[number], "shared", access.nbytes)
            add(
                body[number].line,
                Tally(
                    shared_requests=access.requests,
                    shared_wavefronts=access.transactions,
                    shared_conflicts=access.transactions - access.ideal,
                    shared_read_bytes=read,
                    shared_written_bytes=written,
                ),
            )
        return LaunchCounts(sum(lines.values(), Tally()), lines, self._work(body, starts))

    def _work(self, body: Sequence[Instruction], starts: Array) -> WorkDone:
        flops = 0
        for number, block in self.blocks.items():
            for instruction in body[int(starts[number]) : int(starts[number + 1])]:
                if instruction.guard is None:
                    opcode = instruction.opcode
                    flops += block.threads * per_thread(opcode) + block.warps * per_warp(opcode)
        read = sum(int(bytes_.read.sum()) for bytes_ in self.touched.values())
        written = sum(int(bytes_.written.sum()) for bytes_ in self.touched.values())
        return WorkDone(read, written, flops)

    def document(self, body: Sequence[Instruction]) -> dict[str, Any]:
        """The counts in total and per source line."""
        return {
            "global": _summary(self.global_accesses, body, "sectors"),
            "shared": _summary(self.shared_accesses, body, "wavefronts"),
        }


def _moved(instruction: Instruction, space: str, nbytes: int) -> tuple[int, int]:
    """Bytes that an instruction reads from a space and writes to it: an atomic does both, a copy has two spaces."""
    parts = instruction.parts
    if parts[0] in ("atom", "red"):
        return nbytes, nbytes
    target = next((p.split("::")[0] for p in parts if p.split("::")[0] in ("global", "shared")), "")
    copies = parts[0] == "cp" and target == space
    writes = copies or parts[0] in ("st", "stmatrix") or parts[:2] == ("wmma", "store")
    return (0, nbytes) if writes else (nbytes, 0)


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
        counts = {"requests": access.requests, unit: access.transactions, f"ideal_{unit}": access.ideal}
        for name, value in counts.items():
            row[name] += value
            total[name] += value
    return total | {"lines": list(lines.values())}
