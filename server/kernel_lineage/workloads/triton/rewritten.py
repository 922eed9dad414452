"""What a change makes of the function that launches a Triton kernel: its launches in order, with its own buffers."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from types import MappingProxyType

from kernel_gate.expressions import ExpressionError, Number, evaluate_int
from kernel_gate.program import LaunchStep, MemsetStep, Scratch
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import Kernel, SourceFile
from kernel_lineage.workloads.host_program import (
    HostProgram,
    Unclear,
    buffer_of,
    check_numbers,
    constants_passed,
    over_dims,
    renamed,
    with_scalars,
)
from kernel_lineage.workloads.model import View
from kernel_lineage.workloads.promises import broken
from kernel_lineage.workloads.triton.collector import Collector
from kernel_lineage.workloads.triton.host_modules import HostModule, defaults_of, module_of, names_of
from kernel_lineage.workloads.triton.launch_site import bindings_at, calls_of, launched_at, optional_at
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton.objects import Class, Instance, Names, Stopped
from kernel_lineage.workloads.triton.values import Size, Stride, Tensor, Unknown, text_of, value_at

_SHAPES = 16
"""So many of a workload's shapes are read."""


def rewritten_steps(
    kernel: Kernel,
    order: Sequence[str],
    source: SourceFile,
    path: Path,
    workload: Workload,
    root: Path,
    views: Mapping[str, View] = MappingProxyType({}),
) -> HostProgram:
    """What the function that launched `kernel`, which is the one before a change, does in `source`, the file after it.

    `order` names the workload's argument for each of the kernel's own parameters. Raises `Unclear` with the reason
    where the function is no longer there, or does something that is not understood.
    """
    if kernel.source is None or kernel.source.module is None or source.module is None:
        raise Unclear("the file does not parse")
    here = path.resolve()
    own, changed = module_of(here, kernel.source.module), module_of(here, source.module)
    reasons: list[str] = []
    for name, call in calls_of(kernel.name, own):
        if name not in changed.functions:
            reasons.append(f"`{name}`, which launches `{kernel.name}`, is gone")
            continue
        bound = bindings_at(kernel, own.functions[name], call, workload, order, views)
        optional = optional_at(kernel, call, workload, order, views)
        for also in (optional, {}) if optional else ({},):
            try:
                return _Change(name, workload, root, {**also, **bound}).read(
                    kernel, own, order, source, changed
                )
            except Unclear as unclear:
                reasons.append(f"`{name}`, {unclear}")
    raise Unclear("; ".join(reasons) or f"nothing launches `{kernel.name}`")


@dataclass(slots=True)
class _End:
    """What a function came to at one shape."""

    steps: tuple[LaunchStep | MemsetStep, ...]
    handed: tuple[tuple[object, ...], ...]
    """For each launch what it passes, as the host code has it."""
    buffers: Mapping[str, Tensor]
    gives: Mapping[tuple[int, ...], object]
    """What it returns, by places in tuples and lists."""
    names: Names
    promises: tuple[str, ...]


