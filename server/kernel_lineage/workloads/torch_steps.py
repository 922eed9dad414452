"""What PyTorch works out in a host function as launches of kernels that do the same, in the order of its statements."""

from __future__ import annotations

from typing import Protocol

from kernel_gate.program import LaunchSpec, LaunchStep, Operand, Scratch, Value
from kernel_lineage.workloads.following.torch_work import COPIED, TorchWork
from kernel_lineage.workloads.following.types import dtype_of
from kernel_lineage.workloads.following.values import NotFollowed, Number, Tensor, product
from kernel_lineage.workloads.host_program import OfTorch
from kernel_lineage.workloads.torch_kernels import (
    MOST_BLOCKS,
    THREADS,
    computed_in,
    elementwise_kernel,
    reduction_kernel,
)
from kernel_lineage.workloads.torch_kernels import Operand as Part

_ENTRY = "torch_"
"""How the names of the kernels begin."""
_ONE = "1"


class Reader(Protocol):
    """Who follows the function, and knows its memory."""

    scratch: list[Scratch]

    def kept(self, tensor: Tensor, written: str) -> str:
        """The name of a tensor's memory. Raises `NotFollowed`."""

    def expression(self, value: Number) -> str:
        """A number over the workload. Raises `NotFollowed`."""

    def passed_number(self, number: Number, dtype: str) -> Operand:
        """A number as a launch passes it."""


class TorchSteps:
    """Makes launches, and the device code that they need."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._kernels: dict[str, str] = {}
        """Text without its name → name."""
        self._does: dict[str, None] = {}

    def made(self) -> OfTorch:
        """The kernels of all launches."""
        kernels = {name: text.replace("{entry}", name) for text, name in self._kernels.items()}
        return OfTorch(kernels, tuple(self._does))

    def steps(self, work: TorchWork) -> list[LaunchStep]:
        """The launches that an operation is. Raises `NotFollowed` for one that is not understood here."""
        for tensor in (*work.tensors, work.result):
            if tensor.strides is not None and work.name != COPIED:
                raise NotFollowed(f"`{work.name}()` of {tensor.as_view}")
        self._does.setdefault(work.name)
        return self._elementwise(work) if work.formula else self._reduction(work)

    def _elementwise(self, work: TorchWork) -> list[LaunchStep]:
        reader, extents, computed = self._reader, _extents(work.result, work.name), _computed(work)
        elements = reader.expression(product(extents))
        words: list[Operand] = []
        parts: list[Part] = []
        for operand in work.operands:
            if isinstance(operand, Number):
                words.append(reader.passed_number(operand, computed))
                parts.append(Part(computed, is_tensor=False))
                continue
            words.append(reader.kept(operand, work.name))
            places = self._places(operand, work)
            parts.append(Part(_dtype(operand), places=places, is_strided=operand.strides is not None))
        words += [reader.kept(work.result, work.name), Value(elements, "int64")]
        if any(part.places is not None for part in parts):
            words += [Value(reader.expression(extent), "int64") for extent in extents]
        for operand in work.tensors:
            words += [Value(reader.expression(stride), "int64") for stride in operand.strides or ()]
        text = elementwise_kernel("{entry}", work.formula, parts, _dtype(work.result), computed, len(extents))
        return [self._step(work.name, text, f"ceil_div({elements}, {THREADS})", words)]

    def _places(self, operand: Tensor, work: TorchWork) -> tuple[int, ...] | None:
        """The extents of a result that an operand has, in the operand's order; None for all in theirs.

        Raises `NotFollowed` where they do not fit.
        """
        if operand.strides is not None:
            return tuple(range(operand.rank or 0))
        own, all_ = (
            [self._reader.expression(e) for e in _extents(t, work.name)] for t in (operand, work.result)
        )
        if own == all_:
            return None
        places = []
        for at in range(1, len(own) + 1):
            if own[-at] == _ONE:
                continue
            if at > len(all_) or own[-at] != all_[-at]:
                raise NotFollowed(f"torch's work on {' × '.join(own)} and {' × '.join(all_)} elements")
            places.append(len(all_) - at)
        return tuple(reversed(places))

    def _reduction(self, work: TorchWork) -> list[LaunchStep]:
        reader = self._reader
        (source,) = work.tensors
        extents, read, made = _extents(source, work.name), _dtype(source), _dtype(work.result)
        computed = _computed(work)
        first, last = work.reduced[0], work.reduced[-1]
        extent, step = product(extents[first : last + 1]), product(extents[last + 1 :])
        results = reader.expression(product((*extents[:first], *extents[last + 1 :])))
        long = reader.expression(extent)
        numbers = [Value(reader.expression(n), "int64") for n in (extent, step)]
        into, count = reader.kept(work.result, work.name), Value(long, "int64")
        if len(work.reduced) < len(extents):
            text = reduction_kernel("{entry}", work.name, read, made, computed)
            words: list[Operand] = [
                reader.kept(source, work.name),
                into,
                *numbers,
                Value(_ONE, "int64"),
                count,
            ]
            return [self._step(work.name, text, results, words)]
        shares = f"max(1, min({MOST_BLOCKS}, ceil_div({long}, {4 * THREADS})))"
        parts = f"parts_{len(reader.scratch)}"
        reader.scratch.append(Scratch(parts, computed, (shares,)))
        begun = "sum" if work.name == "mean" else work.name
        text = reduction_kernel("{entry}", begun, read, computed, computed)
        words = [reader.kept(source, work.name), parts, *numbers, Value(shares, "int64"), count]
        then = reduction_kernel("{entry}", work.name, computed, made, computed)
        ones = [Value(_ONE, "int64")] * 2
        return [
            self._step(work.name, text, shares, words),
            self._step(work.name, then, _ONE, [parts, into, Value(shares, "int64"), *ones, count]),
        ]

    def _step(self, name: str, text: str, blocks: str, words: list[Operand]) -> LaunchStep:
        entry = self._kernels.setdefault(text, f"{_ENTRY}{name}_{len(self._kernels)}")
        return LaunchStep(entry, LaunchSpec((blocks,), (str(THREADS),)), tuple(words))


def _computed(work: TorchWork) -> str:
    """The type that an operation is computed in: that of its result, of a float's that it makes whole the float's."""
    kinds = {computed_in(_dtype(tensor)) for tensor in (*work.tensors, work.result)}
    return next(kind for kind in ("float64", "float32", "int64") if kind in kinds)


def _dtype(tensor: Tensor) -> str:
    dtype = dtype_of(tensor.dtype)
    if dtype is None:
        raise NotFollowed(f"torch's work on `{tensor.buffer.name}`, whose type nothing tells,")
    return dtype


def _extents(tensor: Tensor, what: str) -> tuple[Number, ...]:
    if tensor.shape is None:
        raise NotFollowed(f"`{what}()` of `{tensor.buffer.name}`, whose shape nothing tells,")
    return tensor.shape
