"""`tensormap.replace` and `tensormap.cp_fenceproxy` (PTX ISA): maps made by the device."""

from __future__ import annotations

import numpy as np

from kernel_gate.emulated import pieces
from kernel_gate.emulated.access import Change, Located, access
from kernel_gate.emulated.instructions.load_store import record_write
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tensor_maps import LAYOUT, MAP_BYTES
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.wave import Wave


@opcode("tensormap")
def tensor_map(site: Site) -> Step:
    """Change a field of a map in shared or global memory, or copy a map to global memory."""
    if site.parts[1] == "cp_fenceproxy":
        return _copy(site)
    return _replace(site)


def _replace(site: Site) -> Step:
    field = site.parts[3]
    if site.parts[1:3] != ("replace", "tile") or field not in (LAYOUT.names or ()):
        raise site.unsupported()
    cells, start = LAYOUT.fields[field][:2]  # type: ignore[index]
    size = cells.base.itemsize
    space = "shared" if site.has("shared::cta") else "global" if site.has("global") else "generic"
    where = access(site, 0, "write", TYPES["b64"], MAP_BYTES // 8, space)
    ordinal = site.read(1, TYPES["u32"]) if cells.shape else None
    value = site.read(2 if cells.shape else 1, site.type)

    def step(wave: Wave) -> None:
        def do(inner: Wave, at: Located) -> None:
            number = 0 if ordinal is None else inner.spread(ordinal(inner)).astype(np.int64)
            if np.any(number >= (cells.shape or (1,))[0]):
                raise inner.stop("trap", f"a tensor map has no {field} with this number", site.instruction)
            values = inner.spread(value(inner)).astype(f"u{size}")
            data, written = at.cells.view(np.uint8), at.written
            first = inner.spread(at.index) * 8 + start + number * size
            data[first[:, None] + np.arange(size)] = (
                np.ascontiguousarray(values).view(np.uint8).reshape(-1, size)
            )
            if written is not None:
                written.view(np.uint8)[first[:, None] + np.arange(size)] = 0xFF
            count = len(first)
            at.index = inner.spread(at.index)
            record_write(inner, where, at, Change(np.ones(count, np.bool_), np.zeros(count, np.bool_)))

        where.perform(wave, do)

    return step


def _copy(site: Site) -> Step:
    to = access(site, 0, "write", TYPES["b64"], MAP_BYTES // 8, "global")
    source = access(site, 1, "read", TYPES["b64"], MAP_BYTES // 8, "shared")

    def step(wave: Wave) -> None:
        # The lanes of a warp do it together, with the same addresses.
        _, first = np.unique(wave.warp[wave.index], return_index=True)
        threads = wave.index[first]
        rows = pieces.read(wave, source, threads, wave.spread(source.address(wave))[first])
        pieces.write(wave, to, threads, wave.spread(to.address(wave))[first], rows, None)

    return step
