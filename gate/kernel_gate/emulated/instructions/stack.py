"""Local memory that grows while a thread runs (PTX ISA 9.0, `alloca`, `stacksave`, `stackrestore`)."""

from __future__ import annotations

import numpy as np

from kernel_gate.emulated.layout import POISON
from kernel_gate.emulated.ptx.model import Integer
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import Array
from kernel_gate.emulated.wave import Index, Wave

_BYTES_MOST = 512 << 10
"""Local memory that one thread can have (CUDA programming guide, table of compute capabilities)."""
_ALIGNMENT = 8


def _pointers(wave: Wave) -> Index:
    """The first free byte of each thread's frame."""
    if wave.stack is None:
        wave.stack = np.full(wave.threads, wave.local.shape[1], np.int64)
    return wave.stack


@opcode("alloca")
def allocate_on_stack(site: Site) -> Step:
    """`alloca d, size {, align}`: bytes of local memory until the function's frame is restored."""
    kind = site.type
    write, size = site.write(0, kind), site.read(1, kind)
    operand = site.operand(2) if site.operand_count > 2 else None
    align = operand.value if isinstance(operand, Integer) else _ALIGNMENT

    def step(wave: Wave) -> None:
        stack, threads = _pointers(wave), wave.index
        start = -(-stack[threads] // align) * align
        end = start + wave.spread(size(wave)).astype(np.int64)
        if (end > _BYTES_MOST).any():
            position = int(np.argmax(end > _BYTES_MOST))
            message = f"the stack of a thread grows to {int(end[position])} bytes; it can have {_BYTES_MOST}"
            raise wave.stop("out_of_bounds", message, site.instruction, position)
        stack[threads] = end
        _grow(wave, int(end.max()))
        write(wave, start.astype(kind.dtype))

    return step


def _grow(wave: Wave, nbytes: int) -> None:
    rows, width = wave.local.shape
    if nbytes > width:
        wider = -(-max(nbytes, 2 * width) // 16) * 16
        grown: Array = np.full((rows, wider), POISON, np.uint8)
        grown[:, :width] = wave.local
        wave.local = grown
        if wave.local_written is not None:
            flags = np.zeros_like(grown)
            flags[:, :width] = wave.local_written
            wave.local_written = flags


@opcode("stacksave")
def save_stack(site: Site) -> Step:
    """`stacksave d`."""
    write = site.write(0, site.type)
    return lambda wave: write(wave, _pointers(wave)[wave.index].astype(site.type.dtype))


@opcode("stackrestore")
def restore_stack(site: Site) -> Step:
    """`stackrestore a`: what was allocated since is gone."""
    read = site.read(0, site.type)

    def step(wave: Wave) -> None:
        _pointers(wave)[wave.index] = wave.spread(read(wave)).astype(np.int64)

    return step
