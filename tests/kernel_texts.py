"""Kernels of texts that tests write."""

from __future__ import annotations

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language


def kernel_in_text(text: str | bytes, name: str, language: Language = Language.CUDA) -> Kernel:
    """The kernel of a name, which the text must have."""
    kernel = read(text.encode() if isinstance(text, str) else text, language).kernel(name)
    assert kernel is not None
    return kernel
