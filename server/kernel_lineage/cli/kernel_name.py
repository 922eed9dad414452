"""The names of kernels as a command line has them: `scale`, `mylib::detail::scale`, `scale<float, 4>`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernel_lineage.kernels.cuda_text import at_commas


@dataclass(frozen=True, slots=True)
class KernelName:
    """A kernel's name with the namespaces that were written, and the template arguments."""

    name: str
    template_arguments: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> KernelName:
        """The parts of a name."""
        name, bracket, inner = text.strip().partition("<")
        arguments = at_commas(inner.rstrip().removesuffix(">")) if bracket else ()
        return cls(name.strip(), arguments)


def only_kernel(path: Path) -> str | None:
    """The name of the one kernel of a file; None where there are none or several. Raises `ProgramError`."""
    from kernel_lineage.workloads.files import source_of

    kernels = source_of(path).kernels
    return kernels[0].name if len(kernels) == 1 else None


def whole_target(target: str) -> str:
    """`FILE:KERNEL` of a target that names a file alone, where that has one kernel; other targets as they are.

    Raises `MisnamedError` for a file of several kernels, and `ProgramError` for one that cannot be read.
    """
    from kernel_lineage.kernels.naming import MisnamedError
    from kernel_lineage.workloads.files import source_of

    path = Path(target)
    if not path.is_file():
        return target
    names = [kernel.name for kernel in source_of(path).kernels]
    if len(names) == 1:
        return f"{target}:{names[0]}"
    choice = " or ".join(f"{target}:{name}" for name in names[:3]) or f"{target} has none"
    raise MisnamedError(f"`{target}` names no kernel; write FILE:KERNEL: {choice}")
