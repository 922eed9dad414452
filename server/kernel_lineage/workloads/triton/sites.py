"""Where a repository launches a Triton kernel: in its own module, or in one that imports it."""

from __future__ import annotations

import ast
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
    """The functions that launch a kernel, those of its own module first.

    Where no function launches it by its name, those that hand it on: to a helper that launches what it is given.
    """
    for leads in (_launches, _hands_on):
        for held in ((own,), _users_of(kernel, own, modules)):
            sites = [
                Site(m, name)
                for m in held
                for names in [_names_of(kernel, m)]
                for name, f in m.functions.items()
                if leads(f, names)
            ]
            if sites:
                return tuple(sites)
    return ()


def _users_of(kernel: str, own: HostModule, modules: Modules) -> Iterator[HostModule]:
    """The other modules in which the kernel's name stands for it: their own name, or one that they import."""
    for path in modules.mentioning(frozenset([kernel.encode()])):
        module = modules.read(path) if path != own.path else None
        place = modules.defining(module, kernel) if module is not None else None
        if module is not None and (
            (place is not None and place[0].path == own.path) or _imports(module, own, modules)
        ):
            yield module


def _imports(module: HostModule, own: HostModule, modules: Modules) -> bool:
    """Whether a module imports another one whole."""
    named = (modules.module_named(module, name) for name in module.imports)
    return any(imported is not None and imported.path == own.path for imported in named)


def _names_of(kernel: str, module: HostModule) -> frozenset[str]:
    """What a module calls a kernel: its name, and those of the tables and wrappers that hold it."""
    return frozenset([kernel, *(name for name, value in module.values.items() if kernel in names_in(value))])


def _launches(function: ast.FunctionDef, names: frozenset[str]) -> bool:
    """Whether a function launches a kernel by one of its names, or names it where another name is launched."""
    launched = launched_in(function)
    return bool(launched & names) or bool(launched and names & names_in(function))


def _hands_on(function: ast.FunctionDef, names: frozenset[str]) -> bool:
    """Whether a function names a kernel, and is none itself."""
    jitted = any("jit" in names_in(d) for d in function.decorator_list)
    return not jitted and bool(names & names_in(function))


def standing_in(own: HostModule, modules: Modules) -> Iterator[tuple[Path, Modules]]:
    """The modules that define the same functions and classes as one that nobody imports, and how to read their users.

    Repositories that choose between implementations for several devices at run time have such modules: a test imports
    one of them, and gets the other.
    """
    public = {n for n in (*own.functions, *own.classes) if "." not in n and not n.startswith("_")}
    candidates: list[tuple[int, int, Path]] = []
    for path in modules.mentioning(frozenset(n.encode() for n in public)) if public else ():
        module = modules.read(path) if path.name == own.path.name and path != own.path else None
        shared = public & {*module.functions, *module.classes} if module is not None else set()
        if shared:
            candidates.append((-len(shared), len(path.parts), path))
    for _, _, path in sorted(candidates):
        yield path, replace(modules, instead={path: own.path}, concluded={})