@dataclass(slots=True)
class _Change:
    """One function before and after a change."""

    function: str
    workload: Workload
    root: Path
    bound: Mapping[str, Size | Tensor | None]
    prepared: dict[tuple[str, str], Size | Tensor | None] = field(default_factory=dict)
    strides: dict[tuple[str, int], str] = field(default_factory=dict)
    """Tensor and axis → the scalar of the workload that is its stride."""

    def read(
        self, kernel: Kernel, own: HostModule, order: Sequence[str], source: SourceFile, changed: HostModule
    ) -> HostProgram:
        """The steps of the function after the change, those of it before known from the workload."""
        base, *others = self._shapes()
        before = self._at(base, own, {kernel.name: kernel}, learns=True)
        launches = [step for step in before.steps if isinstance(step, LaunchStep)]
        if len(launches) != 1:
            raise Unclear(f"launches {len(launches)} kernels before the change, and the workload is of one")
        self._check_launch(launches[0], order, base)
        passed = dict(zip(map(buffer_of, launches[0].arguments), order, strict=False))
        for value, name in zip(before.handed[0], order, strict=False):
            argument = self.workload.argument(name)
            if isinstance(value, Stride) and argument is not None and argument.kind == "scalar":
                self.strides[value.tensor, value.axis] = name
        places = {place: passed.get(t.buffer) for place, t in before.gives.items() if isinstance(t, Tensor)}
        locals_ = {n: passed.get(t.buffer) for n, t in before.names.items() if isinstance(t, Tensor)}
        constants = constants_passed(launches[0], order)
        cleared = {passed.get(step.buffer) for step in before.steps if isinstance(step, MemsetStep)}
        kernels = {k.name: k for k in source.kernels}

        def program(dims: Mapping[str, int]) -> tuple[HostProgram, tuple[str, ...]]:
            end = self._at(dims, changed, kernels)
            promises = tuple(p for p in end.promises if p not in before.promises)
            return self._program(end, places, locals_, cleared, constants, kernels, dims), promises

        steps, promises = program(base)
        conditions = over_dims(promises, self.workload)
        for dims in others:
            if broken(dims, (*self.workload.promises, *conditions)):
                continue
            if program(dims)[0] != steps:
                raise Unclear("takes another way at other sizes, and nothing tells at which")
        return replace(steps, conditions=conditions)

    def _check_launch(self, step: LaunchStep, order: Sequence[str], dims: Mapping[str, int]) -> None:
        """Raises `Unclear` where the function, as it is read, does not launch what the workload does."""
        workload = self.workload
        sizes = workload.numbers(dims)
        try:
            same = launched_at(step.launch, sizes) == launched_at(workload.launch.spec(), sizes)
        except ExpressionError as error:
            raise Unclear(f"its launch before the change: {error}") from error
        if not same:
            raise Unclear("which does not launch what the workload does before the change")
        check_numbers(step, order, sizes)

    def _shapes(self) -> list[Mapping[str, int]]:
        """The shapes at which the function is read, the timed one first."""
        workload = self.workload
        shapes = [*workload.profile_dims, *itertools.islice(workload.shapes(), _SHAPES)]
        # The gate tries sizes of its own, around those of the workload.
        scaled = [{n: max(1, int(size * f)) for n, size in shapes[-1].items()} for f in (3, 0.5)]
        return [*shapes, *scaled]

    def _at(
        self, dims: Mapping[str, int], module: HostModule, kernels: Mapping[str, Kernel], learns: bool = False
    ) -> _End:
        """What the function does at one shape."""
        sizes: dict[str, Number] = {**dims, **self.workload.scalars(dims)}
        bound, function = self.bound, module.functions[self.function]
        buffers = {t.buffer: t for t in bound.values() if isinstance(t, Tensor)}
        reader = Collector(
            Modules(self.root, {module.path: module}),
            function,
            sizes,
            lambda _n, _a: None,
            is_exact=True,
            kernels=kernels,
            own=module,
            workload=self.workload,
            buffers=buffers,
            bound=bound,
            prepared=self.prepared,
            strides=self.strides,
            learns=learns,
            widest=self._widest(),
        )
        defaults = defaults_of(function.args)
        names: Names = {
            n: bound.get(n, Size(n) if n in dims else Unknown(n)) for n in names_of(function.args)
        }
        names |= {
            n: reader.read(node, module) for n, node in defaults.items() if isinstance(names[n], Unknown)
        }
        of, _, _ = self.function.rpartition(".")
        first = function.args.args[:1]
        if of in module.classes and first and first[0].arg not in bound:
            names[first[0].arg] = Instance(Class(module.classes[of], module))
        try:
            result = reader.run(function, module, names)
        except Stopped as stopped:
            raise Unclear(f"which ends before its end at {dict(dims)}: {stopped}") from stopped
        return _End(
            tuple(reader.done),
            tuple(reader.handed),
            reader.buffers,
            dict(_parts(result)),
            names,
            tuple(reader.promises),
        )

    def _widest(self) -> dict[str, Number]:
        """The largest size of each dim, and the numbers of the workload there."""
        shapes = [*self.workload.profile_dims, *self.workload.shapes()]
        dims = {name: max(shape[name] for shape in shapes) for name in self.workload.dims}
        return {**dims, **self.workload.scalars(dims)}

    def _program(
        self,
        end: _End,
        places: Mapping[tuple[int, ...], str | None],
        locals_: Mapping[str, str | None],
        cleared: Collection[str | None],
        constants: Mapping[str, str],
        kernels: Mapping[str, Kernel],
        dims: Mapping[str, int],
    ) -> HostProgram:
        """The steps over the workload's arguments. What the function returns at a place where it returned a buffer of
        the workload is that buffer, and what it has under the name that the buffer had.
        """
        if not any(isinstance(step, LaunchStep) for step in end.steps):
            raise Unclear("launches no kernel")
        own: dict[str, str] = {}
        outputs = [a.name for a in self.workload.args if a.kind in ("output", "inout")]
        for place, argument in places.items():
            value = end.gives.get(place)
            if argument in outputs and isinstance(value, Tensor):
                if not value.buffer:
                    raise Unclear(f"what it returns for `{argument}` is worked out by torch")
                own.setdefault(value.buffer, argument)
        for name, argument in locals_.items():
            value = end.names.get(name)
            if (
                argument in outputs
                and argument not in own.values()
                and isinstance(value, Tensor)
                and value.buffer
            ):
                own.setdefault(value.buffer, argument)
        used = {
            buffer_of(word) for step in end.steps if isinstance(step, LaunchStep) for word in step.arguments
        }
        for output in outputs:
            buffer = next((b for b, argument in own.items() if argument == output), output)
            if buffer not in used:
                raise Unclear(f"nothing gives `{output}`")
            self._check_same(end.buffers[buffer], output, dims)
        taken = {*self.workload.dims, *(a.name for a in self.workload.args)}
        scratch: list[Scratch] = []
        for buffer, tensor in end.buffers.items():
            if not buffer.startswith("#") or buffer in own or buffer not in used:
                continue
            name = next(
                (n for n, v in end.names.items() if isinstance(v, Tensor) and v.buffer == buffer), "scratch"
            )
            name = next(
                n
                for n in itertools.chain([name], (f"{name}_{i}" for i in itertools.count()))
                if n not in taken
            )
            taken.add(name)
            own[buffer] = name
            if tensor.dtype is None or tensor.shape is None:
                raise Unclear(f"nothing tells the shape and the type of `{name}`")
            scratch.append(Scratch(name, tensor.dtype, tuple(map(text_of, tensor.shape))))
        adds = any("atomic" in kernels[s.entry].text for s in end.steps if isinstance(s, LaunchStep))
        steps: list[LaunchStep | MemsetStep] = []
        for step in end.steps:
            if isinstance(step, LaunchStep):
                names = [
                    p.name for p in kernels[step.entry].parameters if p.name not in step.launch.constexpr
                ]
                step = with_scalars(step, constants, names, self.workload)
                steps.append(replace(step, arguments=tuple(renamed(word, own) for word in step.arguments)))
            elif step.buffer in used and (adds or own.get(step.buffer, step.buffer) not in cleared):
                # What the host clears for nothing is timed on neither side.
                steps.append(replace(step, buffer=own.get(step.buffer, step.buffer)))
        return HostProgram(tuple(steps), tuple(scratch))

    def _check_same(self, tensor: Tensor, output: str, dims: Mapping[str, int]) -> None:
        """Raises `Unclear` where a buffer is not as large as the workload's, or of another type."""
        argument = self.workload.argument(output)
        assert argument is not None
        sizes: dict[str, Number] = {**dims, **self.workload.scalars(dims)}
        elements = prod(value_at(extent, sizes) or 0 for extent in tensor.shape or ())
        if elements != prod(evaluate_int(str(extent), sizes) for extent in argument.shape or ()):
            raise Unclear(f"`{output}` has another shape")
        if tensor.dtype != argument.dtype:
            raise Unclear(f"`{output}` is {tensor.dtype}, the workload's is {argument.dtype}")


def _parts(value: object, place: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], object]]:
    """What a function returns, by places in tuples and lists."""
    if not isinstance(value, (tuple, list)):
        yield place, value
        return
    for number, part in enumerate(value):
        yield from _parts(part, (*place, number))
