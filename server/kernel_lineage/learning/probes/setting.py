"""A setting: one way to run both states of a step, and what it is in the names of the condition language."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from kernel_gate.cases import ALLOCATED, Memory
from kernel_gate.devices.opening import EMULATED_ARCH
from kernel_gate.dtypes import DTYPES
from kernel_gate.expressions import ExpressionError, Number, evaluate, evaluate_int
from kernel_gate.expressions import names as names_in
from kernel_gate.memory_cases import ALLOCATOR_ALIGNMENT
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchSpec, Program
from kernel_gate.request import GateRequest
from kernel_gate.shapes import elements
from kernel_gate.variations import Variation
from kernel_gate.workload import Workload
from kernel_lineage.learning.steps import Step
from kernel_lineage.skills.conditions.facts import Scalar

MOST_ELEMENTS = 1 << 17
"""The most elements of all buffers of a setting: what runs in a fraction of a second on the emulated device."""
_CHECK_SECONDS = 20.0


@dataclass(frozen=True)
class Setting:
    """Both states and one case of a workload, which may have been changed for it."""

    before: Program
    after: Program
    workload: Workload
    dims: Mapping[str, int]
    seed: int = 91
    inputs: Variation = Variation.DECLARED
    memory: Memory = ALLOCATED
    arch: str = EMULATED_ARCH
    """What both states are compiled for."""
    told: tuple[tuple[str, Scalar], ...] = ()
    """Facts that nothing here shows, told by the axis that moved them."""

    def at(self, **dims: int) -> Setting:
        """The same with some dims changed."""
        return replace(self, dims={**self.dims, **dims})

    def request(self) -> GateRequest:
        """What the gate is asked: this case only, on the emulated device."""
        options = GateOptions(
            case=dict(self.dims),
            seed=self.seed,
            inputs=self.inputs,
            memory=str(self.memory),
            emulated_arch=self.arch,
            check_seconds=_CHECK_SECONDS,
        )
        return GateRequest.of(self.before, self.after, self.workload, device="emulated", options=options)

    @cached_property
    def key(self) -> str:
        """The same for settings that the gate cannot tell apart."""
        return hashlib.sha256(self.request().model_dump_json().encode()).hexdigest()

    @property
    def runs(self) -> bool:
        """Whether callers may come with it, and it is small enough."""
        try:
            size = elements(self.workload, self.dims)
            return 0 < size <= MOST_ELEMENTS and self.workload.keeps_promises(self.dims)
        except ExpressionError:
            return False

    @cached_property
    def counts(self) -> frozenset[str]:
        """The dims that buffers have elements by; the others, such as a position to start from, may be 0."""
        shapes = (str(extent) for argument in self.workload.args for extent in argument.shape or ())
        return frozenset(self.dims) & frozenset[str]().union(*map(names_in, shapes))

    def at_least(self, name: str) -> int:
        """The least extent of a dim that callers may come with."""
        return 1 if name in self.counts else 0

    @property
    def has_several(self) -> bool:
        """Whether no buffer is a single element wide along any of its dims."""
        return min((self.dims[name] for name in self.counts), default=2) > 1

    @property
    def size(self) -> int:
        """Elements of all buffers."""
        return elements(self.workload, self.dims)


def base_of(step: Step, dims: Mapping[str, int], seed: int) -> Setting:
    """The step as its workload runs it, on one shape."""
    return Setting(step.before, step.after, step.workload, dict(dims), seed)


def facts_of(setting: Setting) -> dict[str, Scalar]:
    """Every fact of a setting that its workload, the later state's launch and its memory tell."""
    facts: dict[str, Scalar] = dict(setting.dims)
    for argument in setting.workload.args:
        if argument.kind == "scalar" and DTYPES[argument.dtype].storage.kind in "iu":
            value = setting.workload.scalars(setting.dims)[argument.name]
            if isinstance(value, int):
                facts.setdefault(argument.name, value)
        elif argument.is_pointer:
            facts[f"dtype({argument.name})"] = argument.dtype
    return {**facts, **_launch(setting), **_memory(setting), **dict(setting.told)}


def launch_of(program: Program, workload: Workload) -> LaunchSpec | None:
    """The launch of a program that is one launch of one kernel; None for sequences."""
    if program.steps or (program.launch is None and workload.launches):
        return None
    return program.launch or workload.launch.spec()


def _launch(setting: Setting) -> dict[str, Scalar]:
    launch = launch_of(setting.after, setting.workload)
    if launch is None:
        return {}
    facts: dict[str, Scalar] = {}
    names: dict[str, Number] = {**setting.dims, **setting.workload.scalars(setting.dims)}
    try:
        for name, text in launch.constexpr.items():
            names[name] = value = evaluate(text, names)
            if isinstance(value, int) and not isinstance(value, bool):
                facts[name] = value
        for axis, extent in zip("xyz", launch.grid, strict=False):
            facts[f"launch.grid.{axis}"] = evaluate_int(extent, names)
        if setting.after.language == "cuda":
            for axis, extent in zip("xyz", launch.block, strict=False):
                facts[f"launch.block.{axis}"] = evaluate_int(extent, names)
        else:
            facts["launch.num_warps"] = evaluate_int(launch.num_warps, names)
            facts["launch.num_stages"] = evaluate_int(launch.num_stages, names)
    except ExpressionError:  # a launch that cannot be computed is the gate's to report
        pass
    return facts


def _memory(setting: Setting) -> dict[str, Scalar]:
    pointers = [a for a in setting.workload.args if a.is_pointer]
    offsets = dict(setting.memory.offsets)
    facts: dict[str, Scalar] = {}
    for argument in pointers:
        offset = offsets.get(argument.name, 0)
        facts[f"align({argument.name})"] = offset & -offset if offset else ALLOCATOR_ALIGNMENT
    for output in (a for a in pointers if a.kind == "output"):
        for source in (a for a in pointers if a.kind == "input"):
            facts[f"noalias({output.name}, {source.name})"] = setting.memory.alias != (
                output.name,
                source.name,
            )
    return facts
