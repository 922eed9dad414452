"""Kernels by the names that people write: `transpose`, `detail::transpose`, `layernorm<float, 4>`, or a line."""

from __future__ import annotations

import re

from kernel_lineage.kernels.namesakes import namespaces_around, told_apart
from kernel_lineage.kernels.overloads import names_apart, without_overloads
from kernel_lineage.kernels.source import Kernel, Language, SourceFile

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
    first = _earlier(kernel)
    if first is None:
        return None
    name = own_name(kernel)
    able = (
        f"this one can be checked as {name}, and changed once it" if name else "this one is checked once it"
    )
    return f"`{kernel.name}` means the kernel of that name at line {first.span.first_line}; {able} has another name"


def _earlier(kernel: Kernel) -> Kernel | None:
    first = kernel.source.kernel(kernel.name) if kernel.source is not None else None
    return None if first is None or first.span == kernel.span else first


def own_name(kernel: Kernel) -> str:
    """The name by which a workload and the gate mean a kernel: `scale_2` is the second one of its name.

    "" for a Triton kernel below another of its name, which Python does not tell apart either.
    """
    source = kernel.source
    if source is None or _earlier(kernel) is None:
        return kernel.name
    if source.language is not Language.CUDA:
        return ""
    place = next(i for i, k in enumerate(source.kernels) if k.span == kernel.span)
    return names_apart(told_apart(source))[place]


def qualified_name(kernel: Kernel) -> str:
    """A kernel's name with the namespaces around it, as a compiler finds it."""
    return "::".join((*(namespaces_around(kernel.node) if kernel.node is not None else ()), kernel.name))


def kernel_apart(source: SourceFile, name: str) -> Kernel | None:
    """The kernel that a person means, in the text in which no other one has its name."""
    apart, kernel = told_apart(source), kernel_as_written(source, name)
    if kernel is None:
        kernel, source = kernel_as_written(apart, name), apart
    place = next((i for i, k in enumerate(source.kernels) if k is kernel), None)
    if place is None:
        names = names_apart(apart)
        place = names.index(name) if name in names else None
    return without_overloads(apart, place) if place is not None else None
