"""A workload drafted for a host function that launches Triton kernels: its parameters are the arguments.

What it launches is read from its statements whenever it is run; the draft says what its callers give it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from kernel_gate.expressions import names as names_in
from kernel_gate.program import Value
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.benchmarked_sizes import with_benchmarks
from kernel_lineage.workloads.device_size import NAMES, multiprocessors
from kernel_lineage.workloads.files import Launcher
from kernel_lineage.workloads.following.launcher import together
from kernel_lineage.workloads.host_program import Unclear, buffer_of
from kernel_lineage.workloads.model import Draft, DraftArgument, Role, Taken
from kernel_lineage.workloads.triton.arguments import as_tensor, buffer, constant_text, why_unknown
from kernel_lineage.workloads.triton.cases import other_sizes
from kernel_lineage.workloads.triton.chosen_shapes import Chosen
from kernel_lineage.workloads.triton.draft import MOST_READINGS, of_users, own_module, readings
from kernel_lineage.workloads.triton.host_function import (
    SAVED,
    End,
    attributes_of,
    end_of,
    free_name,
    object_of,
)
from kernel_lineage.workloads.triton.host_modules import HostModule, launched_in, names_of
from kernel_lineage.workloads.triton.indices import indices_of
from kernel_lineage.workloads.triton.listed_tensors import element_name, is_list_of_tensors
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton.named_dims import with_named_dims
from kernel_lineage.workloads.triton.objects import Instance
from kernel_lineage.workloads.triton.promises import each_once, promises_of, unmasked
from kernel_lineage.workloads.triton.roles import roles_of, touches_of
from kernel_lineage.workloads.triton.sites import Site
from kernel_lineage.workloads.triton.strided_axes import Axes, further_axes
from kernel_lineage.workloads.triton.tensor_methods import GRADIENT, gradient_name
from kernel_lineage.workloads.triton.values import Open, Size, Tensor, is_number, text_of
from kernel_lineage.workloads.triton.ways import Reading, Ways
from kernel_lineage.workloads.triton.whole_function import WholeFunction

_RESULT = "out"
"""What a result is called that the function has no name for."""

_FEWEST = 2
"""Tensors of a list of which nothing tells how many there are: one shows nothing of what goes from one to the next."""


def function_drafts(
    launcher: Launcher, path: Path, modules: Modules, taken: Taken, axes: Axes | None = None
) -> Iterator[Draft]:
    """The drafts of a host function, one for each way to a call of it; `modules` are the repository's, and `axes` those
    of tensors that nobody gives, as its kernels walk along them.
    """
    if launcher.source.module is None:
        return
    own = own_module(path, launcher.source.module, modules)
    node, sites = own.functions[launcher.name], (Site(own, launcher.name),)
    # Where nobody calls it, it is read down to its last launch, which tells most of the shapes that it needs.
    launched = [k.function for k in launcher.kernels if k.function is not None]
    last = max(launched, key=lambda f: _last_line(node, f.name))
    ways = (
        reading
        for target in (node, last)
        for reading, _ in readings(target, own, sites, modules, taken, axes)
        if (target is node) == (reading.chosen is None)
    )
    thin: list[Draft] = []
    timed: list[Draft] | None = None
    for reading in islice(ways, MOST_READINGS):
        one = _FunctionDraft(launcher, path, own, reading)
        draft = one.draft()
        if one.further and not axes:
            yield from function_drafts(launcher, path, modules, taken, one.further)
            return
        # Of one row, nothing shows that is done over rows.
        is_thin = any(len(a.shape or ()) > 1 and "1" in (a.shape or ()) for a in draft.arguments)
        if is_thin:
            thin.append(draft)
        elif reading.tested and not draft.missing:
            if timed is None:
                users = of_users(node, own, sites, modules, Ways.timed_in)
                timed = [_FunctionDraft(launcher, path, own, one).draft() for one, _ in users]
            yield from with_benchmarks(draft, timed)
        else:
            yield draft
    yield from thin


def results_of(end: End, arguments: Collection[str]) -> dict[str, str]:
    """What a function has made, launched with, and returns or lets torch read: buffer → its name among arguments."""
    names: dict[str, str] = {}
    returned = [value.buffer for value in end.gives.values() if isinstance(value, Tensor)]
    for buffer_ in (*returned, *sorted(end.consumed)):
        if buffer_.startswith("#") and buffer_ in end.used:
            taken = {*arguments, *names.values()}
            names.setdefault(buffer_, free_name(end.name_of(buffer_) or _RESULT, taken))
    return names


@dataclass(slots=True)
class _FunctionDraft:
    """The draft of one way to a call."""

    launcher: Launcher
    path: Path
    own: HostModule
    reading: Reading
    further: Axes = field(default_factory=dict)
    """The tensors that have more axes than they were taken to have, as the kernels walk along them."""

    def draft(self) -> Draft:
        """The draft; what is not told is missing."""
        launcher, reading = self.launcher, self.reading
        for name in NAMES:
            reading.reader.sizes.setdefault(name, multiprocessors())
        values = self._parameters()
        bound, constexpr, scalars = self._bound(values)
        draft = Draft(
            launcher.name,
            Language.TRITON,
            self.path.name,
            {},
            {},
            (),
            ("1",),
            constexpr=constexpr,
            way=reading.way,
            tested=reading.tested,
        )
        try:
            end = self._end(bound, scalars)
        except Unclear as unclear:
            return replace(draft, missing=(f"what {launcher.name} launches: {unclear}",))
        if reading.chosen is not None:
            for kernel, words in self._handed(end):
                self.further |= further_axes(touches_of(kernel), words)
            bound = self._with_unknown(bound, end, reading.chosen)
        arguments = tuple(self._arguments(end, bound, scalars))
        unused = scalars.keys() - {a.name for a in arguments}
        constexpr |= {name: repr(scalars[name]) for name in sorted(unused)}
        for name, value in end.names.items():
            if isinstance(value, Size):
                reading.reader.called_as.setdefault(value.text, name)
        sizes = reading.reader.sizes
        tiles = dict(self._of_launches(end))
        notes = (*reading.said, *reading.reader.said, *reading.reader.decided, *tiles.values())
        draft = replace(
            draft,
            arguments=arguments,
            constexpr=constexpr,
            promises=(*end.promises, *reading.reader.promises, *tiles, *each_once(arguments, sizes)),
            assumed=tuple(filter(None, dict.fromkeys(notes))),
            missing=tuple(dict.fromkeys(reading.missing)),
        )
        passed = [
            text
            for step in end.all_launches
            for text in (
                *step.launch.grid,
                *step.launch.constexpr.values(),
                *(word.value for word in step.arguments if isinstance(word, Value)),
            )
        ]
        draft = with_named_dims(draft, reading.reader, reading.constants, passed)
        return replace(draft, others=other_sizes(draft.dims, reading.cases))

    def _parameters(self) -> dict[str, object]:
        """What each parameter of the function is at its call."""
        names = self.reading.frame.names
        values: dict[str, object] = {}
        for name in names_of(self.own.functions[self.launcher.name].args):
            value = names.get(name)
            if is_list_of_tensors(value):
                more = _FEWEST - len(value) if self.reading.chosen is not None else 0
                elements = [*value, *[Open(name)] * more]
                values[name] = [self._tensor(element_name(name, at), e) for at, e in enumerate(elements)]
            else:
                values[name] = self._tensor(name, value)
        return values

    def _tensor(self, name: str, value: object) -> object:
        """What a parameter, or an element of one, is: a tensor as its caller gives it; another value as it is."""
        chosen = self.reading.chosen
        if chosen is not None and isinstance(value, (Tensor, Open)):
            return chosen.tensor(name, asked=True)
        return as_tensor(value, self.reading) if isinstance(value, (Tensor, Open)) else value

    def _bound(
        self, values: Mapping[str, object]
    ) -> tuple[dict[str, object], dict[str, str], dict[str, float]]:
        """What the function's names stand for; those that the workload fixes, and its scalars.

        Attributes of an object are names by themselves, `self_weight`.
        """
        bound: dict[str, object] = {}
        constexpr: dict[str, str] = {}
        scalars: dict[str, float] = {}
        for name, value in values.items():
            if isinstance(value, Instance):
                attributes = attributes_of(name, value)
                own, fixed, numbers = self._bound({n: v for n, v in attributes.items() if _is_bound(v)})
                bound |= {**own, name: object_of(name, value.of, own)}
                constexpr |= fixed
                scalars |= numbers
            elif is_list_of_tensors(value):
                elements = {element_name(name, at): e for at, e in enumerate(value)}
                own, fixed, numbers = self._bound(elements)
                bound |= {**own, name: [own[element] for element in elements if element in own]}
                constexpr |= fixed
                scalars |= numbers
            elif isinstance(value, Tensor):
                if value.strides is not None:
                    self.reading.said.append(f"{name} is taken to lie row by row: its caller has a view")
                bound[name] = replace(value, name=name, buffer=name, strides=None, memory=None)
                if self._asks_for_gradients:
                    grad = gradient_name(name)
                    bound[grad] = replace(value, name=grad, buffer=grad, strides=None, memory=None)
            elif isinstance(value, float):
                bound[name], scalars[name] = Size(name), value
            elif (text := constant_text(value)) is not None:
                bound[name] = value
                if text != name:
                    constexpr[name] = text
            else:
                self.reading.missing.append(f"the value of {name}: {why_unknown(value)}")
        return bound, constexpr, scalars

    @property
    def _asks_for_gradients(self) -> bool:
        """Whether the function asks a tensor for its gradient."""
        nodes = ast.walk(self.own.functions[self.launcher.name])
        return any(isinstance(node, ast.Attribute) and node.attr == GRADIENT for node in nodes)

    def _end(self, bound: dict[str, object], scalars: Mapping[str, float]) -> End:
        reader = WholeFunction(
            self.reading.reader.modules,
            self.own.functions[self.launcher.name],
            {**self.reading.reader.sizes, **scalars},
            lambda _n, _a: None,
            is_exact=True,
            kernels={k.name: k for k in self.launcher.kernels},
            own=self.own,
            scalars=scalars,
            buffers={t.buffer: t for t in bound.values() if isinstance(t, Tensor)},
            bound=bound,
            parameters=[*bound],
            invents=True,
        )
        names = dict.fromkeys(names_of(self.own.functions[self.launcher.name].args)) | dict(bound)
        return end_of(reader, self.launcher.name, self.own, names)

    def _arguments(
        self, end: End, bound: Mapping[str, object], scalars: Mapping[str, float]
    ) -> Iterator[DraftArgument]:
        roles, indices = self._touched(end)
        for name, value in bound.items():  # what torch works out first is among them by now
            # What is saved and not launched with may still tell a shape; each saved tensor has its place.
            used = end.used | {*end.consumed}
            is_used = name in used or gradient_name(name) in used
            if isinstance(value, Tensor) and (is_used or f"_{SAVED}_" in name):
                role = roles.get(name, "input")
                yield buffer(name, value, value, role, name in indices, self.reading)
            elif name in scalars and any(
                word == name or (isinstance(word, Value) and name in names_in(word.value))
                for step in end.all_launches
                for word in step.arguments
            ):
                yield DraftArgument(name, "scalar", "float32", value=repr(scalars[name]))
        for made, name in results_of(end, [*bound]).items():
            tensor = end.buffers[made]
            output = buffer(name, tensor, tensor, "output", False, self.reading)
            yield replace(output, noalias=True)

    def _touched(self, end: End) -> tuple[dict[str, Role], set[str]]:
        """What the launches do with each buffer, one after the other, and the buffers whose elements make addresses."""
        roles: dict[str, Role] = {}
        indices: set[str] = set()
        launches = self._launches(end)
        for step in end.all_launches:
            if step.entry in end.of_torch.kernels:
                into, *read = filter(None, map(buffer_of, step.arguments))
                # What torch writes to a tensor of the caller's may be a part of it.
                changes = into in read or not into.startswith("#")
                of_step: dict[str, Role] = dict.fromkeys(read, "input")
                of_step[into] = "inout" if changes else "output"
                for name, role in of_step.items():
                    roles[name] = together(roles[name], role) if name in roles else role
                continue
            kernel, passed = next(launches)
            of_kernel = roles_of(touches_of(kernel))
            index = indices_of(kernel.function) if kernel.function is not None else frozenset[str]()
            for parameter, name in passed.items():
                if name and parameter in of_kernel:
                    role = of_kernel[parameter]
                    roles[name] = together(roles[name], role) if name in roles else role
                if name and parameter in index:
                    indices.add(name)
        return roles, indices

    def _launches(self, end: End) -> Iterator[tuple[Kernel, dict[str, str]]]:
        """Each launch as its kernel, and the buffer that each parameter of it is given."""
        for step in end.launches:
            kernel = next(k for k in self.launcher.kernels if k.name == step.entry)
            own = [p.name for p in kernel.parameters if p.name not in step.launch.constexpr]
            yield kernel, dict(zip(own, map(buffer_of, step.arguments), strict=True))

    def _handed(self, end: End) -> Iterator[tuple[Kernel, dict[str, object]]]:
        """Each launch as its kernel, and what the host code has for each parameter of it."""
        for (kernel, passed), handed in zip(self._launches(end), end.handed, strict=True):
            yield kernel, dict(zip(passed, handed, strict=False))

    def _with_unknown(self, bound: Mapping[str, object], end: End, chosen: Chosen) -> dict[str, object]:
        """What the function's names stand for; a tensor without a shape where no code asks anything of it, so that how
        far the kernels reach tells it.
        """
        words = (word for _, part in self._handed(end) for word in part.values() if is_number(word))
        shapes = (t.shape or () for b, t in end.buffers.items() if b not in bound)
        texts = [*map(text_of, words), *(text_of(e) for shape in shapes for e in shape), *end.promises]
        texts += [
            text for step in end.launches for text in (*step.launch.grid, *step.launch.constexpr.values())
        ]
        asked = {n for text in texts for n in WORD.findall(text)}
        unknown = dict(bound)
        for dim, name in chosen.rankless.items():
            value = bound.get(name)
            if (
                dim not in asked
                and isinstance(value, Tensor)
                and tuple(map(text_of, value.shape or ())) == (dim,)
            ):
                unknown[name] = replace(value, shape=None)
                chosen.forget(name, dim)
        return unknown

    def _of_launches(self, end: End) -> Iterator[tuple[str, str]]:
        """What the kernels ask of sizes, each with a note for people or ""."""
        sizes = self.reading.reader.sizes
        for step, (kernel, passed) in zip(end.launches, self._launches(end), strict=True):
            numbers = {
                p: word.value
                for p, word in zip(passed, step.arguments, strict=True)
                if isinstance(word, Value)
            }
            written = {**numbers, **step.launch.constexpr}
            yield from ((p, "") for p in promises_of(kernel, written, step.launch.grid, sizes))
            yield from unmasked(kernel, written, step.launch.grid, sizes).items()


def _is_bound(value: object) -> bool:
    """Whether a workload can give an attribute of an object."""
    return isinstance(value, (Tensor, float)) or constant_text(value) is not None


def _last_line(function: ast.FunctionDef, kernel: str) -> int:
    """The last line at which a function launches a kernel; 0 where it does not."""
    calls = (n.lineno for n in ast.walk(function) if isinstance(n, ast.Call) and kernel in launched_in(n))
    return max(calls, default=0)
