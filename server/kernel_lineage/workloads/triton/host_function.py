"""A function that launches Triton kernels, read to its end over a workload: its launches, with its own buffers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path

from kernel_gate.expressions import Number, evaluate_int
from kernel_gate.program import LaunchStep, MemsetStep, Scratch
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.device_size import NAMES
from kernel_lineage.workloads.host_program import (
    HostProgram,
    OfTorch,
    Unclear,
    buffer_of,
    over_dims,
    step_renamed,
    with_scalars,
)
from kernel_lineage.workloads.promises import broken
from kernel_lineage.workloads.triton.collector import Collector
from kernel_lineage.workloads.triton.host_modules import HostModule, defaults_of, names_of
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton.objects import Class, Instance, Names, Stopped
from kernel_lineage.workloads.triton.separate_results import Separated, separate_parts
from kernel_lineage.workloads.triton.torch_steps import needed
from kernel_lineage.workloads.triton.values import (
    Size,
    Tensor,
    Unknown,
    product,
    strides_of,
    text_of,
    value_at,
)
from kernel_lineage.workloads.triton.whole_function import WholeFunction

SAVED = "saved_tensors"
"""The attribute of a context of autograd that holds what `forward` saves for `backward`."""
_OF_SAVED = (-1,)
_OF_OBJECT = (-2,)
Place = tuple[int | str, ...]
_SHAPES = 16
"""So many of a workload's shapes are read."""


@dataclass(slots=True)
class End:
    """What a function came to at one shape."""

    steps: tuple[LaunchStep | MemsetStep, ...]
    handed: tuple[tuple[object, ...], ...]
    """For each launch what it passes, as the host code has it."""
    buffers: Mapping[str, Tensor]
    gives: Mapping[Place, object]
    """What it returns, by places in tuples and lists; what it saves for `backward`, behind `_OF_SAVED`; tensors that it
    leaves in its object, behind `_OF_OBJECT`.
    """
    names: Names
    promises: tuple[str, ...]
    worked_out: tuple[str, ...]
    """What torch works out of buffers that were launched with, as it is written."""
    consumed: Collection[str]
    """These buffers."""
    untyped: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Buffer of which the code does not tell a type → its name, and how it is made."""
    of_torch: OfTorch = field(default_factory=OfTorch)
    """The kernels that do what torch works out."""

    @property
    def launches(self) -> list[LaunchStep]:
        """Its launches of the module's kernels, in order."""
        return [step for step in self.all_launches if step.entry not in self.of_torch.kernels]

    @property
    def all_launches(self) -> list[LaunchStep]:
        """Its launches, those of what torch works out among them."""
        return [step for step in self.steps if isinstance(step, LaunchStep)]

    @property
    def used(self) -> set[str]:
        """The buffers that are launched with."""
        return {buffer_of(word) for step in self.all_launches for word in step.arguments}

    def of_torch_with(self, buffer: str) -> bool:
        """Whether torch works with a buffer."""
        return any(
            buffer in map(buffer_of, step.arguments)
            for step in self.all_launches
            if step.entry in self.of_torch.kernels
        )

    @property
    def cleared(self) -> set[str]:
        """The buffers that it makes zero."""
        return {step.buffer for step in self.steps if isinstance(step, MemsetStep)}

    def name_of(self, buffer: str) -> str:
        """What the function calls a buffer; "" where it has no name."""
        named = (n for n, v in self.names.items() if isinstance(v, Tensor) and v.buffer == buffer)
        return next(named, "")


