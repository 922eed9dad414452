"""CUDA launches that are given another extent of their grid or block, in the place where it is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from kernel_lineage.kernels.cuda_text import closing, split, trim
from kernel_lineage.kernels.source import Kernel, Launch, Span
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.layout import data_of
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.launch_site import LaunchError, configuration
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import constants_of


def block_extents(kernel: Kernel, launch: Launch) -> tuple[int | None, int | None, int | None]:
    """Threads of a launch's blocks along x, y and z; None for what the file does not tell as a number."""
    constants = {**constants_of(kernel), **launch.definitions}
    x, y, z = (*launch.block, "1", "1")[:3] if launch.block else ("", "", "")
    return constant(x, constants), constant(y, constants), constant(z, constants)


def launches_of(kernel: Kernel) -> tuple[Launch, ...]:
    """The launches of a kernel whose grid is to change with it. Refused where the file has none."""
    if not kernel.launches:
        raise Refusal(f"{kernel.name} is not launched in this file, and its launch has to change with it")
    return kernel.launches


def whole_warps(kernel: Kernel, launch: Launch) -> int:
    """Threads of a launch's blocks, which are whole warps along x. Refused where they are not, or not told."""
    threads, *others = block_extents(kernel, launch)
    if threads is None or threads % 32 or others != [1, 1]:
        line = launch.span.first_line
        raise Refusal(f"the launch in line {line} does not tell blocks of whole warps along x as a number")
    return threads


def change_blocks(kernel: Kernel, launch: Launch, change: Callable[[str], str]) -> Edit:
    """As `blocks_changed` along x. Refused where the blocks are not written at the launch."""
    edit = blocks_changed(kernel, launch, change)
    if edit is None:
        line = launch.span.first_line
        raise Refusal(f"the grid in line {line} is not written at the launch; write it into <<<…>>>")
    return edit


def blocks_changed(kernel: Kernel, launch: Launch, change: Callable[[str], str]) -> Edit | None:
    """An edit that puts `change(blocks)` in the place of a launch's blocks along x; None as `extent_changed`."""
    return extent_changed(kernel, launch, "grid", 0, change)


def extent_changed(
    kernel: Kernel, launch: Launch, what: Literal["grid", "block"], axis: int, change: Callable[[str], str]
) -> Edit | None:
    """An edit that puts `change(extent)` in the place of one extent of a launch's grid or block.

    The extent is written between `<<<` and `>>>`, or where the `dim3` that stands there is declared. None where it is
    not written out: behind a macro, in a `dim3` that is made elsewhere, or in one that other code uses as well.
    """
    try:
        written = configuration(kernel, launch)[0 if what == "grid" else 1]
    except LaunchError:
        return None
    data = data_of(kernel)
    if re.match(r"dim3\s*[({]", written.text):
        return _component(data, data.index(b"(", written.span.start), axis, change)
    declared = _declaration(kernel, launch, written.text)
    if declared is not None:
        return _component(data, declared, axis, change)
    own = (launch.grid if what == "grid" else launch.block)[:1] == (written.text,)
    if axis or not own or _is_dim3(kernel, launch, written.text):
        return None
    return Edit(written.span, change(_term(written.text)))


def laid_along_x(kernel: Kernel, launch: Launch, grid: str, block: str) -> list[Edit]:
    """Edits by which all blocks and threads of a launch lie along x: extents where they are written, or else both
    between `<<<` and `>>>`, as where a `dim3` stood that other code uses as well.

    Refused for a launch that is not written so.
    """
    edits = [
        extent_changed(kernel, launch, "grid", 0, lambda _: grid),
        extent_changed(kernel, launch, "grid", 1, lambda _: "1"),
        extent_changed(kernel, launch, "block", 0, lambda _: block),
        extent_changed(kernel, launch, "block", 1, lambda _: "1"),
    ]
    made = [edit for edit in edits if edit is not None]
    if len(made) == len(edits):
        return made
    try:
        places = configuration(kernel, launch)[:2]
    except LaunchError:
        line = launch.span.first_line
        raise Refusal(f"the grid and block in line {line} are not written at the launch") from None
    return [Edit(place.span, text) for place, text in zip(places, (grid, block), strict=True)]


def _component(data: bytes, opening: int, axis: int, change: Callable[[str], str]) -> Edit | None:
    """An edit of one argument of the list that opens there."""
    end = closing(data, opening)
    parts = split(data, opening + 1, end) if end is not None else []
    if axis >= len(parts):
        return None
    start, stop = trim(data, *parts[axis])
    line = data.count(b"\n", 0, start) + 1
    text = data[start:stop].decode("utf-8", "replace")
    return Edit(Span(start, stop, line, line + text.count("\n")), change(_term(text)))


def _declaration(kernel: Kernel, launch: Launch, name: str) -> int | None:
    """Where the arguments of a `dim3` open that only this launch uses; None when there is no such declaration."""
    place = launch.launcher_span
    if place is None or not WORD.fullmatch(name):
        return None
    text = data_of(kernel)[place.start : place.end].decode("latin-1")
    declared = list(re.finditer(rf"\bdim3\s+(?:[^;{{}}]*\)\s*,\s*)?{name}\s*\(", text))
    used = re.findall(rf"\b{name}\b", text)
    if len(declared) != 1 or len(used) != 2:
        return None
    return place.start + declared[0].end() - 1


def _is_dim3(kernel: Kernel, launch: Launch, grid: str) -> bool:
    """Whether a grid may be a `dim3`: so is a name that the file declares as one, anywhere."""
    declared = rf"\bdim3\b[\s&]*(?:const\b[\s&]*)?(?:\w+[^;,()]*,\s*)*{re.escape(grid)}\b"
    text = data_of(kernel).decode("utf-8", "replace")
    return "dim3" in launch.definitions.get(grid, "") or re.search(declared, text) is not None


def _term(text: str) -> str:
    return text if re.fullmatch(r"\w+|\w+\([^()]*\)", text) else f"({text})"
