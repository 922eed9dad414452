"""What the modules of a package declare, collected without a hand-kept list: a new file is enough."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    class _WithId(DataclassInstance, Protocol):
        @property
        def id(self) -> str: ...


Declared = TypeVar("Declared", bound="_WithId")


def declared_in(package: ModuleType, name: str, kind: type[Declared]) -> Mapping[str, Declared]:
    """The values of that name and kind, one a module, in the order of the modules' names; others declare none.

    Each stands under the name of its module, which becomes its `id`.
    """
    modules = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    values = {m: getattr(importlib.import_module(f"{package.__name__}.{m}"), name, None) for m in modules}
    return MappingProxyType(
        {m: replace(value, id=m) for m, value in values.items() if isinstance(value, kind)}
    )