@dataclass(frozen=True, slots=True)
class Before:
    """Where a function has a workload's arguments before a change: what stands there after it is them."""

    gives: Mapping[Place, str | None]
    """Place in what it returns → the argument."""
    names: Mapping[str, str | None]
    """Local name → the argument."""
    cleared: Collection[str | None] = ()
    """The arguments that it makes zero."""
    constants: Mapping[str, str] = field(default_factory=dict)
    """Number that it passes wherever sizes are others → the workload's scalar that it is there."""
    worked_out: tuple[str, ...] | None = None
    """What torch works out of what was launched; None where the workload is of the launch alone."""
    views: Mapping[Place, Tensor] = field(default_factory=dict)
    """Place in what it returns → the tensor, which may be a view of its buffer."""

    @classmethod
    def of(
        cls,
        end: End,
        arguments: Mapping[str, str],
        constants: Mapping[str, str],
        worked_out: tuple[str, ...] | None = None,
    ) -> Before:
        """The same by what the function came to; `arguments` are the workload's, by buffer."""
        return cls(
            {place: arguments.get(t.buffer) for place, t in end.gives.items() if isinstance(t, Tensor)},
            {n: arguments.get(t.buffer) for n, t in end.names.items() if isinstance(t, Tensor)},
            {arguments.get(buffer) for buffer in end.cleared},
            constants,
            worked_out,
            {place: t for place, t in end.gives.items() if isinstance(t, Tensor)},
        )


