"""Where a repository uses a kernel's module: its tests, benchmarks and scripts, and the sizes they are written for.

A module tries itself as well: by tests that it holds, and by what it does when it is run as a script.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_lineage.workloads.triton.host_modules import HostModule, defaults_of, names_of
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton.published_inputs import published_calls

_TEST = re.compile(r"(^|_)(tests?|bench(marks?)?)(_|$)")
_TRIES = re.compile(r"(^|\.|_)(tests?|bench\w*)(_|$)", re.IGNORECASE)
_STEPS_AWAY = 3
"""How many modules may lie between a test and the kernel's module."""


_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True)
class Usage:
    """One function that tries a kernel's module, or the code of a script outside of its functions."""

    module: HostModule
    function: ast.FunctionDef
    of: str = ""
    """The class that it is a method of."""

    @property
    def name(self) -> str:
        """`test_rows in test_rows.py`; the file alone for its script."""
        file = self.module.path.name
        return f"{self.function.name} in {file}" if self.function.name else file


def usages_of(module: HostModule, modules: Modules) -> tuple[tuple[Usage, ...], dict[str, tuple[float, str]]]:
    """The tests and benchmarks that import a module, directly or by modules between; and numbers by name.

    The numbers are the defaults of parameters of those who use the module, each with where it stands.
    """
    users: dict[Path, HostModule] = {}
    nearest: dict[Path, HostModule] = {modules.stood_for(module.path): module}
    for _ in range(_STEPS_AWAY):
        importers = _importing(nearest, modules)
        nearest = {p: m for p, m in importers.items() if p not in users and p != module.path}
        users.update(nearest)
        nearest = {p: m for p, m in nearest.items() if not is_test(p)}
        if any(is_test(p) for p in users) and len(users) > 12:
            break
    tests = [m for p, m in users.items() if is_test(p)]
    stems = {module.path.stem, module.path.stem.removesuffix("_kernels").removeprefix("_")}
    tests.sort(key=lambda m: (not any(s in m.path.stem for s in stems), len(m.path.stem), str(m.path)))
    defaults: dict[str, tuple[float, str]] = {}
    for user in (module, *(m for p, m in users.items() if not is_test(p))):
        for name, function in user.functions.items():
            for parameter, number in _number_defaults(function):
                defaults.setdefault(parameter, (number, f"{name} in {user.path.name}"))
    usages = tries_of(tests)
    plain = [module, *(m for p, m in users.items() if not is_test(p))]
    usages += [Usage(*call) for m in plain for call in published_calls(m, modules)]
    usages += [u for m in plain for u in _alone(m)]
    return tuple(usages), defaults


def tries_of(tests: Sequence[HostModule]) -> list[Usage]:
    """What modules of tests have: functions that try others by their names, other functions, scripts."""
    usages = [u for m in tests for u in _of_module(m)]
    usages.sort(key=lambda u: not _TRIES.search(u.function.name))
    return usages + [Usage(m, script) for m in tests if (script := _script(m)) is not None]


def _alone(module: HostModule) -> Iterator[Usage]:
    """What tries others in a module that is no test: functions by their names, others that need nothing, its script."""
    if is_test(module.path):
        return
    functions = [f for name, f in module.functions.items() if "." not in name and not _is_kernel(f)]
    tries = [f for f in functions if _TRIES.search(f.name)]
    needless = [f for f in functions if f not in tries and not _asked_for(f.args)]
    yield from (Usage(module, f) for f in (*tries, *needless))
    script = _script(module)
    if script is not None:
        yield Usage(module, script)


def _is_kernel(function: ast.FunctionDef) -> bool:
    return any("jit" in ast.unparse(d) for d in function.decorator_list)


def _asked_for(arguments: ast.arguments) -> bool:
    """Whether a function has to be given something."""
    return len(names_of(arguments)) > len(defaults_of(arguments))


def _script(module: HostModule) -> ast.FunctionDef | None:
    """The statements of a module outside of its functions, as a function without a name, or None."""
    body = [s for s in module.tree.body if not isinstance(s, _DEFINES)]
    if not any(isinstance(n, ast.Call) for s in body for n in ast.walk(s)):
        return None
    nothing = ast.arguments([], [], None, [], [], None, [])
    return ast.FunctionDef("", nothing, body, [], lineno=1, col_offset=0)


def _of_module(module: HostModule) -> Iterator[Usage]:
    for name, function in module.functions.items():
        of, _, last = name.rpartition(".")
        if not of or (last.startswith(("test", "bench")) and of in module.classes):
            yield Usage(module, function, of)


def is_test(path: Path) -> bool:
    """Whether a file tries others, by its name."""
    return bool(_TEST.search(path.stem)) or path.stem == "conftest"


def _importing(wanted: Mapping[Path, HostModule], modules: Modules) -> dict[Path, HostModule]:
    """The files that import a name which one of some modules defines."""
    names = {
        n
        for m in wanted.values()
        for n in (*m.functions, *m.classes, *_other_names(m))
        if "." not in n and not n.startswith("__")
    }
    importers: dict[Path, HostModule] = {}
    paths = {m.path for m in wanted.values()}
    for _ in range(_STEPS_AWAY):
        names |= _renamed(names, paths, modules)
    for path in modules.mentioning(frozenset(n.encode() for n in names)):
        if path in wanted or path.name == "__init__.py":
            continue
        module = modules.read(path)
        if module is not None and any(
            not paths.isdisjoint(_defining(module, local, names, modules))
            for local in (*module.imports, *(names if module.stars else ()))
        ):
            importers[path] = module
    return importers


def _renamed(names: Collection[str], paths: Collection[Path], modules: Modules) -> set[str]:
    """What packages call some names of modules besides, `from .ops import rows_sum as total`."""
    packages = (
        p for p in modules.mentioning(frozenset(n.encode() for n in names)) if p.name == "__init__.py"
    )
    read = (module for path in packages if (module := modules.read(path)) is not None)
    return {
        local
        for module in read
        for local, (_, inner) in module.imports.items()
        if inner in names
        and local not in names
        and any(there in paths for there in _defining(module, local, names, modules))
    }


def _defining(module: HostModule, local: str, names: Collection[str], modules: Modules) -> Iterator[Path]:
    """The file that an imported name comes from, or that is imported by it, and where this takes some names from."""
    place = modules.defining(module, local)
    whole = modules.module_named(module, local) if place is None else place[0]
    if whole is None:
        return
    yield whole.path
    if place is None:
        uses = (n for n in ast.walk(module.tree) if isinstance(n, ast.Attribute) and n.attr in names)
        for dotted in {ast.unparse(node) for node in uses}:
            first, *between, name = dotted.split(".")
            inner = modules.at(module, ".".join((module.imports[local][0], *between))) if between else whole
            if first == local and inner is not None and (there := modules.defining(inner, name)) is not None:
                yield there[0].path


def _other_names(module: HostModule) -> Iterator[str]:
    """What a module calls its own functions and classes besides: `rows = Rows.apply`."""
    for name, value in module.values.items():
        of = value.value if isinstance(value, ast.Attribute) else value
        if isinstance(of, ast.Name) and (of.id in module.functions or of.id in module.classes):
            yield name


def _number_defaults(function: ast.FunctionDef) -> Iterator[tuple[str, float]]:
    for name, default in defaults_of(function.args).items():
        if isinstance(default, ast.Constant) and isinstance(default.value, (int, float)):
            yield name, default.value
