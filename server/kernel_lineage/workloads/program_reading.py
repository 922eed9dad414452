"""A host function, or a program's `main`, followed to its end as a program for the gate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tree_sitter import Node

from kernel_gate.program import LaunchStep
from kernel_gate.workload import Workload
from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.functions import PROGRAM, HostCode, declared_name, words_in
from kernel_lineage.workloads.following.host_arrays import DEVICE, MANAGED
from kernel_lineage.workloads.following.library import buffer_at, library_call
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.sequence import Unreadable
from kernel_lineage.workloads.following.types import INTEGERS
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import NotFollowed, Number, Opaque, Reference, Value, plain
from kernel_lineage.workloads.host_copies import copy_kernels, without_copies
from kernel_lineage.workloads.host_launchers import Reading
from kernel_lineage.workloads.host_program import HostProgram, OfTorch, over_dims
from kernel_lineage.workloads.own_arrays import check_results, own_arrays

_COUNTED = re.compile(r"\bargc\b\s*[-<>=!]+\s*(\d+)|\b(\d+)\s*[<>=!]+\s*argc\b")
_OF_HOST = frozenset({"cudaMallocHost", "cudaHostAlloc", "hipHostMalloc"})
"""Functions that make memory of the host."""
_ENDS = frozenset({"return", "goto"})


def read_host_function(
    source: SourceFile, unit: Unit, file: Unit, name: str, workload: Workload
) -> HostProgram:
    """What a host function of a unit launches, over the workload's arguments. Raises `Unreadable`.

    `file` is the source without its headers, which tells lines.
    """
    (function, *_) = (f for f in unit.hosts(name) if f.of_host)
    arrays = own_arrays(function, unit, workload)
    if name == PROGRAM:
        reading = _followed_program(source, unit, file, function, workload, arrays)
    else:
        reading = Reading(source, unit, file, workload)
        reading.own_arrays = arrays
        reading.called_again(function, reading.arguments_of(function))
    if not any(isinstance(step, LaunchStep) for step in reading.steps):
        raise Unreadable(file.hosts(name)[0].node.start_point[0] + 1, f"`{name}` launches no kernel")
    steps, scratch = without_copies(reading.steps, reading.scratch, source, workload, reading.shapes)
    check_results(function, arrays, steps, unit, workload, reading.shapes)
    copies = OfTorch(copy_kernels(steps))
    where = over_dims(_where(reading), workload)
    return HostProgram(tuple(steps), tuple(scratch), where, reading.calls, copies)


def _where(reading: Reading) -> Iterator[str]:
    """The sizes that are compiled into device code, as conditions. Raises `Unreadable` for one that cannot be told."""
    for name, value in reading.compiled.items() if isinstance(reading, _Program) else ():
        if not isinstance(value, Number) or not value.is_constant:
            raise Unreadable(1, f"`{name}`, which is compiled into device code,")
        yield f"{name} == {value.text}"


def _followed_program(
    source: SourceFile, unit: Unit, file: Unit, function: HostCode, workload: Workload, arrays: frozenset[str]
) -> Reading:
    """A program that is read to its last step on the device, run with few words. Raises `Unreadable`."""
    counts = sorted(
        {int(n) + more for m in _COUNTED.finditer(unit.text) for n in m.groups() if n for more in (0, 1)}
    )
    first: Unreadable | None = None
    for count in dict.fromkeys((1, *counts)):
        reading = _Program(source, unit, file, workload)
        reading.own_arrays = arrays
        words: dict[str, Value] = {
            p.name: plain(count) if p.type in INTEGERS and not p.stars else Opaque(f"`{p.name}`")
            for p in function.parameters
        }
        try:
            reading.to_end(function, words)
        except Unreadable as error:
            first = first or error
            continue
        if any(isinstance(step, LaunchStep) for step in reading.steps):
            return reading
    raise first or Unreadable(function.node.start_point[0] + 1, f"`{function.name}` launches no kernel")


class _Program(Reading):
    """Follows a program. What only the host computes may stay unknown, as long as no step on the device needs it."""

    def __init__(self, source: SourceFile, unit: Unit, file: Unit, workload: Workload) -> None:
        super().__init__(source, unit, file, workload)
        self._acting = _acting(unit)
        self._sizes = workload.dims.keys() | {a.name for a in workload.args if a.kind == "scalar"}
        outside = self._sizes & (unit.constants.keys() | unit.macros.keys())
        self.compiled = {name: self.named(name, Names()) for name in sorted(outside & unit.device_words())}
        """Sizes of the workload that are numbers in device code, with these."""
        self.outside.values |= {name: Number(self.shapes[0][name], (name,)) for name in outside}

    def to_end(self, entry: HostCode, values: Mapping[str, Value]) -> Value | None:
        """Nothing; a program is followed to its last statement that does something on the device."""
        statements = entry.body.named_children
        last = max((at for at, node in enumerate(statements) if self._is_of_device(node)), default=-1)
        self._end = statements[last].end_byte if last >= 0 else entry.body.start_byte
        return super().to_end(entry, values)

    def run(self, node: Node, names: Names) -> None:
        if len(self.frames) == 1 and node.start_byte >= self._end:
            return
        try:
            super().run(node, names)
        except Unreadable as error:
            if self._acts(node):
                raise
            try:
                self._pass_over(node, names, NotFollowed(str(error)))
            except NotFollowed:
                raise error from None
            for name in _declared(node):
                names.values[name] = Opaque(f"`{name}`")
            for name in _handed_on(node, self.unit):
                if names.holder(name) is not None:
                    names.set(name, Opaque(f"`{name}`"))

    def _do_declaration(self, node: Node, names: Names) -> None:
        """Also of the sizes of the workload: numbers that are written out, or that whoever runs the program gives."""
        super()._do_declaration(node, names)
        for name in _declared(node) if len(self.frames) == 1 else ():
            value = names.values.get(name)
            is_open = isinstance(value, Opaque) or (isinstance(value, Number) and value.is_constant)
            if name in self._sizes and is_open:
                names.values[name] = Number(self.shapes[0][name], (name,))
            elif isinstance(value, Number) and value.text == name and name not in self._sizes:
                names.values[name] = plain(value.value)

    def runtime(self, name: str, args: list[Value]) -> bool:
        """Also memory that the host and the device share, where it is an array of the workload."""
        if name in _OF_HOST:
            library_call(name, args, self.sizes)
            return True
        place = args[0] if args else None
        if name in MANAGED and isinstance(place, Reference) and place.name in self.own_arrays:
            library_call(name, args, self.sizes)
            if (buffer := buffer_at(place)) is not None:
                self.check_elements(place.name, args[1])
                self.memory[buffer] = place.name
            return True
        return super().runtime(name, args)

    def _has(self, value: Value | None) -> bool:
        """Whether a value points into memory that the host may not touch: before a launch its arrays are its own."""
        is_launched = any(isinstance(step, LaunchStep) for step in self.steps)
        buffer = buffer_at(value) if value is not None else None
        is_own = buffer is not None and self.memory.get(buffer, "") in self.own_arrays
        return super()._has(value) and (is_launched or not is_own)

    def _acts(self, node: Node) -> bool:
        return self._is_of_device(node) or not words_in(node).isdisjoint(_ENDS)

    def _is_of_device(self, node: Node) -> bool:
        """Whether a piece of code may do something on the device, itself or by what it calls."""
        return DEVICE.search(text_of(node)) is not None or not words_in(node).isdisjoint(self._acting)


def _declared(node: Node) -> Iterator[str]:
    """The variables that a declaration introduces."""
    if node.type == "declaration":
        for declarator in node.children_by_field_name("declarator"):
            yield declared_name(declarator)[0]


def _handed_on(node: Node, unit: Unit) -> Iterator[str]:
    """The variables that calls may change: objects of methods, and what functions take by reference."""
    for call in (n for n in (node, *inside(node)) if n.type == "call_expression"):
        callee, listed = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        if callee is not None and callee.type == "field_expression":
            yield from _names(callee.child_by_field_name("argument"))
        functions = unit.functions.get(text_of(callee).rpartition("::")[2], ())
        for at, argument in enumerate(arguments_of(listed)):
            taken = [f.parameters[at] for f in functions if at < len(f.parameters)]
            if not taken or any(p.reference or p.stars for p in taken):
                yield from _names(argument)


def _names(node: Node | None) -> Iterator[str]:
    nodes = (node, *inside(node)) if node is not None else ()
    return (text_of(n) for n in nodes if n.type == "identifier")


def _acting(unit: Unit) -> frozenset[str]:
    """Functions, methods, classes and macros of a unit that do something on the device, by their names."""
    texts = {name: " ".join(text_of(f.node) for f in fs if f.of_host) for name, fs in unit.functions.items()}
    texts |= {name: text_of(code.body) for name, code in unit.classes.items()}
    texts |= {name: macro.body for name, macro in unit.macros.items()}
    for methods in unit.own_methods.values():
        for name, fs in methods.items():
            texts[name] = " ".join((texts.get(name, ""), *(text_of(f.node) for f in fs)))
    acting = {name for name, text in texts.items() if DEVICE.search(text)} | unit.kernels
    words = {name: {*re.findall(r"\w+", text)} for name, text in texts.items()}
    while more := {name for name, used in words.items() if name not in acting and used & acting}:
        acting |= more
    return frozenset(acting)
