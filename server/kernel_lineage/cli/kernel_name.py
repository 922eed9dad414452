"""The names of kernels as a command line has them: `scale`, `mylib::detail::scale`, `scale<float, 4>`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class KernelName:
    """A kernel's own name, and the template arguments that were named with it."""

    bare: str
    template_arguments: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> KernelName:
        """The parts of a name; namespaces are read from the file."""
        name, bracket, inner = text.strip().partition("<")
        arguments = _arguments(inner.rstrip().removesuffix(">")) if bracket else ()
        return cls(name.strip().rsplit("::", 1)[-1], arguments)


def _arguments(text: str) -> tuple[str, ...]:
    """Template arguments, split at the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "(<[{") - (character in ")>]}")
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return tuple(part.strip() for part in parts if part.strip())


def only_kernel(path: Path) -> str | None:
    """The name of the one kernel of a file; None where there are none or several. Raises `ProgramError`."""
    from kernel_lineage.workloads.files import source_of

    kernels = source_of(path).kernels
    return kernels[0].name if len(kernels) == 1 else None
