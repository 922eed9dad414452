"""PTX of a kernel's instances → what the emulated device knows of it."""

from __future__ import annotations

import re
from collections import Counter
from typing import TypeAlias

from kernel_gate.build.errors import CompilerMissing
from kernel_gate.emulated.coverage import cover
from kernel_gate.emulated.ptx.model import PtxError
from kernel_lineage.coverage.document import KernelCovered
from kernel_lineage.kernels.source import Kernel

Images: TypeAlias = "list[tuple[str, str]]"
"""(PTX, mangled name of the kernel)."""
_PLACE = re.compile(r"^[^\s:]+(?::\d+)?: ")
_TRITON_PLACE = re.compile(r"at \d+:\d+:?\Z")
_FOLDER = re.compile(r" \(/[^)]*\)")
_QUOTED_PLACE = re.compile(r"(?:at line|line) \d+|0x[0-9a-f]+")


def covered(file: str, kernel: Kernel, images: Images | Exception) -> KernelCovered:
    """The row of one kernel."""
    head = {
        "file": file,
        "kernel": kernel.name,
        "line": kernel.name_span.first_line,
        "language": str(kernel.language),
    }
    if isinstance(images, Exception):
        lacks = isinstance(images, CompilerMissing)
        why = str(images) if lacks else reason_in(images)
        return KernelCovered(**head, compiled=False, decoded=False, reason=why)
    missing: Counter[str] = Counter()
    instructions = 0
    for ptx, entry in images:
        try:
            mine = cover(ptx, entry)
        except PtxError as error:
            missing[f"not read: {error}"] += 1
            continue
        for one in mine:
            missing += one.unsupported
            instructions += one.instructions
    return KernelCovered(
        **head,
        compiled=True,
        decoded=not missing,
        instances=len(images),
        instructions=instructions,
        unsupported=dict(missing.most_common()),
    )


def reason_in(error: Exception) -> str:
    """What a message says, without places and paths, so that equal reasons are counted together."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Triton begins with a place and its source, and says what is wrong in the end.
    text = (lines[-1] if _TRITON_PLACE.match(lines[0]) else lines[0]) if lines else type(error).__name__
    return _QUOTED_PLACE.sub("…", _FOLDER.sub("", _PLACE.sub("", text)))[:160]
