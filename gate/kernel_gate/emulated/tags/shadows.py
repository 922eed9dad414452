"""The tags of everything that the threads of a wave hold: registers, shared and local memory, and global memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernel_gate.emulated import watching
from kernel_gate.emulated.access import Located
from kernel_gate.emulated.addresses import Segment
from kernel_gate.emulated.operands import items, names
from kernel_gate.emulated.ptx.model import Operand, Register
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags.flow import Flow
from kernel_gate.emulated.tags.keys import UNTAGGED, Coding, Index, Keys, joined
from kernel_gate.emulated.watching import Watch, Wrap
from kernel_gate.emulated.wave import Wave

_AS_DECLARED = UNTAGGED - 1
"""In the tags of stored global memory: nothing was stored there, the element has the tags that it was given."""
_GLOBAL_BYTES_MOST = 1 << 28
"""What the tags of stored global memory may take in one launch."""


@dataclass(slots=True)
class Shadows:
    """The shadows of one launch; registers, shared and local memory are those of one wave."""

    coding: Coding
    flow: Flow
    registers: dict[str, Keys] = field(default_factory=dict)
    """Only those with some tag; (width, lanes, all threads of the wave)."""
    shared: Keys | None = None
    """(width, granules of the wave's shared memory)."""
    local: Keys | None = None
    stored: dict[int, Keys] = field(default_factory=dict)
    """By the number of a segment: what the launch stored there."""
    forgotten: set[str] = field(default_factory=set)
    """Memory whose stored tags did not fit, or could not be followed."""
    blind: bool = False
    """Whether something that is not followed has stored to global memory."""
    _blocks: Index | None = None

    def enter(self, wave: Wave) -> None:
        """Forget what belongs to an earlier wave."""
        if self._blocks is not wave.blocks:
            self._blocks = wave.blocks
            self.registers.clear()
            self.shared = self.local = None

    def forget(self, spaces: Collection[str]) -> None:
        """Something that is not followed has written to memory of these spaces: no tag in it can be trusted."""
        if "shared" in spaces:
            self.shared = None
        if "local" in spaces:
            self.local = None
        if "global" in spaces:
            self.stored.clear()
            self.blind = True

    def lanes(self, nbytes: int) -> int:
        """The lanes of so many bytes."""
        return max(nbytes // self.flow.granule, 1)

    def follows(self, operand: Operand) -> bool:
        """Whether a register, or one of a group, is followed."""
        return any(name in self.flow.registers for name in names((operand,)))

    def get(self, wave: Wave, operand: Operand, nbytes: int | None = None) -> Keys | None:
        """The tags of a register for the active threads, of its lowest bytes; None where it has none."""
        held = self.registers.get(operand.name) if isinstance(operand, Register) else None
        if held is None:
            return None
        if nbytes is not None:
            held = held[:, : self.lanes(nbytes)]
        return held if wave.active is None else held[..., wave.active]

    def put(self, wave: Wave, site: Site, operand: Operand, tags: Keys | None) -> None:
        """Set a register's tags for the active threads; lanes that are not given have none."""
        if not isinstance(operand, Register) or operand.name not in self.flow.registers:
            return
        name = operand.name
        if tags is None:
            if name in self.registers:
                if wave.active is None:
                    del self.registers[name]
                else:
                    self.registers[name][..., wave.active] = UNTAGGED
            return
        kind = site.register_type(operand)
        lanes = self.lanes(kind.size if kind is not None else 4)
        if wave.active is None and tags.shape[1] == lanes:
            self.registers[name] = tags.copy()
            return
        held = self.registers.get(name)
        if held is None or wave.active is None:
            held = np.full((self.coding.width, lanes, wave.threads), UNTAGGED, np.int64)
            self.registers[name] = held
        threads: Any = slice(None) if wave.active is None else wave.active
        held[:, tags.shape[1] :, threads] = UNTAGGED
        held[:, : tags.shape[1], threads] = tags[:, :lanes]

    def load(self, wave: Wave, at: Located, nbytes: int, site: int) -> Keys | None:
        """(width, lanes, active threads): the tags of memory that every active thread reads from its first byte on."""
        where = self._granules(wave, at, nbytes)
        if at.segment is not None:
            return self._load_global(at.segment, where, site)
        memory = self._memory(wave, at, None)
        if memory is None:
            return None
        keys = memory[:, where]
        return keys if (keys[::2] != UNTAGGED).any() else None

    def _load_global(self, segment: Segment, where: Index, site: int) -> Keys | None:
        if self.blind and not segment.input:
            return None
        if segment.number not in self.stored:
            return self.declared(segment, where, site)
        keys = self._opened(self.stored[segment.number][:, where], segment, where, site)
        return keys if (keys[::2] != UNTAGGED).any() else None

    def _opened(self, keys: Keys, segment: Segment, where: Index, site: int) -> Keys:
        """Tags of stored memory, with those that its elements were given where nothing was stored."""
        untouched = keys[0] == _AS_DECLARED
        if untouched.any():
            defaults = self.declared(segment, where, site)
            assert defaults is not None
            keys = np.where(untouched, defaults, keys)
        return keys

    def declared(self, segment: Segment, where: Index, site: int) -> Keys | None:
        """The tags that a buffer's elements were given, by granules from the start of its memory."""
        tagged = self.coding.buffers.get(segment.name)
        if tagged is None:
            return None
        element = (where * self.flow.granule - segment.offset) // tagged.itemsize
        return self.coding.tags(segment.name, np.clip(element, 0, None), site)

    def store(self, wave: Wave, at: Located, tags: Keys | None, nbytes: int) -> None:
        """The active threads stored data with these tags."""
        memory = self._memory(wave, at, tags)
        if memory is not None:
            memory[:, self._granules(wave, at, nbytes)] = UNTAGGED if tags is None else tags

    def join(self, wave: Wave, at: Located, tags: Keys | None, nbytes: int, site: int) -> None:
        """The active threads' data went into what stood there."""
        memory = self._memory(wave, at, tags)
        if memory is None or tags is None:
            return
        where = self._granules(wave, at, nbytes)
        if at.segment is not None and at.segment.name in self.coding.buffers:
            memory[:, where] = self._opened(memory[:, where], at.segment, where, site)
        for row, tag in zip(memory, tags, strict=True):
            np.minimum.at(row, where, tag)

    def _granules(self, wave: Wave, at: Located, nbytes: int) -> Index:
        first: Index = wave.spread(at.index) * at.cells.dtype.itemsize // self.flow.granule
        return first + np.arange(self.lanes(nbytes))[:, None]

    def _memory(self, wave: Wave, at: Located, tags: Keys | None) -> Keys | None:
        """Where the tags of a store go; None when there is nothing to keep."""
        if at.segment is not None:
            return self._global(at.segment, tags)
        shared = at.space == "shared"
        memory = self.shared if shared else self.local
        count = -(-(wave.shared.data.size if shared else wave.local.size) // self.flow.granule)
        if memory is not None and memory.shape[1] != count:
            # The stack has grown: every thread's part of it lies elsewhere now.
            self.forgotten.add("local memory, which grew")
            memory = self.local = None
        if memory is None and tags is not None:
            memory = np.full((self.coding.width, count), UNTAGGED, np.int64)
            if shared:
                self.shared = memory
            else:
                self.local = memory
        return memory

    def _global(self, segment: Segment, tags: Keys | None) -> Keys | None:
        memory = self.stored.get(segment.number)
        declared = segment.name in self.coding.buffers
        if memory is not None or (tags is None and not declared):
            return memory
        count = -(-segment.data.size // self.flow.granule)
        taken = sum(kept.nbytes for kept in self.stored.values())
        if taken + 8 * self.coding.width * count > _GLOBAL_BYTES_MOST:
            self.forgotten.add(segment.name)
            return None
        fill = _AS_DECLARED if declared else UNTAGGED
        memory = self.stored[segment.number] = np.full((self.coding.width, count), fill, np.int64)
        return memory

    def group(self, wave: Wave, operand: Operand, nbytes: int) -> Keys | None:
        """The tags of a vector's registers, lane after lane; `nbytes`: of each."""
        parts = [self.get(wave, item, nbytes) for item in items(operand)]
        if all(part is None for part in parts):
            return None
        return np.concatenate([self.filled(wave, part, self.lanes(nbytes)) for part in parts], axis=1)

    def filled(self, wave: Wave, tags: Keys | None, lanes: int) -> Keys:
        """The tags with as many lanes, as an array in any case."""
        if tags is not None and tags.shape[1] >= lanes:
            return tags[:, :lanes]
        keys = np.full((self.coding.width, lanes, wave.active_count), UNTAGGED, np.int64)
        if tags is not None:
            keys[:, : tags.shape[1]] = tags
        return keys

    def everything(self, wave: Wave, operands: Sequence[Operand]) -> Keys | None:
        """One lane with what went into any of these registers."""
        return joined([self._one_lane(wave, item) for operand in operands for item in items(operand)])

    def _one_lane(self, wave: Wave, operand: Operand) -> Keys | None:
        tags = self.get(wave, operand)
        return tags if tags is None else tags.min(axis=1, keepdims=True)


def around(shadows: Shadows, watch: Watch) -> Wrap:
    """What to put around a step that changes tags: what `watch` does before it yields, and after."""
    return watching.around(watch, shadows.enter)
