"""The kernel that a workload file is about, as far as its text tells."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_gate.files.toml import toml_of
from kernel_lineage.kernels.source import Parameter
from kernel_lineage.skills.library import repository_of
from kernel_lineage.workloads.files import source_of
from kernel_lineage.workloads.programs import ProgramError


@dataclass(frozen=True, slots=True)
class Meant:
    """What the file named by `source` has."""

    kernels: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    """The kernel's; none where there is no such kernel."""


def meant_by(path: Path, text: str) -> Meant:
    """What a workload's kernel and its file have. Reads the file; one that cannot be read has nothing."""
    about = _head(text)
    source, name = about.get("source"), about.get("kernel")
    root = repository_of(path.parent)
    if not isinstance(source, str) or not source or root is None:
        return Meant()
    place = (root / source).resolve()
    if not place.is_relative_to(root.resolve()) or not place.is_file():
        return Meant()
    try:
        source_file = source_of(place)
    except ProgramError:
        return Meant()
    kernel = source_file.kernel(name) if isinstance(name, str) else None
    names = tuple(k.name for k in source_file.kernels)
    return Meant(names, () if kernel is None else kernel.parameters)


def _head(text: str) -> dict[str, Any]:
    """The keys before the first table; what is written there even when the rest is not TOML yet."""
    head = text.partition("\n[")[0]
    try:
        return toml_of(head)
    except ValueError:
        values: dict[str, Any] = {}
        for line in head.splitlines():
            try:
                values |= toml_of(line)
            except ValueError:
                continue
        return values
