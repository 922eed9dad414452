"""An image: device code of one program, as a compiler made it."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Image:
    """Device code of one program, as a child process compiled it."""

    entry: str
    """Mangled name."""
    ptx: str
    cubin: bytes | None = None
    """None when only PTX was asked for (the emulated device)."""
    arch: str = "sm_80"
    block_threads: int | None = None
    """Triton: 32 × num_warps, fixed by the compilation."""
    shared_bytes: int = 0
    """Dynamic shared memory that the image needs in addition to the launch's own (Triton's `metadata.shared`)."""
    parameters: tuple[str, ...] | None = None
    """Triton: the names of the arguments that the image still takes; constants were folded away."""
    extra_pointers: int = 0
    """Triton: trailing scratch pointers (global and profile scratch) that are passed as null."""
    scratch_bytes: int = 0
    """Triton: global scratch memory of one block of the grid; the first of the extra pointers is to all of it."""
    registers: int | None = None
    spill_bytes: int | None = None
    static_shared_bytes: int | None = None
    log: str = ""
    arrays: Mapping[str, frozenset[tuple[int, ...]]] = field(default_factory=dict, compare=False)
    """Shared array of the source → the extents that declarations of it have (`kernel_gate.shared_arrays`)."""

    @property
    def replicates_elements(self) -> bool:
        """Whether several threads may compute an element that one of them stores: Triton lays tensors out so."""
        return self.parameters is not None

    @property
    def sha256(self) -> str:
        """The hash of the PTX's code, without the folders, lines and times that its debug information names."""
        code = re.sub(r"^\s*\.section\s+\.debug_\w+\s*\{[^}]*\}", "", self.ptx, flags=re.MULTILINE)
        code = re.sub(r"^\s*\.(file|loc)\b.*$\n?", "", code, flags=re.MULTILINE)
        code = re.sub(r"^\$L__(tmp|func_\w+?)\d+:$\n?", "", code, flags=re.MULTILINE)
        return hashlib.sha256(code.encode()).hexdigest()


def image_from_json(data: dict[str, Any]) -> Image:
    """The image that a child sent."""
    cubin = base64.b64decode(data["cubin"]) if data["cubin"] is not None else None
    parameters = tuple(data["parameters"]) if data["parameters"] is not None else None
    return Image(**{**data, "cubin": cubin, "parameters": parameters})


def image_to_json(image: Image) -> dict[str, Any]:
    """An image as JSON."""
    data = dataclasses.asdict(dataclasses.replace(image, arrays={}))
    return {**data, "cubin": base64.b64encode(image.cubin).decode() if image.cubin is not None else None}
