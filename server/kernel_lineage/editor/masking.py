"""The candidates for an access that lacks the mask of others: of its tile, wherever that is missed, or of any."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_lineage.kernels.edits import Edit, differing_lines, edited
from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.rewrite.assists.triton_places import called
from kernel_lineage.rewrite.assists.triton_rounds import MASKS
from kernel_lineage.rewrite.repairs import Repair

if TYPE_CHECKING:
    from kernel_lineage.workloads.kept_drafts import KeptDrafts

_ROUNDS = 8
"""Lines whose accesses are masked: of one tile there may be several."""
Tiles = dict[str, tuple[int, str]]
"""What accesses without a mask need of sizes → the line of one, and that of an access that is masked."""


def masked(path: Path, text: bytes, kernel: str, line: int, drafts: KeptDrafts) -> Iterator[Repair]:
    """The candidates for an access on a line: as the other one masks it, then with zeros where it reads nothing."""
    from kernel_lineage.workloads.files import kernel_of

    where = needed_at(line, tiles(path, text, kernel, drafts))
    for other in ("", "0.0"):
        mended, lines = text, list[int]()
        while (tile := tiles(path, mended, kernel, drafts).get(where)) is not None and len(lines) < _ROUNDS:
            at, sibling = tile
            edits = list(_masks(kernel_of(path, kernel, mended), mended, at, int(sibling or 0), other))
            if not edits:
                break
            lines.append(at)
            mended = edited(mended, edits)
        if lines:
            places = " and ".join(dict.fromkeys(f"line {at}" for at in lines))
            zeros = ", and 0 where it reads nothing" if other else ""
            edits = list(differing_lines(mended.decode(), text.decode()))
            yield Repair(f"the mask of its tile at {places}{zeros}", tuple(edits))


def masked_as_others(kernel: Kernel, text: bytes, line: int) -> Iterator[Repair]:
    """The candidates for an access on a line that leaves its buffer: the mask of another access, the nearest first."""
    calls = _accesses(kernel)
    siblings: dict[str, int] = {}
    for call in sorted(calls, key=lambda c: (abs(c.lineno - line), called(c) == "store")):
        siblings.setdefault(_named(call, "mask"), call.lineno)
    for mask, sibling in siblings.items():
        for other in ("", "0.0"):
            if mask and (edits := tuple(_masks(kernel, text, line, sibling, other))):
                zeros = ", and 0 where it reads nothing" if other else ""
                yield Repair(f"the mask of line {sibling} at line {line}{zeros}", edits)


def tiles(path: Path, text: bytes, kernel: str, drafts: KeptDrafts) -> Tiles:
    """What a draft of a text says of its accesses without a mask. Raises as drafting does."""
    from kernel_lineage.editor.checked import unmasked_tiles

    return unmasked_tiles(drafts.workload_of(path, text, kernel))


def needed_at(line: int, of: Tiles) -> str:
    """What an access on a line needs; "" for nothing."""
    return next((where for where, (at, _) in of.items() if at == line), "")


def _masks(kernel: Kernel, text: bytes, line: int, sibling: int, other: str) -> Iterator[Edit]:
    """The edits that mask each access of a line which has no mask, as one of the sibling's line has."""
    calls = _accesses(kernel)
    mask = next((_named(c, "mask") for c in calls if c.lineno == sibling and _named(c, "mask")), "")
    elsewhere = next((_named(c, "other") for c in calls if c.lineno == sibling and _named(c, "other")), other)
    starts = [0]
    for row in text.split(b"\n"):
        starts.append(starts[-1] + len(row) + 1)
    for call in calls:
        if not mask or call.lineno != line or _named(call, "mask"):
            continue
        new = f"mask={mask}"
        if elsewhere and called(call) == "load":
            new += f", other={elsewhere}"
        end = starts[(call.end_lineno or line) - 1] + (call.end_col_offset or 0) - 1  # before the parenthesis
        comma = "" if text[:end].rstrip().endswith(b",") else ", "
        yield Edit(Span(end, end, line, line), comma + new)


def _accesses(kernel: Kernel) -> list[ast.Call]:
    nodes = [] if kernel.function is None else [*ast.walk(kernel.function)]
    return [n for n in nodes if isinstance(n, ast.Call) and called(n) in MASKS]


def _named(call: ast.Call, name: str) -> str:
    """An argument of an access as it is written, by its name or at its place; "" without one."""
    mask = MASKS[called(call)]
    places = {"mask": mask, "other": mask + 1 if called(call) == "load" else len(call.args)}
    named = next((k.value for k in call.keywords if k.arg == name), None)
    if named is None and places[name] < len(call.args):
        named = call.args[places[name]]
    return "" if named is None else ast.unparse(named)
