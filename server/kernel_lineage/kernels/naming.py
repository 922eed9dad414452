"""Kernels by the names that people write: `transpose`, `detail::transpose`, `layernorm<float, 4>`, or a line."""

from __future__ import annotations

import re

from kernel_lineage.kernels.namesakes import namespaces_around, told_apart
from kernel_lineage.kernels.source import Kernel, SourceFile

_TARGET = re.compile(r"(.+?\.\w+):(?!:)(.+)", re.DOTALL)
_TWO_COLONS = re.compile(r"([^:]+?\.\w+)::+([^:].*)", re.DOTALL)


class MisnamedError(ValueError):
    """A text that is not `FILE:KERNEL`; the message says what to write."""


def parted(target: str) -> tuple[str, str]:
    """The file and the kernel of `FILE:KERNEL`. Raises `MisnamedError`."""
    match = _TARGET.fullmatch(target)
    if match is not None:
        return match[1], match[2]
    if (match := _TWO_COLONS.fullmatch(target)) is not None:
        raise MisnamedError(
            f"`{target}` has two colons between file and kernel; write one: {match[1]}:{match[2]}"
        )
    file, _, name = target.rpartition(":")
    if not file or not name:
        raise MisnamedError(
            f"`{target}` names no kernel; write FILE:KERNEL, such as rmsnorm.cu:rmsnorm_forward."
        )
    return file, name


def kernel_as_written(source: SourceFile, name: str) -> Kernel | None:
    """The kernel that a person means: by its name, with namespaces and template arguments or without, or by a line."""
    if (exact := source.kernel(name)) is not None:
        return exact
    if name.isdigit():
        line = int(name)
        return next((k for k in source.kernels if k.span.first_line <= line <= k.span.last_line), None)
    plain = name.split("<")[0].strip().removeprefix("::")
    named = [k for k in source.kernels if k.name == plain.rsplit("::", 1)[-1]]
    return next((k for k in named if f"::{qualified_name(k)}".endswith(f"::{plain}")), None)


def earlier_namesake(kernel: Kernel) -> str | None:
    """That a kernel above has the same name, for people; None where none has. A workload and the gate mean that one."""
    first = kernel.source.kernel(kernel.name) if kernel.source is not None else None
    if first is None or first.span == kernel.span:
        return None
    return (
        f"`{kernel.name}` means the kernel of that name at line {first.span.first_line}; "
        "the gate tells kernels apart by their names, so give this one another"
    )


def own_name(kernel: Kernel) -> str:
    """The name by which a workload and the gate mean a kernel; "" below another of its name."""
    return "" if earlier_namesake(kernel) is not None else kernel.name


def qualified_name(kernel: Kernel) -> str:
    """A kernel's name with the namespaces around it, as a compiler finds it."""
    return "::".join((*(namespaces_around(kernel.node) if kernel.node is not None else ()), kernel.name))


def kernel_apart(source: SourceFile, name: str) -> Kernel | None:
    """The kernel that a person means, in the file in which no other one has its name (`told_apart`)."""
    apart, kernel = told_apart(source), kernel_as_written(source, name)
    if apart is source:
        return kernel
    if kernel is None:
        return kernel_as_written(apart, name)
    return next(a for k, a in zip(source.kernels, apart.kernels, strict=True) if k is kernel)
