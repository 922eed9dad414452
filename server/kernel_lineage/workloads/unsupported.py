"""Kernels that no workload can say how to run, with the line that says so: nothing is read or run for them."""

from __future__ import annotations

import re

from kernel_lineage.kernels.cuda_text import blank_literals
from kernel_lineage.kernels.source import Kernel, Language

_TEXTURE = (
    r"\b(?:tex(?:1D|2D|3D|Cubemap)\w*|surf(?:1D|2D|3D|Cubemap)\w*)\s*[<(]|\bcuda(?:Texture|Surface)Object_t\b"
)
_CLUSTER = r"\b__cluster_dims__\b|\bthis_cluster\s*\(|\bmap_shared_rank\s*[<(]"
_KINDS = (
    (re.compile(_TEXTURE), "textures and surfaces are"),
    (re.compile(_CLUSTER), "clusters of blocks are"),
    (re.compile(r"\bcudaGraphConditionalHandle\b"), "conditional nodes of a graph are"),
)


def unsupported(kernel: Kernel) -> str:
    """What of a kernel, or of the functions that it calls in its file, is not supported; "" for nothing."""
    source = kernel.source
    if kernel.language is not Language.CUDA or source is None:
        return ""
    called = [f for f in source.device_functions if f.name in kernel.device_functions]
    bare = blank_literals(source.data)
    for span in (kernel.span, *(f.span for f in called)):
        text = bare[span.start : span.end].decode("utf-8", "replace")
        for pattern, what in _KINDS:
            if (match := pattern.search(text)) is not None:
                line = span.first_line + text.count("\n", 0, match.start())
                return f"line {line}: {what} not supported: a workload cannot say them"
    return ""
