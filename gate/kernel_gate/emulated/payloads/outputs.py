"""The payloads that a run has left in its outputs, and whether two runs computed the same expression."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from kernel_gate.devices.emulated import EmulatedBuffer
from kernel_gate.dtypes import Array, DType
from kernel_gate.emulated.payloads.fields import Payload, negate
from kernel_gate.emulated.payloads.literals import lift
from kernel_gate.emulated.payloads.memory import PayloadMemory
from kernel_gate.emulated.payloads.sources import payload_of

_HALVES = re.compile(r"\.b?f16|\.b16\b")


def granule_of(ptx: Iterable[str]) -> int:
    """Bytes of the smallest float that these programs move: 2 or 4."""
    return 2 if any(_HALVES.search(text.split(".entry", 1)[-1]) for text in ptx) else 4


def output_payload(memory: PayloadMemory, buffer: EmulatedBuffer, values: Array, dtype: DType) -> Payload:
    """(LEVELS, elements): what a buffer of floats holds after a run; `values`: its stored elements."""
    wide = np.asarray(dtype.wide(values.reshape(-1)))
    keys = memory.stored.get(buffer.segment.number)
    if keys is None:
        return lift(wide)
    first, step = buffer.segment.offset // memory.granule, max(dtype.itemsize // memory.granule, 1)
    return payload_of(keys[:, first + step - 1 :: step][:, : wide.size], wide)


def different(a: Payload, b: Payload, *, up_to_sign: bool) -> Array:
    """Where two payloads agree at no level. `up_to_sign`: roots were taken, whose sign is a convention."""
    same = a == b
    if up_to_sign:
        same = same | (a == negate(b))
    differs: Array = ~same.any(axis=0)
    return differs
