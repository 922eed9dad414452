"""Where a repository launches a Triton kernel: in its own module, or in one that imports it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_lineage.workloads.triton.host_modules import HostModule, launched_in, names_in
from kernel_lineage.workloads.triton.modules import Modules


@dataclass(frozen=True, slots=True)
class Site:
    """A function that launches the kernel."""

    module: HostModule
    launcher: str
    """`forward`, or `Class.forward`."""


def sites_of(kernel: str, own: HostModule, modules: Modules) -> tuple[Site, ...]:
    """The functions that launch a kernel, those of its own module first."""
    found = [Site(own, name) for name in _launchers(kernel, own)]
    if not found:
        for path in modules.mentioning(frozenset([kernel.encode()])):
            module = modules.read(path) if path != own.path else None
            if module is not None:
                place = modules.defining(module, kernel)
                if place is not None and place[0].path == own.path:
                    found += [Site(module, name) for name in _launchers(kernel, module)]
    return tuple(found)


def _launchers(kernel: str, module: HostModule) -> Iterator[str]:
    """The functions in which a kernel is launched by its name, or named where another name is launched."""
    for name, function in module.functions.items():
        launched = launched_in(function)
        if kernel in launched or (launched and kernel in names_in(function)):
            yield name


def standing_in(own: HostModule, modules: Modules) -> Iterator[tuple[Path, Modules]]:
    """The modules that define the same functions and classes as one that nobody imports, and how to read their users.

    Repositories that choose between implementations for several devices at run time have such modules: a test imports
    one of them, and gets the other.
    """
    public = {n for n in (*own.functions, *own.classes) if "." not in n and not n.startswith("_")}
    found: list[tuple[int, int, Path]] = []
    for path in modules.mentioning(frozenset(n.encode() for n in public)) if public else ():
        module = modules.read(path) if path.name == own.path.name and path != own.path else None
        shared = public & {*module.functions, *module.classes} if module is not None else set()
        if shared:
            found.append((-len(shared), len(path.parts), path))
    for _, _, path in sorted(found):
        yield path, replace(modules, instead={path: own.path}, concluded={})
