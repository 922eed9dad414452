"""Readers of single functions, put together to readers of a kernel: all that it reaches, or itself alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeAlias, TypeVar

from kernel_lineage.kernels.cuda_syntax import Unit, cuda_syntax
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton_syntax import TritonUnit, triton_syntax

_T = TypeVar("_T")
InCuda: TypeAlias = Callable[[Unit], Iterator[_T]]
InTriton: TypeAlias = Callable[[TritonUnit], Iterator[_T]]


@dataclass(frozen=True, slots=True)
class Reader(Generic[_T]):
    """What is found in kernels of some languages."""

    look: Callable[[Kernel], Iterator[_T]]
    languages: frozenset[Language]

    def __call__(self, kernel: Kernel) -> Iterator[_T]:
        return self.look(kernel)


def of_kernel(look: Callable[[Kernel], Iterator[_T]], *languages: Language) -> Reader[_T]:
    """A reader that looks at a kernel as a whole: at its attributes and launches, or at several functions together."""
    return Reader(look, frozenset(languages))


def in_units(in_cuda: InCuda[_T] | None = None, in_triton: InTriton[_T] | None = None) -> Reader[_T]:
    """A reader that looks at a kernel and each function that it reaches, one after the other."""
    return _by_unit(in_cuda, in_triton, entry=False)


def in_entry(in_cuda: InCuda[_T] | None = None, in_triton: InTriton[_T] | None = None) -> Reader[_T]:
    """A reader that looks at a kernel itself, not at the functions that it reaches."""
    return _by_unit(in_cuda, in_triton, entry=True)


def _by_unit(in_cuda: InCuda[_T] | None, in_triton: InTriton[_T] | None, *, entry: bool) -> Reader[_T]:
    def look(kernel: Kernel) -> Iterator[_T]:
        syntax = cuda_syntax(kernel) if in_cuda is not None else None
        if syntax is not None and in_cuda is not None:
            for unit in syntax.units[: 1 if entry else None]:
                yield from in_cuda(unit)
        python = triton_syntax(kernel) if in_triton is not None else None
        if python is not None and in_triton is not None:
            for triton_unit in python.units[: 1 if entry else None]:
                yield from in_triton(triton_unit)

    readers = {Language.CUDA: in_cuda, Language.TRITON: in_triton}
    return Reader(look, frozenset(language for language, read in readers.items() if read is not None))


def joined(*readers: Reader[_T]) -> Reader[_T]:
    """A reader that gives what each of some readers gives."""
    languages = frozenset(chain.from_iterable(reader.languages for reader in readers))
    return Reader(lambda kernel: chain.from_iterable(reader(kernel) for reader in readers), languages)
