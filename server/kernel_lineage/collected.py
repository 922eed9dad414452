"""What the modules of a package declare, collected without a hand-kept list: a new file is enough."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import TypeVar

Declared = TypeVar("Declared")


def declared_in(package: ModuleType, name: str, kind: type[Declared]) -> tuple[Declared, ...]:
    """The values of that name and kind, one a module, in the order of the modules' names; others declare none."""
    modules = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    values = (
        getattr(importlib.import_module(f"{package.__name__}.{module}"), name, None) for module in modules
    )
    return tuple(value for value in values if isinstance(value, kind))
