"""Copies of a host function between memory that is known, as launches of kernels that do the same.

What a caller's array is copied to, and what results are copied from, is that array where nothing tells them apart.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import prod

from kernel_gate.expressions import ExpressionError, Number, evaluate
from kernel_gate.program import LaunchSpec, LaunchStep, MemsetStep, Operand, Scratch, Value
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.workloads.following.roles import roles_of
from kernel_lineage.workloads.host_program import buffer_of, step_renamed

_ENTRY = "copied_"
_THREADS = 256
MOST_COPIED = 8
"""Bytes that a thread copies at most."""
_BYTES = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}
_TEXT = """\
__global__ void {entry}(const {kind}* from, {kind}* to, long long n) {{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}}
"""

Steps = Sequence[LaunchStep | MemsetStep]


def copy_step(to: Operand, origin: Operand, elements: str, itemsize: int) -> LaunchStep:
    """The launch that copies so many elements of 1, 2, 4 or 8 bytes."""
    launch = LaunchSpec((f"ceil_div({elements}, {_THREADS})",), (str(_THREADS),))
    return LaunchStep(f"{_ENTRY}{itemsize}", launch, (origin, to, Value(elements, "int64")))


def copy_kernels(steps: Steps) -> dict[str, str]:
    """Name → text of the kernels that the copies among some steps launch."""
    texts = {f"{_ENTRY}{size}": kind for size, kind in _BYTES.items()}
    entries = [step.entry for step in steps if is_copy(step) and isinstance(step, LaunchStep)]
    return {entry: _TEXT.format(entry=entry, kind=texts[entry]) for entry in dict.fromkeys(entries)}


def without_copies(
    steps: Steps,
    scratch: Sequence[Scratch],
    source: SourceFile,
    workload: Workload,
    shapes: Collection[dict[str, Number]],
) -> tuple[list[LaunchStep | MemsetStep], list[Scratch]]:
    """The steps and their buffers without copies of a whole array to a buffer that nothing writes, and of a buffer that
    holds nothing else to a whole array: the buffer is the array.
    """
    left = _Left(list(steps), list(scratch), source, workload, shapes)
    for step in steps:
        if isinstance(step, LaunchStep) and is_copy(step):
            left.joined(step)
    return left.steps, left.scratch


def is_copy(step: LaunchStep | MemsetStep) -> bool:
    """Whether a step is a copy."""
    return isinstance(step, LaunchStep) and step.entry.removeprefix(_ENTRY) in map(str, _BYTES)


@dataclass(slots=True)
class _Left:
    """What is left of steps and buffers."""

    steps: list[LaunchStep | MemsetStep]
    scratch: list[Scratch]
    source: SourceFile
    workload: Workload
    shapes: Collection[dict[str, Number]] = field(default_factory=list)

    def joined(self, copy: LaunchStep) -> None:
        """Let the two sides of a copy be one buffer, if nothing tells them apart."""
        origin, to, elements = copy.arguments
        own = {one.name: one for one in self.scratch}
        if copy not in self.steps or not isinstance(origin, str) or not isinstance(to, str):
            return
        if (origin in own) == (to in own):
            return
        name, array = (to, origin) if to in own else (origin, to)
        between = [s for s in self.steps if is_copy(s) and {name, array} <= _touched(s)]
        others = [s for s in self.steps if s not in between]
        if self._is_one(name, array, between, others) and self._are_alike(own[name], array, elements):
            self.steps = [step_renamed(step, {name: array}) for step in others]
            self.scratch.remove(own[name])

    def _is_one(self, name: str, array: str, between: Steps, others: Steps) -> bool:
        """Whether a buffer holds what an array holds wherever either of them is read, and at the end."""
        is_filled = any(isinstance(s, LaunchStep) and s.arguments[0] == array for s in between)
        touching = [s for s in self.steps if name in _touched(s)]
        if is_filled and (touching[0] not in between or between[0] is not touching[0]):
            return False
        if len({s.arguments for s in between if isinstance(s, LaunchStep)}) < len(between):
            return False
        is_changed = any(self._writes(s, name) for s in others)
        if any(array in _touched(s) for s in others):
            return is_filled and not is_changed and not any(self._writes(s, array) for s in others)
        last = max(
            (at for at, s in enumerate(self.steps) if s in others and self._writes(s, name)), default=-1
        )
        return not is_changed or self.steps.index(between[-1]) > last

    def _are_alike(self, buffer: Scratch, array: str, elements: Operand) -> bool:
        """Whether a buffer and an array of the workload have the elements that are copied, and no others."""
        argument = self.workload.argument(array)
        if argument is None or argument.dtype != buffer.dtype or not isinstance(elements, Value):
            return False
        extents = (buffer.shape, tuple(map(str, argument.shape or ("1",))), (elements.value,))
        try:
            return all(
                len({prod(int(evaluate(e, shape)) for e in one) for one in extents}) == 1
                for shape in self.shapes
            )
        except ExpressionError:
            return False

    def _writes(self, step: LaunchStep | MemsetStep, name: str) -> bool:
        """Whether a step may write to a buffer."""
        if isinstance(step, MemsetStep):
            return step.buffer == name
        kernel = self.source.kernel(step.entry)
        roles = roles_of(kernel) if kernel is not None else {"from": "input"}
        parameters = [p.name for p in kernel.parameters] if kernel is not None else ["from", "to", "n"]
        return any(
            buffer_of(word) == name and roles.get(parameter) != "input"
            for parameter, word in zip(parameters, step.arguments, strict=False)
        )


def _touched(step: LaunchStep | MemsetStep) -> set[str]:
    """The buffers that a step reads or writes."""
    return {step.buffer} if isinstance(step, MemsetStep) else {*map(buffer_of, step.arguments)}
