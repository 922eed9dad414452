"""A host function that launches kernels, read as a program: its launches, memsets and allocations in order."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

from tree_sitter import Node

from kernel_gate.dtypes import DTYPES
from kernel_gate.expressions import ExpressionError, evaluate
from kernel_gate.expressions import Number as Plain
from kernel_gate.program import LaunchSpec, LaunchStep, MemsetStep, Operand, Pointer, Scratch
from kernel_gate.program import Value as Constant
from kernel_gate.workload import Workload
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.source import Parameter, SourceFile
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.following.changed_arrays import changed_arrays
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.fields import alias_of, passed
from kernel_lineage.workloads.following.functions import (
    HostCode,
    HostParameter,
    bare_type,
    declared_name,
    element_of_vector,
)
from kernel_lineage.workloads.following.host_arrays import COPIES, host_array, host_numbers
from kernel_lineage.workloads.following.launch_site import meanings_of, translated
from kernel_lineage.workloads.following.launches import LaunchArgument, Launched
from kernel_lineage.workloads.following.library import ALLOCATORS, buffer_at, library_call
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.sequence import Sequence, Unreadable
from kernel_lineage.workloads.following.sizes import BLOCK_SIZES
from kernel_lineage.workloads.following.structures import (
    call_of,
    field_name,
    is_own,
    record_of,
    structure_of,
)
from kernel_lineage.workloads.following.types import (
    FLOATS,
    INTEGERS,
    VECTORS,
    bytes_of,
    cpp_type_of,
    dtype_of,
)
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import (
    Buffer,
    NotFollowed,
    Number,
    Opaque,
    Record,
    Reference,
    Value,
    divided,
    made,
    plain,
    times,
)
from kernel_lineage.workloads.following.values import Pointer as Address
from kernel_lineage.workloads.following.workspaces import CLEARS
from kernel_lineage.workloads.following.written import tidy
from kernel_lineage.workloads.host_copies import MOST_COPIED, copy_step
from kernel_lineage.workloads.host_program import buffer_of, step_renamed

STREAM = "cudaStream_t"
"""A type of parameters of which a workload has none."""

_ALLOCATED_AT = 256
"""Allocators of the device begin memory at multiples of it."""


class Reading(Sequence):
    """Collects what functions do, with numbers over the workload's arguments and dims."""

    def __init__(self, source: SourceFile, unit: Unit, file: Unit, workload: Workload) -> None:
        super().__init__(unit, file)
        self.steps: list[LaunchStep | MemsetStep] = []
        self.scratch: list[Scratch] = []
        self._source, self.workload = source, workload
        self.memory: dict[Buffer, str] = {}
        """Memory of the device by its names."""
        self.own_arrays: frozenset[str] = frozenset()
        """Arguments of the workload that are arrays of the function's own, which it copies to the device or from it."""
        self._copied_arrays: set[tuple[str, int]] = set()
        """Those that were copied in this call, each with its place among the arguments of the copy."""
        self._of_callers: set[Buffer] = set()
        """Buffers of structures that callers give, which nobody else uses."""
        self._is_static, self._statics = False, Names()
        self._enough: set[str] = set()
        """Names in numbers than which what an earlier call keeps of them is told to be no smaller."""
        self.calls = 1
        self.shapes: list[dict[str, Plain]] = [
            {**dims, **workload.scalars(dims)}
            for dims in itertools.chain(workload.shapes(), workload.profile_dims)
        ]

    def to_end(self, entry: HostCode, values: Mapping[str, Value]) -> Value | None:
        self._copied_arrays.clear()
        return super().to_end(entry, values)

    def called_again(self, function: HostCode, values: Mapping[str, Value]) -> Value | None:
        """What a function gives when it is called once, and once more where the second call does other things.

        What is cleared where it is allocated is cleared for the first call alone, which is one of other data. Raises
        `Unreadable`.
        """
        by_value = {p.name for p in function.parameters if not p.reference and not p.stars}
        copies = {
            n: Record(v.type, dict(v.fields))
            for n, v in values.items()
            if n in by_value and isinstance(v, Record)
        }
        start = len(self.scratch)
        result = self.to_end(function, values)
        first, count = self.steps, len(self.scratch)
        self.steps = []
        again = self.to_end(function, {**values, **copies})
        made_first, used_again = self.scratch[start:count], self.steps
        left = [one.name for one in self.scratch[:count]]
        same: dict[str, str] = {}
        for one in self.scratch[count:]:
            twin = next((n for n in left if n.rpartition("_")[0] == one.name.rpartition("_")[0]), None)
            if twin is not None:
                left.remove(twin)
                same[one.name] = twin
        if [step_renamed(step, same) for step in self.steps] == first:
            self._check_sizes(made_first, used_again, function)
            self.steps = first
            del self.scratch[count:]
            return result
        self._check_kept([step for step in first if step not in self.steps], function)
        self._check_sizes(made_first, used_again, function)
        self.steps, self.calls = [*self._on_other_data(first, function), *self.steps], 2
        return again

    def operated(self, operator: str, left: Value, right: Value, written: str) -> Value:
        """Also notes the sizes for which what an earlier call keeps is told to be large enough."""
        sides = written.split(operator) if operator in ("<", "<=", ">", ">=") else []
        if (
            len(sides) == 2
            and isinstance(left, Number)
            and isinstance(right, Number)
            and left.text == right.text
        ):
            kept = {n.rpartition(":")[2] for n in self._statics.values} | self.outside.values.keys()
            kept |= {field.name for field in self.unit.fields_of(self.frames[0].function.of_class)}
            smaller, larger = sides if operator.startswith("<") else sides[::-1]
            words = [{*WORD.findall(side)} for side in (smaller, larger)]
            # `held < n` makes new memory, `n <= held` leaves the old.
            held, needed = words[::-1] if operator.endswith("=") else words
            if held & kept and not needed & kept:
                self._enough |= {*WORD.findall(left.text)}
        return super().operated(operator, left, right, written)

    def _check_sizes(
        self, made_first: list[Scratch], steps: list[LaunchStep | MemsetStep], function: HostCode
    ) -> None:
        """Raises `Unreadable` where the steps of a later call use memory that the first made for its sizes, and nothing
        compares these: a call of larger ones would go beyond it.
        """
        used = {buffer_of(w) for step in steps if isinstance(step, LaunchStep) for w in step.arguments}
        of_callers = {self.memory.get(buffer) for buffer in self._of_callers}
        names = {a.name for a in self.workload.args if a.kind == "scalar"} | self.workload.dims.keys()
        for one in (one for one in made_first if one.name in used - of_callers):
            if left := sorted(
                ({*WORD.findall(" ".join(map(str, one.shape)))} & names) - self.compared - self._enough
            ):
                raise Unreadable(
                    self._line_of(function.node) or 1,
                    f"a later call of `{function.name}` uses memory of the first, and nothing "
                    f"compares `{left[0]}` with what it was",
                )

    def _check_kept(self, kept: list[LaunchStep | MemsetStep], function: HostCode) -> None:
        """Raises `Unreadable` where a later call does without a launch of the first that is given numbers alone, and
        nothing compares these numbers: two calls of the same numbers do not show what is wrong for others.
        """
        names = {a.name for a in self.workload.args if a.kind == "scalar"} | self.workload.dims.keys()
        inputs = {a.name for a in self.workload.args if a.kind in ("input", "inout")}
        for step in (one for one in kept if isinstance(one, LaunchStep)):
            words = [w.value if isinstance(w, Constant) else buffer_of(w) for w in step.arguments]
            used = set(WORD.findall(" ".join((*step.launch.grid, *words))))
            left = sorted((used & names) - self.compared)
            if left and not used & inputs:
                raise Unreadable(
                    self._line_of(function.node) or 1,
                    f"a later call of `{function.name}` does not launch `{step.entry}` again, and nothing compares "
                    f"`{left[0]}` with what it was",
                )

    def _on_other_data(
        self, steps: list[LaunchStep | MemsetStep], function: HostCode
    ) -> list[LaunchStep | MemsetStep]:
        """The steps of an earlier call, of other inputs and outputs: zeros, so that what it leaves tells nothing of the
        later one. Indices that may not be zero are the same. Raises `Unreadable`.
        """
        used = {
            buffer_of(word) for step in steps if isinstance(step, LaunchStep) for word in step.arguments
        } | {step.buffer for step in steps if isinstance(step, MemsetStep)}
        others: dict[str, str] = {}
        zeros: list[MemsetStep] = []
        for argument in self.workload.args:
            name = argument.name
            if name not in used or argument.kind not in ("input", "inout", "output"):
                continue
            kind, limits = argument.values_spec
            has_zero = DTYPES[argument.dtype].is_float or (kind == "integers" and limits[:1] in ((), ("0",)))
            if argument.kind == "input" and not has_zero:
                continue
            if argument.kind == "inout" and not has_zero:
                raise Unreadable(
                    self._line_of(function.node) or 1,
                    f"a later call of `{function.name}` finds other contents than the first, and nothing tells what "
                    f"else `{name}` may hold",
                )
            others[name] = f"{name}_before_{len(self.scratch)}"
            self.scratch.append(
                Scratch(others[name], argument.dtype, tuple(map(str, argument.shape or ("1",))))
            )
            if argument.kind != "output":
                zeros.append(MemsetStep(others[name]))
        return [*zeros, *(step_renamed(step, others) for step in steps)]

    def arguments_of(self, function: HostCode) -> Mapping[str, Value]:
        """The function's parameters as the workload's arguments: by name where all are known, else by position.

        Each field of a structure is an argument, or is what callers give it.
        """
        workload = self.workload
        structures = {p.name: p for p in function.parameters if structure_of(p, self.unit)}
        fields = {field_name(p, f) for p in structures.values() for f in structure_of(p, self.unit)}
        declared = [a.name for a in workload.args if a.name not in fields]
        names = {a.name for a in workload.args} | set(workload.dims)
        numbers = host_numbers(function)
        parameters = [
            p
            for p in function.parameters
            if p.type != STREAM and p.name not in structures.keys() | numbers - names
        ]
        by_name = all(p.name in names or p.name.lower() in BLOCK_SIZES for p in parameters)
        taken = {p.name for p in parameters} | fields
        written = (a.name for a in workload.args if a.kind in ("output", "inout"))
        if by_name and structures and (left := next((n for n in written if n not in taken), "")):
            raise Unreadable(self._line_of(function.node) or 1, f"nothing gives `{left}`")
        if not by_name and len(parameters) != len(declared):
            raise Unreadable(
                self._line_of(function.node) or 1,
                f"`{function.name}` takes {', '.join(p.name for p in parameters)}; the workload declares "
                f"{', '.join(declared)}; make them agree",
            )
        values: dict[str, Value] = {}
        order: dict[str, str] = {}
        for position, parameter in enumerate(parameters):
            name = order[parameter.name] = parameter.name if by_name else declared[position]
            argument = workload.argument(name)
            if argument is not None and argument.is_pointer:
                values[parameter.name] = self._argument_at(name, parameter)
            elif name in names:
                values[parameter.name] = Number(self.shapes[0][name], (name,))
            else:
                values[parameter.name] = self._threads()
        values |= {n: Address(Buffer(n)) for n in numbers - values.keys()}
        if structures:
            values |= self._structures(function, [order.get(p.name, "") for p in function.parameters])
        return {**values, **self.object_of(function, values)}

    def _argument_at(self, name: str, parameter: HostParameter) -> Address | Buffer:
        """The first element of a buffer of the workload, as a parameter or field points to it."""
        of_vector = element_of_vector(parameter)
        kind = alias_of(of_vector or bare_type(parameter.type), self.unit)
        buffer = Buffer(name, dtype=kind if bytes_of(kind) else "")
        self.memory[buffer] = name
        argument = self.workload.argument(name)
        element = dtype_of(kind)  # of a vector that of its components
        if argument is not None and element and DTYPES[element].itemsize != DTYPES[argument.dtype].itemsize:
            raise Unreadable(self._line, f"`{name}` is of {kind}, and {argument.dtype} in the workload")
        if not of_vector:
            return Address(buffer, buffer.dtype)
        buffer.size = plain(DTYPES[argument.dtype].itemsize if argument is not None else 1)
        for extent in (argument.shape or ()) if argument is not None else ():
            buffer.size = times(buffer.size, self._over_workload(str(extent)))
        return buffer

    def _structures(self, function: HostCode, order: list[str]) -> dict[str, Value]:
        """The parameters that are structures, as callers make them, over the workload."""
        reached = call_of(self.unit, function.name)
        if reached is None:
            raise Unreadable(
                self._line_of(function.node) or 1, f"the calls of `{function.name}` cannot be followed"
            )
        launch, sizes = reached
        outside = (self.unit.constants.keys() | self.unit.macros.keys()) & sizes.dims.keys()
        meanings = meanings_of(launch, self.workload, order, {n: str(sizes.dims[n]) for n in outside})
        values: dict[str, Value] = {}
        for parameter, argued in zip(function.parameters, launch.arguments, strict=True):
            if not (fields := structure_of(parameter, self.unit)):
                continue
            record = record_of(argued.value)
            made_there = record.fields if record is not None else {}
            values[parameter.name] = Record(
                alias_of(parameter.type, self.unit),
                {
                    f.name: self._handed(parameter, f, made_there.get(f.name), function, meanings)
                    for f in fields
                },
            )
        return values

    def _handed(
        self,
        parameter: HostParameter,
        field: HostParameter,
        value: Value | None,
        function: HostCode,
        meanings: Mapping[str, str],
    ) -> Value:
        """A field of a structure that a caller gives: an argument of the workload, a number, or a buffer of its own."""
        name, written = field_name(parameter, field), f"`{parameter.name}.{field.name}`"
        argument = self.workload.argument(name)
        if argument is not None and argument.is_pointer:
            return self._argument_at(name, field)
        if isinstance(value, Number):
            text = translated(value, meanings)
            return self._over_workload(text) if text is not None else Opaque(f"{written}, a caller's number,")
        if isinstance(value, Address) and value.buffer is None:
            return replace(value, dtype=value.dtype or alias_of(field.type, self.unit), place="")
        buffer = buffer_at(value) if value is not None else None
        if value is None or buffer is None or field.array:
            return Opaque(f"{written}, which nothing tells,")
        if not is_own(field, value, function, self.unit):
            return Opaque(
                f"{written}, which is no argument of the workload and which others use or allocate,"
            )
        kind = alias_of(field.type, self.unit)
        one = plain(bytes_of(kind) or 1)
        text = translated(divided(buffer.size, one), meanings) if buffer.size is not None else None
        if text is None:
            return Opaque(f"{written}, whose bytes are not told over the workload,")
        size = times(self._over_workload(text), one)
        handed = Buffer(field.name, size, dtype=kind if bytes_of(kind) else "", cleared=buffer.cleared)
        if buffer.cleared and buffer.cleared_bytes is not None:
            cleared = translated(buffer.cleared_bytes, meanings)
            if cleared is None:
                return Opaque(f"{written}, of whose bytes nothing tells how many are cleared,")
            handed.cleared_bytes = self._over_workload(cleared)
        self._of_callers.add(handed)
        return Address(handed, handed.dtype)

    def _over_workload(self, text: str) -> Number:
        """A number that an expression of the workload gives."""
        value = evaluate(text, self.shapes[0])
        return plain(value) if text.isdigit() else made(value, text)

    def _pass_over(self, node: Node, names: Names, error: NotFollowed) -> None:
        """As before. Raises the error too where the statement may change an array that a workload or a launch has."""
        if any(self._has(names.get(name)) for name in changed_arrays(node)):
            raise error
        super()._pass_over(node, names, error)

    def resized(self, written: Node | None, base: Value, args: list[Value], names: Names) -> Value:
        """Also of an array of the workload, which has its elements. Raises `NotFollowed` where they are set."""
        if self._has(base) and len(args) > 1:
            raise NotFollowed(f"`{text_of(written)}`, which the host sets,")
        return super().resized(written, base, args, names)

    def store(self, target: Node | None, value: Value, names: Names) -> None:
        if target is not None and target.type in ("subscript_expression", "pointer_expression"):
            base = self.either(target.child_by_field_name("argument"), names)
            if self._has(base):
                raise NotFollowed(f"`{text_of(target)}`, which the host sets,")
        super().store(target, value, names)

    def _has(self, value: Value | None) -> bool:
        """Whether a value points into memory of the workload, or of the program's own."""
        return value is not None and buffer_at(value) in self.memory

    def _do_declaration(self, node: Node, names: Names) -> None:
        if not any(text_of(child) == "static" for child in node.children):
            around, self._is_static = self._is_static, False
            super()._do_declaration(node, names)
            self._is_static = around
            return
        for declarator in node.children_by_field_name("declarator"):
            name, _ = declared_name(declarator)
            kept = f"{self.frames[-1].function.name}:{name}"
            if kept not in self._statics.values:
                self._is_static = True
                super()._do_declaration(node, made := Names(names))
                self._is_static = False
                self._statics.values[kept] = made.values[name]
            names.values.pop(name, None)
            names.references[name] = Reference(self._statics, kept)

    def unset(self, kind: str, stars: int, name: str) -> Value:
        """A variable that is declared without a value: a static one is zero, a field what its structure says."""
        if self._is_static and stars:
            return Address(None, kind)
        if self._is_static and not stars and kind.endswith("Tensor"):
            return Address(None, kind)  # one that is not defined
        if self._is_static and kind in (*INTEGERS, *FLOATS, "bool"):
            return plain(0)
        fields = self.unit.fields_of(kind) if not stars and kind not in VECTORS else ()
        if not fields:
            return super().unset(kind, stars, name)
        return Record(kind, {f.name: self._field_as_made(f) for f in fields})

    def value_as_made(self, kind: str, name: str) -> Value:
        around, self._is_static = self._is_static, True
        try:
            return self.unset(kind, kind.count("*"), name)
        finally:
            self._is_static = around

    def _declared(
        self, node: Node | None, kind: str, stars: int, name: str, names: Names, written: str
    ) -> Value:
        if node is None and not stars and kind.endswith("Tensor"):
            return self.value_as_made(kind, name)
        return super()._declared(node, kind, stars, name, names, written)

    def _field_as_made(self, part: HostParameter) -> Value:
        """A field of a structure as it is made."""
        if part.initial is None and not part.stars and part.type.endswith("Tensor"):
            return self.value_as_made(part.type, part.name)
        if part.initial is None and not part.stars and self.unit.fields_of(part.type):
            return self.unset(part.type, 0, part.name)
        if part.initial is None:
            return (
                self.unset(part.type, part.stars, part.name) if self._is_static else Opaque(f"`{part.name}`")
            )
        try:
            value = self.value(part.initial, Names())
        except NotFollowed as error:
            return Opaque(str(error))
        return Address(None, part.type) if isinstance(value, Address) and value.buffer is None else value

    def start_of(self, buffer: Buffer) -> Number:
        """The address at which a buffer begins: where allocators begin one, for memory that is made here."""
        argument = self.workload.argument(self.memory.get(buffer, ""))
        is_own = argument is None and (buffer in self.memory or buffer.tensor is not None)
        return plain(_ALLOCATED_AT) if is_own else super().start_of(buffer)

    def _threads(self) -> Number:
        """How many threads a block of the workload has."""
        total = plain(1)
        for extent in map(str, self.workload.launch.block):
            total = times(total, self._over_workload(extent))
        return total

    def decided(self, number: Number) -> Plain:
        if number.is_constant:
            return number.value
        text = self.expression(number)
        values = {evaluate(text, shape) for shape in self.shapes}
        if len(values) > 1:
            raise NotFollowed(f"`{text}`, which is not the same for all shapes,")
        return values.pop()

    def expression(self, value: Value) -> str:
        """A number as an expression of the workload. Raises `NotFollowed`."""
        number = self._as_number(value)
        text = tidy(number.text)
        try:
            for shape in self.shapes:
                evaluate(text, shape)
        except ExpressionError as error:
            raise NotFollowed(f"`{text}`, of which {str(error).partition(': ')[2]},") from error
        return text

    def _reached(self, launch: Launched) -> Value:
        callee, arguments = launch.callee, launch.arguments
        kernel = self._source.kernel(callee.name)
        if kernel is None:
            raise NotFollowed(f"the launch of `{callee.name}`, which is no kernel of this file,")
        grid, block = (tuple(map(self.expression, extents)) for extents in (launch.grid, launch.block))
        spec = LaunchSpec(grid, block, self.expression(launch.shared))
        parts: list[tuple[LaunchArgument, Parameter | None]] = [(a, None) for a in arguments]
        if len(arguments) <= len(kernel.parameters):
            parts = [(part.given, part.parameter) for part in passed(kernel, launch, self.unit)]
        types = dict(zip((t.name for t in kernel.template_parameters), callee.template, strict=False))
        operands = tuple(
            self._operand(argument, self._dtype_of(parameter, types) if parameter is not None else None)
            for argument, parameter in parts
        )
        self.steps.append(LaunchStep(callee.name, spec, operands, callee.template))
        return plain(0)

    def _dtype_of(self, parameter: Parameter, types: Mapping[str, str]) -> str | None:
        """The type of a kernel's parameter, with what stands for the type parameters of its template."""
        kind = bare_type(parameter.type)
        return parameter.dtype or dtype_of(alias_of(types.get(kind, kind), self.unit))

    def _operand(self, operand: LaunchArgument, kind: str | None) -> Operand:
        """What a launch gives for a parameter of type `kind`."""
        buffer = buffer_at(operand.value)
        if isinstance(operand.value, (Address, Buffer)):
            memory = self._kept(buffer, operand.written)
            offset = operand.value.offset if isinstance(operand.value, Address) else None
            if offset is None or (offset.is_constant and offset.value == 0):
                return memory
            return Pointer(memory, self.expression(times(offset, plain(self._itemsize(operand.value)))))
        text = self.expression(operand.value)
        argument = self.workload.argument(text)
        if argument is not None and argument.kind == "scalar" and kind in (None, argument.dtype):
            return argument.name
        return Constant(text, kind or "int32")

    def _kept(self, buffer: Buffer | None, written: str) -> str:
        """The name of memory of the device; that of a caller's is the program's own. Raises `NotFollowed`."""
        if buffer in self._of_callers and buffer not in self.memory:
            self._allocate(buffer)
            if buffer.cleared:
                nbytes = self.expression(buffer.cleared_bytes) if buffer.cleared_bytes is not None else None
                self.steps.append(MemsetStep(self.memory[buffer], nbytes=nbytes))
        if buffer not in self.memory:
            raise NotFollowed(f"`{written}`, which points to nothing that is allocated here,")
        return self.memory[buffer]

    def _allocate(self, buffer: Buffer) -> None:
        """Make a buffer one of the program's own."""
        kind = dtype_of(buffer.dtype) or "uint8"
        count = divided(buffer.size or plain(0), plain(DTYPES[kind].itemsize))
        self.memory[buffer] = f"{buffer.name}_{len(self.scratch)}"
        self.scratch.append(Scratch(self.memory[buffer], kind, (self.expression(count),)))

    def _itemsize(self, pointer: Value) -> int:
        """Bytes of one element of what a pointer points to."""
        buffer = buffer_at(pointer)
        kind = pointer.dtype if isinstance(pointer, Address) else ""
        argument = self.workload.argument(self.memory[buffer]) if buffer in self.memory else None
        one = bytes_of(kind) or (DTYPES[argument.dtype].itemsize if argument is not None else None)
        if one is None:
            raise NotFollowed(f"a pointer to `{kind}`")
        return one

    def launched_by_function(self, name: str, args: list[Value], node: Node) -> bool:
        if name in COPIES and len(args) >= 3 and len(self.frames) == 1:
            written = arguments_of(node.child_by_field_name("arguments"))
            args = [
                *(self._own_array(text_of(written[at]), args[at], args[2], at) for at in range(2)),
                *args[2:],
            ]
        return super().launched_by_function(name, args, node)

    def _own_array(self, written: str, value: Value, size: Value, at: int) -> Value:
        """The argument of a copy of so many bytes, its first or second one: an array of the function's own as the
        workload has it, if it is one.

        Raises `NotFollowed` where the array has other elements than are copied, and where it was copied that way
        before: the host may have changed it, or read it, since.
        """
        argument = self.workload.argument(host_array(written))
        if argument is None or argument.name not in self.own_arrays or buffer_at(value) in self.memory:
            return value
        number = self.check_elements(argument.name, size)
        if (argument.name, at) in self._copied_arrays:
            raise NotFollowed(f"a second copy of `{argument.name}`")
        self._copied_arrays.add((argument.name, at))
        buffer = next((b for b, name in self.memory.items() if name == argument.name), None)
        buffer = buffer or Buffer(argument.name, number, dtype=cpp_type_of(argument.dtype))
        self.memory[buffer] = argument.name
        return Address(buffer, buffer.dtype)

    def check_elements(self, name: str, size: Value) -> Number:
        """So many bytes. Raises `NotFollowed` where an argument of the workload has others."""
        argument, number = self.workload.argument(name), self._as_number(size)
        assert argument is not None
        whole = " * ".join(f"({extent})" for extent in (argument.shape or ("1",)))
        one = DTYPES[argument.dtype].itemsize
        for shape in self.shapes:
            if evaluate(self.expression(number), shape) != evaluate(whole, shape) * one:
                raise NotFollowed(f"a copy of another size than that of `{name}`")
        return number

    def runtime(self, name: str, args: list[Value]) -> bool:
        if name in ALLOCATORS and len(args) >= 2:
            library_call(name, args, self.sizes)
            buffer = buffer_at(args[0])
            if buffer is None or buffer.size is None:
                raise NotFollowed(f"the size of `{name}()`")
            self._allocate(buffer)
            return True
        if name in COPIES and len(args) >= 3:
            self.steps.append(self._copied(args, name))
            return True
        if name in CLEARS and len(args) >= 3:
            target = args[0]
            memory = self._kept(buffer_at(target), f"{name}()")
            offset = target.offset if isinstance(target, Address) else None
            start = (
                self.expression(times(offset, plain(self._itemsize(target)))) if offset is not None else "0"
            )
            value = int(self.decided(self._as_number(args[1]))) & 0xFF
            self.steps.append(MemsetStep(memory, value, self.expression(args[2]), start))
            return True
        return False

    def _copied(self, args: list[Value], name: str) -> LaunchStep:
        """A copy between memory that is known here. Raises `NotFollowed` for another one."""
        to, origin = (self._operand(LaunchArgument(arg, f"{name}()"), None) for arg in args[:2])
        one = min(*map(self._itemsize, args[:2]), MOST_COPIED)
        if not buffer_of(to) or not buffer_of(origin):
            raise NotFollowed(f"`{name}()`")
        return copy_step(to, origin, self.expression(divided(self._as_number(args[2]), plain(one))), one)

    @staticmethod
    def _as_number(value: Value) -> Number:
        if isinstance(value, Number):
            return value
        raise NotFollowed(getattr(value, "why", "") or "something else than a number")
