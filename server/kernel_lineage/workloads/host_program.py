"""What a host function does on the device, as a program: launches and memsets in order, with buffers of their own."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernel_gate.dtypes import DTYPES
from kernel_gate.expressions import ExpressionError, Number, evaluate, names
from kernel_gate.program import LaunchSpec, LaunchStep, MemsetStep, Operand, Pointer, Scratch, Value
from kernel_gate.workload import Workload, address_name
from kernel_lineage.kernels.naming import qualified_name
from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.kernels.words import WORD, with_meanings
from kernel_lineage.workloads.device_size import CHECKED, NAMES, multiprocessors
from kernel_lineage.workloads.following.written import tidy

_SIZES = (1, 2, 3, 5, 8, 17, 32, 64, 96, 1000, 4096, 65_537, 1 << 24)
_TRIED = 200
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")


class Unclear(Exception):  # noqa: N818
    """Host code that is read to its end does something that is not understood, as the message says."""


@dataclass(frozen=True, slots=True)
class OfTorch:
    """Kernels that do what functions of PyTorch do, so that a program stands without torch."""

    kernels: Mapping[str, str] = field(default_factory=dict)
    """Name → text in the language of the program."""
    functions: tuple[str, ...] = ()
    """The functions of PyTorch, each once."""

    def of(self, steps: Iterable[LaunchStep | MemsetStep]) -> OfTorch:
        """Those that some steps launch."""
        launched = {step.entry for step in steps if isinstance(step, LaunchStep)}
        return replace(self, kernels={n: text for n, text in self.kernels.items() if n in launched})

    @property
    def code(self) -> str:
        """The text of all kernels, to stand behind that of a file's own."""
        return "".join(f"\n{text}" for text in self.kernels.values())

    @property
    def label(self) -> str:
        """What is said of a program beside its name; "" without such kernels."""
        names = ", ".join(f"{name}()" for name in self.functions)
        return f", {names} of PyTorch by kernels of the gate's own" if names else ""


@dataclass(frozen=True, slots=True)
class HostProgram:
    """The steps of a host function over a workload's arguments."""

    steps: tuple[LaunchStep | MemsetStep, ...]
    scratch: tuple[Scratch, ...]
    conditions: tuple[str, ...] = ()
    """What holds over dims where the function takes these steps; elsewhere it takes others."""
    calls: int = 1
    """How often the function is called: twice where a later call finds other contents than the first."""
    of_torch: OfTorch = field(default_factory=OfTorch)
    """What PyTorch works out between the launches."""

    @property
    def label(self) -> str:
        """What is said of a program of these steps beside its name."""
        return f"{', called twice' if self.calls > 1 else ''}{self.of_torch.label}"

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels of its file that it launches, each once."""
        launched = (step.entry for step in self.steps if isinstance(step, LaunchStep))
        return tuple(dict.fromkeys(entry for entry in launched if entry not in self.of_torch.kernels))

    def as_compiled(self, source: SourceFile) -> tuple[LaunchStep | MemsetStep, ...]:
        """Its steps, with the kernels of a CUDA C++ file as a compiler finds them: in their namespaces."""
        names = {kernel.name: qualified_name(kernel) for kernel in source.kernels}
        return tuple(
            replace(step, entry=names.get(step.entry, step.entry)) if isinstance(step, LaunchStep) else step
            for step in self.steps
        )

    @property
    def template_arguments(self) -> tuple[str, ...]:
        """The arguments of templates, in the order of the launches."""
        return tuple(
            a for step in self.steps if isinstance(step, LaunchStep) for a in step.template_arguments
        )

    @property
    def numbers(self) -> Iterator[LaunchSpec | Value | Scratch]:
        """All that it computes: its own buffers, its launches, and the numbers that they pass."""
        yield from self.scratch
        for step in self.steps:
            if isinstance(step, LaunchStep):
                yield step.launch
                yield from (word for word in step.arguments if isinstance(word, Value))


def over_dims(conditions: Iterable[str], workload: Workload) -> tuple[str, ...]:
    """Those conditions that are over dims alone and do not hold at all sizes, with scalars as the workload computes
    them of dims; one that counts multiprocessors, for as many as it is checked and timed with, one that asks where
    buffers lie for those of an allocator. Where others lie is varied, and what is wrong there is a condition by itself.
    """
    scalars = {
        a.name: f"({a.value})" for a in workload.args if a.kind == "scalar" and a.name not in workload.dims
    }
    scalars |= {address_name(a.name): "0" for a in workload.args if a.is_pointer}
    kept: dict[str, None] = {}
    for condition in conditions:
        written = with_meanings(condition, scalars)
        for count in (CHECKED, multiprocessors()) if {*WORD.findall(written)} & {*NAMES} else (0,):
            text = with_meanings(written, dict.fromkeys(NAMES, str(count)))
            try:
                if text and names(text) <= workload.dims.keys() and not _always_holds(text):
                    kept[tidy(text)] = None
            except ExpressionError:
                continue
    return tuple(kept)


def _always_holds(condition: str) -> bool:
    """Whether a condition holds at all sizes that are tried, its own numbers among them: one size may be meant."""
    dims = sorted(names(condition))
    draw = random.Random(0)
    own = sorted({int(number) for number in _NUMBER.findall(condition)} - {0})
    tried = [dict.fromkeys(dims, size) for size in (*_SIZES, *own)]
    tried += [{name: draw.choice(_SIZES) for name in dims} for _ in range(_TRIED)]
    meant = itertools.islice(itertools.product(own, repeat=len(dims)), _TRIED)
    tried += [dict(zip(dims, sizes, strict=True)) for sizes in meant]
    return all(evaluate(condition, sizes) for sizes in tried)


def constants_passed(step: LaunchStep, order: Sequence[str]) -> dict[str, str]:
    """Number that a launch passes wherever sizes are others → the workload's scalar that it is there, in `order`."""
    pairs = zip(step.arguments, order, strict=False)
    return {
        word.value: name for word, name in pairs if name and isinstance(word, Value) and not names(word.value)
    }


