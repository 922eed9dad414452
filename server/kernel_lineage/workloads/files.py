"""A kernel, or a host function that launches some, by its file and its name; or an error that says what there is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kernel_gate.files.reading import read_file
from kernel_lineage.kernels.naming import earlier_namesake, kernel_apart
from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.source import Kernel, Language, SourceFile
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.program_errors import ProgramError, UnknownKernelError
from kernel_lineage.workloads.triton.host_modules import launched_from, module_of

_MOST_SOURCES = 24
"""Files that are kept as they were read: the same one is in many states of a repository."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """A host function of a file, and the kernels of the file that it launches."""

    name: str
    kernels: tuple[Kernel, ...]
    source: SourceFile


Target = Kernel | Launcher
"""What a workload is drafted for."""


def source_of(path: Path, data: bytes | None = None, called: str = "") -> SourceFile:
    """What a file holds. `called` is its name in messages. Raises `ProgramError`."""
    called = called or str(path)
    try:
        data = read_file(path) if data is None else data
    except OSError as error:
        raise ProgramError(f"{called} cannot be read: {error.strerror}") from error
    language = language_of(str(path), data)
    if language is None:
        raise ProgramError(f"{called} holds no kernels: it is neither CUDA C++ nor Triton")
    return _read(called, data, language)


@lru_cache(maxsize=_MOST_SOURCES)
def _read(_called: str, data: bytes, language: Language) -> SourceFile:
    # By its name too: what one file of a state defines is not what another one of the same text does.
    return read(data, language)


def kernel_in(source: SourceFile, name: str, called: str) -> Kernel:
    """The kernel of that name. Raises `ProgramError`, which names the file's kernels."""
    kernel = kernel_apart(source, name)
    if kernel is None:
        names = ", ".join(k.name for k in source.kernels) or "none"
        raise UnknownKernelError(f"{called} has no kernel `{name}`; its kernels: {names}")
    if source.language is Language.CUDA and (namesake := earlier_namesake(kernel)) is not None:
        raise ProgramError(f"{called}: {namesake}")
    return kernel


def target_in(source: SourceFile, name: str, called: str) -> Target:
    """The kernel of that name, or the host function that launches some. Raises `ProgramError` as `kernel_in` does."""
    if source.kernel(name) is None:
        launched = launched_by(source, name)
        if launched:
            return Launcher(name, tuple(k for k in source.kernels if k.name in launched), source)
    return kernel_in(source, name, called)


def launched_by(source: SourceFile, function: str) -> frozenset[str]:
    """The names of the kernels that a host function of a file launches; none for what is no host function."""
    if source.language is Language.CUDA:
        return frozenset(unit_of(source.data.decode("utf-8", "replace")).launched_by(function))
    module = module_of(Path(), source.module) if source.module is not None else None
    is_host = module is not None and function in module.functions
    return launched_from(function, module) if module is not None and is_host else frozenset()


def callers_of(kernel: str, source: SourceFile) -> list[str]:
    """The functions of a Python file that launch a Triton kernel, themselves or through others of the file."""
    if source.module is None:
        return []
    module = module_of(Path(), source.module)
    own = {k.name for k in source.kernels}
    names = (name for name in module.functions if name not in own and not name.startswith("test"))
    return [name for name in names if kernel in launched_from(name, module)]


def kernel_of(path: Path, name: str, data: bytes | None = None) -> Kernel:
    """The kernel of a file. Raises `ProgramError`, which names the file's kernels."""
    return kernel_in(source_of(path, data), name, str(path))


def target_of(path: Path, name: str) -> Target:
    """The kernel or the launcher of a file. Raises `ProgramError`, which names the file's kernels."""
    return target_in(source_of(path), name, str(path))


def data_of(target: Target) -> bytes:
    """The text of the target's file. Raises `ProgramError` where it was not kept."""
    if target.source is None:
        raise ProgramError(f"the file of {target.name} was not kept; read it again")
    return target.source.data