@dataclass(slots=True)
class HostFunction:
    """A function, before and after a change, over a workload's arguments."""

    function: str
    workload: Workload
    root: Path
    bound: dict[str, object]
    """What names of the function are over the workload: a tensor with its buffer, a number, None."""
    parameters: Collection[str] = ()
    """Those of them that it is given, where the workload is of the function."""
    prepared: dict[tuple[str, str], object] = field(default_factory=dict)
    types: dict[tuple[str, str], str] = field(default_factory=dict)
    strides: dict[tuple[str, int], str] = field(default_factory=dict)
    """Tensor and axis → the scalar of the workload that is its stride."""

    def shapes(self) -> list[Mapping[str, int]]:
        """The shapes at which the function is read, the timed one first."""
        workload = self.workload
        shapes = [*workload.profile_dims, *itertools.islice(workload.shapes(), _SHAPES)]
        # The gate tries sizes of its own, around those of the workload, on the same devices.
        scaled = [
            {n: size if n in NAMES else max(1, int(size * f)) for n, size in shapes[-1].items()}
            for f in (3, 0.5)
        ]
        return [*shapes, *scaled]

    def at(
        self, dims: Mapping[str, int], module: HostModule, kernels: Mapping[str, Kernel], learns: bool = False
    ) -> End:
        """What the function does at one shape; it `learns` where it is the code that the workload is of.

        Raises `Unclear`.
        """
        sizes: dict[str, Number] = {**dims, **self.workload.scalars(dims)}
        bound, function = self.bound, module.functions[self.function]
        # A workload of one launch has what torch works out before it as arguments.
        reader = (WholeFunction if self.parameters else Collector)(
            Modules(self.root, {module.path: module}),
            function,
            sizes,
            lambda _n, _a: None,
            is_exact=True,
            kernels=kernels,
            own=module,
            scalars={a.name for a in self.workload.args if a.kind == "scalar"},
            buffers={t.buffer: t for t in bound.values() if isinstance(t, Tensor)},
            bound=bound,
            parameters=self.parameters,
            prepared=self.prepared,
            types=self.types,
            strides=self.strides,
            learns=learns,
            widest=self._widest(),
        )
        names: Names = {
            n: bound.get(n, Size(n) if n in dims else Unknown(n)) for n in names_of(function.args)
        }
        for name, node in defaults_of(function.args).items():
            if isinstance(names[name], Unknown):
                names[name] = reader.read(node, module)
        return end_of(reader, self.function, module, names)

    def program(
        self, before: Before, module: HostModule, kernels: Mapping[str, Kernel], already: Collection[str] = ()
    ) -> HostProgram:
        """The steps of a module's function over the workload, and where it takes them.

        What it asks of sizes is no condition where it is among `already`. Raises `Unclear`.
        """
        base, *others = self.shapes()
        end = self.at(base, module, kernels)
        steps = self._steps(end, before, kernels, base)
        conditions = over_dims((p for p in end.promises if p not in already), self.workload)
        for dims in others:
            if broken(dims, (*self.workload.promises, *conditions)):
                continue
            if self._steps(self.at(dims, module, kernels), before, kernels, dims) != steps:
                raise Unclear("takes another way at other sizes, and nothing tells at which")
        return replace(steps, conditions=conditions)

    def _widest(self) -> dict[str, Number]:
        """The largest size of each dim, and the numbers of the workload there."""
        shapes = [*self.workload.profile_dims, *self.workload.shapes()]
        dims = {name: max(shape[name] for shape in shapes) for name in self.workload.dims}
        return {**dims, **self.workload.scalars(dims)}

    def _steps(
        self, end: End, before: Before, kernels: Mapping[str, Kernel], dims: Mapping[str, int]
    ) -> HostProgram:
        """The steps at one shape over the workload's arguments."""
        if not end.launches and not end.of_torch.kernels:
            raise Unclear("launches no kernel")
        if before.worked_out not in (None, end.worked_out):
            others = {*before.worked_out} ^ {*end.worked_out}
            raise Unclear(
                f"torch works out `{min(others, default='the same in another order')}` behind a launch"
            )
        own = self._arguments(end, before, dims)
        scratch = self._scratch(end, own)
        adds = any("atomic" in kernels[step.entry].text for step in end.launches)
        steps: list[LaunchStep | MemsetStep] = []
        for step in end.steps:
            if isinstance(step, LaunchStep) and step.entry in end.of_torch.kernels:
                pass
            elif isinstance(step, LaunchStep):
                fixed = step.launch.constexpr
                names = [p.name for p in kernels[step.entry].parameters if p.name not in fixed]
                step = with_scalars(step, before.constants, names, self.workload)
            # What the host clears for nothing is timed on neither side.
            elif step.buffer not in end.used or not (
                adds
                or own.get(step.buffer, step.buffer) not in before.cleared
                or end.of_torch_with(step.buffer)
            ):
                continue
            steps.append(step_renamed(step, own))
        return HostProgram(tuple(steps), scratch, of_torch=end.of_torch)

    def _arguments(self, end: End, before: Before, dims: Mapping[str, int]) -> dict[str, str]:
        """The function's buffers that are arguments of the workload. What it returns at a place where it returned an
        argument is that argument, and what it has under the name that the argument had.
        """
        own: dict[str, str] = {}
        outputs = [a.name for a in self.workload.args if a.kind in ("output", "inout")]
        for place, argument in before.gives.items():
            value = end.gives.get(place)
            if argument in outputs and isinstance(value, Tensor):
                if not value.buffer:
                    raise Unclear(f"what it returns for `{argument}` is worked out by torch")
                if place in before.views and self._lies(value, dims) != self._lies(before.views[place], dims):
                    raise Unclear(f"what it returns for `{argument}` lies otherwise in memory")
                own.setdefault(value.buffer, argument)
        for name, argument in before.names.items():
            value = end.names.get(name)
            if isinstance(value, Tensor) and value.buffer and argument in {*outputs} - {*own.values()}:
                own.setdefault(value.buffer, argument)
        for output in outputs:
            buffer = next((b for b, argument in own.items() if argument == output), output)
            if buffer not in end.used:
                raise Unclear(f"nothing gives `{output}`")
            self._check_same(end.buffers[buffer], output, dims)
        return own

    def _scratch(self, end: End, own: dict[str, str]) -> tuple[Scratch, ...]:
        """The buffers that the function makes for itself alone; `own` gets their names."""
        taken = {*self.workload.dims, *(a.name for a in self.workload.args)}
        scratch: list[Scratch] = []
        for buffer, tensor in end.buffers.items():
            if not buffer.startswith("#") or buffer in own or buffer not in end.used:
                continue
            name = free_name(end.name_of(buffer) or "scratch", taken)
            taken.add(name)
            own[buffer] = name
            if tensor.dtype is None or tensor.shape is None:
                raise Unclear(f"nothing tells the shape and the type of `{name}`")
            scratch.append(Scratch(name, tensor.dtype, tuple(map(text_of, tensor.shape)) or ("1",)))
        return tuple(scratch)

    def _lies(self, tensor: Tensor, dims: Mapping[str, int]) -> tuple[object, ...]:
        """The shape of a tensor, its strides along axes of several elements, and the elements behind its first one."""
        sizes: dict[str, Number] = {**dims, **self.workload.scalars(dims)}
        extents = [value_at(extent, sizes) for extent in tensor.shape or ()]
        strides = [value_at(stride, sizes) for stride in strides_of(tensor)]
        behind = tensor.memory if tensor.memory is not None else product(tensor.shape or ())
        steps = [s for e, s in zip(extents, strides, strict=True) if e != 1]
        return extents, steps, value_at(behind, sizes)

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


