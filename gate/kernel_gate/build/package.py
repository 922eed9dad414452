"""A program's module inside its package, imported in the compiler child from texts that came with the request."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from kernel_gate.build.errors import BuildError
from kernel_gate.program import Program

_ALONE = "gated_program"


def _module_path(program: Program) -> str:
    """Where the program's own text goes: `liger_kernel/ops/rms_norm.py`, or a name of its own outside of packages."""
    return program.module or f"{_ALONE}.py"


def write_package(program: Program, folder: Path) -> Path:
    """The program and its siblings as files below `folder`; the program's own file. Raises `BuildError`."""
    inside = folder.resolve()
    for path, text in {**program.includes, _module_path(program): program.source}.items():
        target = (folder / path).resolve()
        if not target.is_relative_to(inside) or not path.endswith(".py"):
            raise BuildError(
                f"{program.name or program.entry}: the module {path!r} leaves the program's folder"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    return folder / _module_path(program)


class _Package(ModuleType):
    """A package whose `__init__` runs when something asks it for a name, and not just because a module lies below."""

    def __getattr__(self, name: str) -> Any:
        init = self.__dict__.pop("_init", None)
        if init is None or (name.startswith("__") and name.endswith("__")):
            if init is not None:
                self._init = init
            raise AttributeError(name)
        exec(compile(init.read_text("utf-8"), str(init), "exec"), self.__dict__)  # noqa: S102 - in the child
        return getattr(self, name)


def import_module(program: Program, folder: Path) -> ModuleType:
    """The program's module. Whatever the program raises goes to the caller."""
    dotted = PurePosixPath(_module_path(program)).with_suffix("").parts
    sys.path.insert(0, str(folder))
    for depth in range(1, len(dotted)):
        name = ".".join(dotted[:depth])
        place = folder.joinpath(*dotted[:depth])
        package = _Package(name)
        package.__path__ = [str(place)]
        package.__package__ = name
        package.__file__ = str(place / "__init__.py")
        package.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        if (place / "__init__.py").is_file():
            package._init = place / "__init__.py"  # noqa: SLF001 - its own field
        sys.modules[name] = package
        if depth > 1:
            setattr(sys.modules[".".join(dotted[: depth - 1])], dotted[depth - 1], package)
    return importlib.import_module(".".join(dotted))
