"""A kernel by its file and its name, or an error that says what there is instead."""

from __future__ import annotations

from pathlib import Path

from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.source import Kernel, SourceFile
from kernel_lineage.rewrite.programs import ProgramError


def source_of(path: Path, data: bytes | None = None, called: str = "") -> SourceFile:
    """What a file holds. `called` is its name in messages. Raises `ProgramError`."""
    called = called or str(path)
    try:
        data = path.read_bytes() if data is None else data
    except OSError as error:
        raise ProgramError(f"{called} cannot be read: {error.strerror}") from error
    language = language_of(str(path), data)
    if language is None:
        raise ProgramError(f"{called} holds no kernels: it is neither CUDA C++ nor Triton")
    return read(data, language)


def kernel_in(source: SourceFile, name: str, called: str) -> Kernel:
    """The kernel of that name. Raises `ProgramError`, which names the file's kernels."""
    kernel = source.kernel(name)
    if kernel is None:
        known = ", ".join(k.name for k in source.kernels) or "none"
        raise ProgramError(f"{called} has no kernel `{name}`; its kernels: {known}")
    return kernel


def kernel_of(path: Path, name: str, data: bytes | None = None) -> Kernel:
    """The kernel of a file. Raises `ProgramError`, which names the file's kernels."""
    return kernel_in(source_of(path, data), name, str(path))