def end_of(reader: Collector, name: str, module: HostModule, names: Names) -> End:
    """What a function of a module comes to with some arguments. Raises `Unclear`."""
    function = module.functions[name]
    of, _, _ = name.rpartition(".")
    first = function.args.args[:1]
    held = names.get(first[0].arg) if of in module.classes and first else None
    if isinstance(held, (Unknown, Instance)):
        attributes = held.attributes if isinstance(held, Instance) else {}
        names[first[0].arg] = Instance(Class(module.classes[of], module), dict(attributes))
    sizes = dict(reader.sizes)
    try:
        result = reader.run(function, module, names)
    except Stopped as stopped:
        raise Unclear(f"which ends before its end at {sizes}: {stopped}") from stopped
    context = names.get(first[0].arg) if of in module.classes and first else None
    attributes = dict(context.attributes) if isinstance(context, Instance) else {}
    gives = {**dict(_parts(result)), **dict(_parts(attributes.pop(SAVED, ()), _OF_SAVED))}
    left = ((place, v) for place, v in _parts(attributes, _OF_OBJECT) if isinstance(v, Tensor))
    gives |= {place: tensor for place, tensor in left if tensor.buffer not in reader.bound}
    of_torch = reader.torch_kernels
    wanted = {*reader.consumed, *(value.buffer for value in gives.values() if isinstance(value, Tensor))}
    steps = needed(reader.done, of_torch.kernels, wanted)
    parts = separate_parts(reader.buffers, gives.values(), reader.used, reader.sizes)
    own = {buffer: of for buffer, of in parts.items() if buffer not in reader.consumed}
    separated = Separated(own, reader.buffers, reader.sizes)
    return End(
        separated.steps(steps),
        tuple(tuple(map(separated.value, values)) for values in reader.handed),
        separated.buffers(),
        {place: separated.value(value) for place, value in gives.items()},
        {name: separated.value(value) for name, value in names.items()},
        tuple(reader.promises),
        tuple(reader.worked_out),
        frozenset(reader.consumed),
        reader.untyped,
        of_torch.of(steps),
    )


def attribute_name(name: str, attribute: str) -> str:
    """How a workload calls an attribute of an object that a function is given."""
    return f"{name}_{attribute}"


def object_of(name: str, of: Class | str, bound: Names) -> Instance:
    """The object of a name, with those attributes that names stand for."""
    front = attribute_name(name, "")
    attributes = {n.removeprefix(front): v for n, v in bound.items() if n.startswith(front)}
    places = [int(n.removeprefix(f"{SAVED}_")) for n in attributes if re.fullmatch(rf"{SAVED}_\d+", n)]
    if places:
        names = [f"{SAVED}_{at}" for at in range(max(places) + 1)]
        attributes[SAVED] = tuple(attributes.pop(n, Unknown(front + n)) for n in names)
    return Instance(of, attributes)


def attributes_of(name: str, instance: Instance) -> dict[str, object]:
    """An object's attributes by the names that a workload has for them, each saved tensor by its number."""
    attributes = dict(instance.attributes)
    saved = attributes.pop(SAVED, None)
    if isinstance(saved, tuple):
        attributes |= {f"{SAVED}_{at}": value for at, value in enumerate(saved)}
    return {attribute_name(name, n): value for n, value in attributes.items()}


def free_name(wanted: str, taken: Collection[str]) -> str:
    """A name that is not taken: the wanted one, else that with a number behind it."""
    names = itertools.chain([wanted], (f"{wanted}_{i}" for i in itertools.count()))
    return next(name for name in names if name not in taken)


def _parts(value: object, place: Place = ()) -> Iterator[tuple[Place, object]]:
    """What a function returns, by places in tuples and lists, and by keys of dicts."""
    if isinstance(value, (tuple, list)):
        value = dict(enumerate(value))
    if not isinstance(value, dict):
        yield place, value
        return
    for key, part in value.items():
        yield from _parts(part, (*place, key if isinstance(key, int) else str(key)))
