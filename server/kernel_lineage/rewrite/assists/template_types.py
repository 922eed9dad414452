"""What the type parameters of a kernel's template stand for where the file launches it."""

from __future__ import annotations

from kernel_lineage.kernels.source import Kernel


def type_parameters(kernel: Kernel) -> frozenset[str]:
    """The names of a kernel's type parameters: `T` of `template <typename T>`."""
    return frozenset(p.name for p in kernel.template_parameters if p.type is None)


def types_meant(kernel: Kernel, name: str) -> frozenset[str]:
    """The types that a type's name stands for: itself, or what the launches of the file give a type parameter.

    Empty where a launch does not tell.
    """
    if name not in type_parameters(kernel):
        return frozenset({name})
    position = [p.name for p in kernel.template_parameters].index(name)
    arguments = [launch.template_arguments[position : position + 1] for launch in kernel.launches]
    return frozenset(a for one in arguments for a in one) if all(arguments) else frozenset()
