"""Readers of single functions, put together to readers of a kernel: all that it reaches, or itself alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar

from kernel_lineage.kernels.cuda_syntax import Unit, cuda_syntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import TritonUnit, triton_syntax

_T = TypeVar("_T")
InCuda: TypeAlias = Callable[[Unit], Iterator[_T]]
InTriton: TypeAlias = Callable[[TritonUnit], Iterator[_T]]


def in_units(
    in_cuda: InCuda[_T] | None = None, in_triton: InTriton[_T] | None = None
) -> Callable[[Kernel], Iterator[_T]]:
    """A reader that looks at a kernel and each function that it reaches, one after the other."""

    def look(kernel: Kernel) -> Iterator[_T]:
        syntax = cuda_syntax(kernel) if in_cuda is not None else None
        if syntax is not None and in_cuda is not None:
            for unit in syntax.units:
                yield from in_cuda(unit)
        python = triton_syntax(kernel) if in_triton is not None else None
        if python is not None and in_triton is not None:
            for triton_unit in python.units:
                yield from in_triton(triton_unit)

    return look


def in_entry(
    in_cuda: InCuda[_T] | None = None, in_triton: InTriton[_T] | None = None
) -> Callable[[Kernel], Iterator[_T]]:
    """A reader that looks at a kernel itself, not at the functions that it reaches."""

    def look(kernel: Kernel) -> Iterator[_T]:
        syntax = cuda_syntax(kernel) if in_cuda is not None else None
        if syntax is not None and in_cuda is not None:
            yield from in_cuda(syntax.entry)
        python = triton_syntax(kernel) if in_triton is not None else None
        if python is not None and in_triton is not None:
            yield from in_triton(python.entry)

    return look


def joined(*readers: Callable[[Kernel], Iterator[_T]]) -> Callable[[Kernel], Iterator[_T]]:
    """A reader that gives what each of some readers gives."""

    def look(kernel: Kernel) -> Iterator[_T]:
        for reader in readers:
            yield from reader(kernel)

    return look
