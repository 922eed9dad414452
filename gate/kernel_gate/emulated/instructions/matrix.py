"""8 × 8 matrices of 16-bit elements between shared memory and a warp (PTX ISA 9.0, 9.7.14.5 `ldmatrix`)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernel_gate.emulated.access import Access, Located, access
from kernel_gate.emulated.instructions.load_store import check_initialised, record_read
from kernel_gate.emulated.ptx.model import Group
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES, Array
from kernel_gate.emulated.wave import Wave

_ROWS = 8
_WARP = 32


@opcode("ldmatrix")
def load_matrix(site: Site) -> Step:
    """`ldmatrix`: lane 8·i + r holds the address of row r of matrix i; each lane gets two elements of each matrix."""
    count = {"x1": 1, "x2": 2, "x4": 4}.get(site.first("x1", "x2", "x4") or "")
    target = site.operand(0)
    if count is None or not site.has("m8n8") or not isinstance(target, Group):
        raise site.unsupported()
    word = TYPES["b32"]
    writes = [site.writer(item, word) for item in target.items]
    where = replace(access(site, 1, "read", TYPES["b16"], _ROWS), space="shared")
    transposed = site.has("trans")

    def step(wave: Wave) -> None:
        rows = _read_rows(wave, where, count, site)
        lane = np.arange(_WARP)
        for matrix, write in enumerate(writes):
            block = rows[:, matrix * _ROWS : (matrix + 1) * _ROWS]
            if transposed:
                block = block.transpose(0, 2, 1)
            low = block[:, lane // 4, lane % 4 * 2].astype(np.uint32)
            high = block[:, lane // 4, lane % 4 * 2 + 1].astype(np.uint32)
            write(wave, (low | high << np.uint32(16)).reshape(-1))

    return step


def _read_rows(wave: Wave, where: Access, count: int, site: Site) -> Array:
    """(warps, 8 · matrices, 8) elements."""
    threads, outer = wave.index, wave.active
    if len(threads) % _WARP or (wave.lane[threads].reshape(-1, _WARP) != np.arange(_WARP)).any():
        raise wave.stop("barrier", "ldmatrix needs all 32 lanes of its warps", site.instruction)
    found: list[Array] = []

    def do(inner: Wave, at: Located) -> None:
        checks = inner.launch.checks
        if checks.uninitialised:
            check_initialised(inner, where, at)
        if checks.races:
            record_read(inner, where, at, ordered=False)
        found.append(at.cells[at.index[:, None] + np.arange(_ROWS)])

    wave.active = threads[wave.lane[threads] < count * _ROWS]
    where.perform(wave, do)
    wave.active = outer
    return found[0].reshape(-1, count * _ROWS, _ROWS)
