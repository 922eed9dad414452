"""From a path and bytes to a `SourceFile`: which language a file is in, and its reading; refusals are problems."""

from __future__ import annotations

from pathlib import PurePosixPath

from kernel_lineage.kernels import cuda, triton
from kernel_lineage.kernels.budget import beyond_budget
from kernel_lineage.kernels.embedded import cuda_in_python
from kernel_lineage.kernels.source import Kernel, Language, Problem, SourceFile

LARGEST_FILE = 8 * 1024 * 1024
"""Bytes. Sources of kernels stay far below; what is larger is generated data, and is not read."""

AS_WRITTEN = "as written"
"""Where a source keeps its text with the Python around its CUDA C++."""

_CUDA = frozenset({".cu", ".cuh"})
_CPP = frozenset({".h", ".hpp", ".hh", ".hxx", ".cpp", ".cc", ".cxx", ".inl", ".inc"})
_PYTHON = frozenset({".py"})


def language_of(path: str, data: bytes | None = None) -> Language | None:
    """The kernel language of a file, or None when it holds no kernels.

    `.cu` and `.cuh` are CUDA C++. C++ files are when their data holds `__global__`, Python files are Triton when theirs
    holds `triton` and `jit`, and CUDA C++ when it holds `__global__`, in strings; without data these are None.
    """
    suffix = PurePosixPath(path.replace("\\", "/")).suffix.lower()
    if suffix in _CUDA:
        return Language.CUDA
    if data is None:
        return None
    if suffix in _CPP and b"__global__" in data:
        return Language.CUDA
    if suffix in _PYTHON and b"triton" in data and b"jit" in data:
        return Language.TRITON
    if suffix in _PYTHON and b"__global__" in data:
        return Language.CUDA
    return None


def read(data: bytes, language: Language) -> SourceFile:
    """All that is seen of a file. Never raises on content: what cannot be read is among `problems`."""
    refused = refusal(data) or beyond_budget(data, language)
    if refused:
        return SourceFile(language, data, (), (), (), (Problem(refused),))
    if language is not Language.CUDA:
        return triton.parse(data)
    source = cuda.parse(cuda_in_python(data))
    source.derived[AS_WRITTEN] = data
    return source


def kernels_of(path: str, data: bytes | None) -> tuple[Kernel, ...]:
    """The kernels of a file by its path; none of a file that holds none, or that is not there."""
    language = language_of(path, data) if data is not None else None
    return read(data, language).kernels if data is not None and language is not None else ()


def refusal(data: bytes) -> str | None:
    """Why a file is not read at all, or None. Looks at its size and beginning only."""
    if len(data) > LARGEST_FILE:
        size, limit = len(data) / 2**20, LARGEST_FILE // 2**20
        return f"the file has {size:.0f} MB; files over {limit} MB are not read. Split it, or leave it out of the paths"
    if b"\0" in data[:65536]:
        return "the file is binary (it holds zero bytes), not source text"
    return None
