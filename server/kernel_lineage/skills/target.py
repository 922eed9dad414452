"""A kernel as a person names it: `FILE` or `FILE:KERNEL`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernel_gate.files.reading import read_file
from kernel_lineage.kernels.naming import MisnamedError, kernel_apart, kernel_as_written, parted
from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.source import Kernel, SourceFile


class TargetError(Exception):
    """The file or kernel cannot be used; the message says why and what there is."""


@dataclass(frozen=True, slots=True)
class Target:
    """A file as read, and the kernels of it that are meant."""

    path: Path
    source: SourceFile
    kernels: tuple[Kernel, ...]


def read_target(text: str) -> Target:
    """The kernels that `FILE[:KERNEL]` names; problems in the file are in `source.problems`. Raises `TargetError`."""
    path, name = Path(text), None
    if not path.exists() and ":" in text:
        try:
            file, name = parted(text)
        except MisnamedError as error:
            raise TargetError(str(error)) from None
        path = Path(file)
    try:
        data = read_file(path)
    except OSError as error:
        raise TargetError(f"{path}: cannot be read: {error.strerror}") from None
    language = language_of(path.name, data)
    if language is None:
        raise TargetError(f"{path}: holds no kernels (CUDA C++ with __global__, or Python with @triton.jit)")
    source = read(data, language)
    if not source.kernels:
        why = f": {source.problems[0].message}" if source.problems else ""
        raise TargetError(f"{path}: no kernel was found{why}")
    if name is None:
        return Target(path, source, source.kernels)
    kernel = kernel_as_written(source, name) or kernel_apart(source, name)
    if kernel is None:
        raise TargetError(
            f"{path}: no kernel `{name}`; there are {', '.join(k.name for k in source.kernels)}"
        )
    return Target(path, source, (kernel,))
