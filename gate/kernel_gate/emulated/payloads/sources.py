"""Operands of an instruction: their values, and the payloads that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel_gate.emulated.formats import FORMATS, unpack
from kernel_gate.emulated.payloads.fields import LEVELS, Payload
from kernel_gate.emulated.payloads.literals import lift, literal
from kernel_gate.emulated.ptx.model import FloatBits, Operand
from kernel_gate.emulated.site import Read, Site
from kernel_gate.emulated.tags.keys import UNTAGGED, Keys
from kernel_gate.emulated.tags.shadows import Shadows
from kernel_gate.emulated.types import Array, PtxType
from kernel_gate.emulated.wave import Wave

FLOATS = ("float", "packed")


def float_values(kind: PtxType, raw: Any) -> list[Array]:
    """The values of one float, or of both halves of a packed register, lower half first."""
    if kind.name == "tf32":
        return [np.asarray(raw).view(np.float32)]
    if kind.name not in FORMATS:
        return [np.asarray(raw)]
    form = FORMATS[kind.name]
    cells = unpack(raw) if form.lanes == 2 else (raw,)
    return [form.open(np.asarray(cell).view(form.kind.dtype)) for cell in cells]


def payload_of(tags: Keys, values: Array) -> Payload:
    """The payload that a float holds; that of its exact value where it holds none."""
    missing = tags[0] == UNTAGGED
    if not missing.any():
        return tags.astype(np.uint64)
    return np.where(missing, lift(values), tags.astype(np.uint64))


@dataclass(frozen=True, slots=True)
class Source:
    """One operand of an instruction on floats."""

    shadows: Shadows
    operand: Operand
    kind: PtxType
    read: Read

    @classmethod
    def of(cls, shadows: Shadows, site: Site, position: int, kind: PtxType) -> Source:
        """The operand at a position of an instruction."""
        operand = site.operand(position)
        return cls(shadows, operand, kind, site.reader(operand, kind))

    def values(self, wave: Wave) -> list[Array]:
        """(active threads) for each half."""
        return [wave.spread(value) for value in float_values(self.kind, self.read(wave))]

    def payloads(self, wave: Wave, values: Sequence[Array]) -> list[Payload]:
        """(LEVELS, active threads) for each half; before the step, which may overwrite the operand."""
        if isinstance(self.operand, FloatBits):
            return [np.broadcast_to(literal(self.operand), (LEVELS, len(value))) for value in values]
        tags = self.shadows.get(wave, self.operand, self.kind.size)
        if tags is None:
            return [lift(value) for value in values]
        halves = np.array_split(tags, len(values), axis=1) if tags.shape[1] >= len(values) else [tags] * 2
        return [payload_of(half[:, -1], value) for half, value in zip(halves, values, strict=False)]
