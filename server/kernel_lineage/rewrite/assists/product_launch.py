"""The launch of a tiled product: a block for each tile of outputs, of so many threads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.assists.flat_outputs import FlatOutputs
from kernel_lineage.rewrite.assists.layout import insert_before
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.launch_site import allowance_edit, launch_edits

_MEMBER = re.compile(r"\b([A-Za-z_]\w*)\s*\.\s*([xyz])\b")
_DIM3 = re.compile(r"\s*dim3\s*[({](.*)[)}]\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Blocks:
    """What the blocks of a launch are."""

    threads: int
    shared_bytes: int = 0
    """Dynamic shared memory; above 48 KiB, the host code asks for it."""
    resident: int = 0
    """How many of them a multiprocessor shall hold at once; 0: as many as it can."""
    depth: int = 1
    """Threads along z; above 1, a warp of them stands along x."""

    @property
    def extents(self) -> str:
        """Their extents, as a launch writes them."""
        if self.depth == 1:
            return str(self.threads)
        return f"dim3(32, {self.threads // 32 // self.depth}, {self.depth})"


def tiled_launches(
    kernel: Kernel, tile: Mapping[str, int], blocks: Blocks, flat: FlatOutputs | None = None
) -> list[Edit]:
    """Edits that launch a block for each tile of `tile[axis]` outputs along each axis; the depth of the grid stays."""
    if "launch_bounds" in kernel.attributes:
        raise Refusal(f"{kernel.name} has launch bounds, which tell the size of its blocks")
    edits: list[Edit] = []
    for launch in kernel.launches:
        grid = []
        counts = flat.counts(kernel, launch) if flat is not None else {}
        for position, axis in enumerate("xy"):
            if axis in counts:
                grid.append(f"({counts[axis]} + {tile[axis] - 1}) / {tile[axis]}")
                continue
            count, size = (
                _extent(launch, e[position] if position < len(e) else "1")
                for e in (launch.grid, launch.block)
            )
            grid.append(f"({_outputs(count, size)} + {tile[axis] - 1}) / {tile[axis]}")
        if counts.get("z", "1") != "1":
            grid.append(counts["z"])
        grid += [_extent(launch, e) for e in launch.grid[2:]]
        fields = {"grid": f"dim3({', '.join(grid)})", "block": blocks.extents}
        if blocks.shared_bytes:
            fields["shared_bytes"] = str(blocks.shared_bytes)
            edits.append(allowance_edit(kernel, launch, blocks.shared_bytes))
        edits += launch_edits(kernel, launch, fields)
    held = f"{blocks.threads}, {blocks.resident}" if blocks.resident else str(blocks.threads)
    return [insert_before(kernel, kernel.name_span.start, f"__launch_bounds__({held}) "), *edits]


def _outputs(blocks: str, size: str) -> str:
    """How many places blocks of a size have; for `(N + 15) / 16` of 16 it is N, as bounds cut off what is beyond."""
    rounded = re.fullmatch(r"\((\w+) \+ (\d+)(?: - (\d+))?\) / (\d+)", blocks.strip())
    if rounded and rounded[4] == size and int(rounded[2]) - int(rounded[3] or 0) == int(size) - 1:
        return rounded[1]
    return _factor(blocks) if size.strip() == "1" else f"{_factor(blocks)} * {_factor(size)}"


def _extent(launch: Launch, text: str) -> str:
    """An extent with members of a `dim3` of the launcher written out: `block.x` → `16`."""

    def component(match: re.Match[str]) -> str:
        made = _DIM3.fullmatch(launch.definitions.get(match[1], ""))
        parts = [p.strip() for p in made[1].split(",")] if made else []
        position = "xyz".index(match[2])
        plain = bool(parts) and not any(set(p) & set("()") for p in parts)
        return _factor(parts[position] if position < len(parts) else "1") if plain else match[0]

    return _MEMBER.sub(component, text)


def _factor(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else f"({text})"
