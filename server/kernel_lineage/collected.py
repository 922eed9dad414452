"""What the modules of a package declare, collected without a hand-kept list: a new file is enough."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import TypeVar

Declared = TypeVar("Declared")


def declared_by_name(package: ModuleType, name: str, kind: type[Declared]) -> dict[str, Declared]:
    """The values of that name and kind, each by the name of its module, in the order of these; others declare none."""
    modules = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    values = {m: getattr(importlib.import_module(f"{package.__name__}.{m}"), name, None) for m in modules}
    return {module: value for module, value in values.items() if isinstance(value, kind)}


def declared_in(package: ModuleType, name: str, kind: type[Declared]) -> tuple[Declared, ...]:
    """The values of `declared_by_name`, in the same order."""
    return tuple(declared_by_name(package, name, kind).values())
