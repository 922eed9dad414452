"""Stand-ins for packages that are not installed, so that a module that imports them at its top can be executed.

A stand-in has every attribute, can be called, and is false; a kernel that really uses one does not compile.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, MutableSequence, Sequence
from types import ModuleType
from typing import Any


class _Anything:
    """Something of a package that is not there."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(f"{self.__name__}.{name}")

    def __call__(self, *arguments: Any, **_options: Any) -> Any:
        # Used as a decorator it must leave the function alone.
        return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else self

    def __mro_entries__(self, _bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,)

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __getitem__(self, _index: Any) -> Any:
        return self

    def __lt__(self, _other: Any) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __or__(self, _other: Any) -> Any:
        return self

    __ror__ = __or__


class _StandIn(ModuleType):
    __path__: MutableSequence[str] = []  # noqa: RUF012
    __version__ = "0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(f"{self.__name__}.{name}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, packages: frozenset[str]) -> None:
        self._packages = packages

    def find_spec(
        self, fullname: str, _path: Any = None, _target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.split(".")[0] not in self._packages:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute."""


def stand_in_for(packages: Sequence[str]) -> None:
    """Let imports of these packages succeed where they are not installed; what is installed is used."""
    sys.meta_path.append(_Finder(frozenset(packages)))