def check_numbers(step: LaunchStep, order: Sequence[str], sizes: Mapping[str, Number]) -> None:
    """Raises `Unclear` where a launch before a change, as it is read, passes other numbers than the workload has."""
    try:
        same = all(
            not isinstance(word, Value) or evaluate(word.value, sizes) == sizes.get(name)
            for word, name in zip(step.arguments, order, strict=True)
        )
    except (ExpressionError, ValueError) as error:
        raise Unclear(f"its launch before the change: {error}") from error
    if not same:
        raise Unclear("which does not launch what the workload does before the change")


def with_scalars(
    step: LaunchStep, constants: Mapping[str, str], parameters: Sequence[str], workload: Workload
) -> LaunchStep:
    """A launch of a change in which a number that the launch before it passed for a scalar of the workload is that
    scalar: one with a fraction, and any other for a parameter of the scalar's name.
    """

    def named(word: Operand, parameter: str) -> Operand:
        name = constants.get(word.value, "") if isinstance(word, Value) else ""
        scalar = workload.argument(name)
        if scalar is None or not isinstance(word, Value) or scalar.dtype != word.dtype:
            return word
        return name if DTYPES[scalar.dtype].is_float or parameter == name else word

    words = itertools.zip_longest(step.arguments, parameters[: len(step.arguments)], fillvalue="")
    return replace(step, arguments=tuple(named(word, parameter) for word, parameter in words))


def buffer_of(operand: Operand) -> str:
    """The argument or buffer that a launch is handed; "" for a number that has no name."""
    return operand.buffer if isinstance(operand, Pointer) else operand if isinstance(operand, str) else ""


def renamed(operand: Operand, names: Mapping[str, str]) -> Operand:
    """The same with other names for buffers."""
    if isinstance(operand, Pointer):
        return replace(operand, buffer=names.get(operand.buffer, operand.buffer))
    return names.get(operand, operand) if isinstance(operand, str) else operand


def step_renamed(step: LaunchStep | MemsetStep, names: Mapping[str, str]) -> LaunchStep | MemsetStep:
    """The same with other names for buffers."""
    if isinstance(step, MemsetStep):
        return replace(step, buffer=names.get(step.buffer, step.buffer))
    return replace(step, arguments=tuple(renamed(word, names) for word in step.arguments))
