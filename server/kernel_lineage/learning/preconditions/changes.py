"""The change that a fix makes to a kernel's code, and what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_lineage.kernels.source import Kernel


@dataclass(frozen=True, slots=True)
class CodeChange:
    """A kernel before and after a fix."""

    before: Kernel
    after: Kernel

    def adds(self, pattern: re.Pattern[str]) -> bool:
        """Whether a new line of the kernel, or of a device function that it reaches, matches: cheaper than reading."""
        old = {line.strip() for text in _texts(self.before) for line in text.splitlines()}
        new = {line.strip() for text in _texts(self.after) for line in text.splitlines()}
        return any(pattern.search(line) for line in new - old)


def _texts(kernel: Kernel) -> Iterator[str]:
    yield kernel.text
    for function in kernel.source.device_functions if kernel.source is not None else ():
        if function.name in kernel.device_functions:
            yield function.text


@dataclass(frozen=True, slots=True)
class Precondition:
    """What the code before a change needed of a launch."""

    expr: str
    """In the condition language, over the kernel's parameters as they are after the change."""
    line: int
    """The line of the kernel's file, after the change, that says it."""
