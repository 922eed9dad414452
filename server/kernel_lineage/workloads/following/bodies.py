"""What bodies of functions and lambdas give for the arguments of their calls."""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass, replace

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.workloads.following.casts import is_written_out
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.functions import (
    HostCode,
    HostParameter,
    bare_type,
    template_names,
    words_in,
)
from kernel_lineage.workloads.following.library import note_write
from kernel_lineage.workloads.following.macros import DEEPEST, Macros
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.powers import TRIED, power_of_2
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.types import FLOATS, INTEGERS, VECTORS
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import (
    Buffer,
    FunctionName,
    KernelName,
    Lambda,
    NotFollowed,
    Number,
    Opaque,
    Pointer,
    Record,
    Reference,
    Tensor,
    Value,
    plain,
)

_USUAL_TYPE = "float"


class Returned(Exception):  # noqa: N818
    """A function is left with a value."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


@dataclass(frozen=True, slots=True)
class Frame:
    """A function on the way to the launch."""

    function: HostCode
    callee: str = ""
    """By what its caller calls it: its name, a parameter that it was given as, or a function that it is handed to."""
    arguments: tuple[str, ...] = ()
    """Its arguments, as its caller writes them."""


class Bodies(Macros):
    """Follows bodies."""

    leading: frozenset[str] = frozenset()
    """The names of functions and macros by which the kernel is launched."""

    def __init__(self, unit: Unit, sizes: Sizes) -> None:
        super().__init__(unit, sizes)
        self.frames: list[Frame] = []

    @abstractmethod
    def parameter(self, parameter: HostParameter, names: Names) -> Value:
        """What a caller gives of whom nothing is known."""

    @abstractmethod
    def entered(self, function: HostCode, names: Names) -> None:
        """Note that a function is reached, with what its parameters are."""

    def record(self, kind: str, args: list[Value]) -> Record:
        """A struct with what an initialiser gives its fields."""
        fields = {f.name: v for f, v in zip(self.unit.fields_of(kind), args, strict=False)}
        if kind not in VECTORS:
            fields = {name: self.sizes.of_literal(v, name, self.function) for name, v in fields.items()}
        return Record(kind, fields)

    def of_type(self, value: Value, kind: str) -> Value:
        """A value where a type is asked for: a list in braces is a struct of it."""
        is_structure = bool(self.unit.fields_of(kind)) or self.unit.is_empty(kind)
        return self.record(kind, value) if isinstance(value, list) and is_structure else value

    def of_elements(self, value: Value, written: Node | None, names: Names) -> Value:
        """What initialises a variable: where that is an array or a vector of a struct, each list in braces is one."""
        declared = written.parent if written is not None else None
        around = declared.parent if declared is not None else None
        if not isinstance(value, list) or declared is None or around is None:
            return value
        kind = bare_type(text_of(around.child_by_field_name("type")))
        element = re.match(r"(?:std::)?(?:vector|array)\s*<\s*(\w+)", kind)
        is_array = any(n.type == "array_declarator" for n in inside(declared))
        of = self.type_named(element[1] if element is not None else kind if is_array else "", names)
        return [self.of_type(one, of) for one in value]

    def store(self, target: Node | None, value: Value, names: Names) -> None:
        before = names.get(text_of(target)) if target is not None and isinstance(value, list) else None
        super().store(
            target, self.of_type(value, before.type) if isinstance(before, Record) else value, names
        )
        if target is not None and target.type == "identifier":
            self.held_by(text_of(target), value)

    def named(self, name: str, names: Names) -> Value:
        written = self.unit.constants.get(name) if names.get(name) is None else None
        return self.of_elements(super().named(name, names), written, names)

    def lambda_called(
        self, called: Lambda, listed: Node | None, names: Names, template: Node | None = None
    ) -> Value:
        """What a lambda gives for some arguments."""
        inner = Names(called.names)
        if template is not None:
            for name, text in zip(template_names(called.node), self.template(template, names), strict=False):
                self.bind(name, text, inner)
        declarator = called.node.child_by_field_name("declarator")
        parameters = declarator.child_by_field_name("parameters") if declarator is not None else None
        body = called.node.child_by_field_name("body")
        is_leading = body is not None and not self.leading.isdisjoint(words_in(body))
        written = parameters.named_children if parameters is not None else ()
        args = [(n, self.either(n, names)) for n in arguments_of(listed)]
        for parameter, (node, value) in zip(written, args, strict=False):
            words = re.findall(r"\w+", text_of(parameter))
            if words and is_leading and is_written_out(node):
                value = self.sizes.of_literal(value, words[-1], self.function)
            if words:
                inner.values[words[-1]] = value
                inner.types[f"decltype({words[-1]})"] = self._type_of(value, node, names)
        return self.body(body, inner)

    def _type_of(self, value: Value, node: Node, names: Names) -> str:
        """The type of an argument: a structure's, or the one that it is written with, as `float{}`; "" unknown."""
        if isinstance(value, Record):
            return value.type
        kind = node.child_by_field_name("type") if node.type == "compound_literal_expression" else None
        return self.type_at(kind, names)

    def body(self, body: Node | None, names: Names) -> Value:
        if self._depth >= DEEPEST or body is None:
            raise NotFollowed("calls that are nested too deeply")
        self._depth += 1
        try:
            self.run(body, names)
        except Returned as left:
            return left.value
        finally:
            self._depth -= 1
        return Opaque("a function that gives nothing")

    def held_by(self, name: str, value: Value) -> None:
        """Let a variable lead to the launch that holds a function which leads there."""
        is_leading = (
            value.name in self.leading
            if isinstance(value, (FunctionName, KernelName))
            else isinstance(value, Lambda) and self.leads(value.node)
        )
        self.leading |= {name} if is_leading else set()

    def leads(self, node: Node | None) -> bool:
        return node is not None and bool(words_in(node) & (self.leading - self.followed()))

    def followed(self) -> frozenset[str]:
        """The functions, no templates, that lead to the launch from outside of what is followed now."""
        return frozenset(f.function.name for f in self.frames if not f.function.template)

    def inlined(
        self, function: HostCode, nodes: list[Node], template: tuple[str, ...], names: Names, called: str = ""
    ) -> Value:
        """What a function of the unit gives: its body is followed with the arguments.

        A call of itself on the way to the launch is not followed, but fills the buffers that it is given: the outer
        call launches as well.
        """
        if function.name in self.leading and function.name in self.followed():
            for passed in nodes:
                note_write(self.either(passed, names))
            return Opaque(f"`{function.name}`, which calls itself")
        inner = Names(self.unit_names(names))
        for name, text in zip(function.template, template, strict=False):
            self.bind(name, text, inner)
        given_nodes: list[Node | None] = [*nodes, *[None] * len(function.parameters)]
        of_sizes = function.name in self.leading or self._makes_structure(function)
        for parameter, node in zip(function.parameters, given_nodes, strict=False):
            value = self.either(node if node is not None else parameter.default, names)
            if of_sizes and node is not None and is_written_out(node) and parameter.type in INTEGERS:
                value = self.sizes.of_literal(value, parameter.name, function.name)
            if isinstance(value, Opaque) and function.name in self.leading:
                value = self.by_its_parameter(value, parameter, inner)
            if parameter.type in function.template and parameter.type not in inner.types:
                deduced = value.dtype if isinstance(value, (Pointer, Tensor, Buffer)) else ""
                if isinstance(value, Record) and value.type in self.unit.classes:
                    deduced = value.type
                if deduced:
                    inner.types[parameter.type] = deduced
            by_name = node is not None and node.type == "identifier" and parameter.reference
            if (
                by_name
                and isinstance(value, (Number, Pointer, Opaque, list))
                and names.holder(text_of(node)) is not None
            ):
                inner.references[parameter.name] = Reference(names, text_of(node))
            else:
                kind = "" if parameter.stars else self.type_named(parameter.type, inner)
                inner.values[parameter.name] = self.of_type(value, kind)
        self.take_types(function, inner)
        for parameter in function.parameters:
            if parameter.stars and isinstance(inner.values.get(parameter.name), Opaque):
                kind = self.type_named(parameter.type, inner)
                inner.values[parameter.name] = self.unset(kind, parameter.stars, parameter.name)
        handed = inner.get(function.parameters[0].name) if function.parameters else None
        self.frames.append(Frame(function, called, tuple(map(text_of, nodes))))
        try:
            self.entered(function, inner)
            result = self.body(function.body, inner)
            given_back = bare_type(text_of(function.node.child_by_field_name("type")))
            result = self.of_type(result, self.type_named(given_back, inner))
        finally:
            self.frames.pop()
        if isinstance(result, Opaque) and len(nodes) == 1 and len(function.parameters) == 1:
            return self._by_its_values(function, handed) or result
        return result

    def _makes_structure(self, function: HostCode) -> bool:
        """Whether a function gives back a structure of the unit, or fills one that it is given."""
        kinds = {p.type for p in function.parameters if p.stars or p.reference}
        kinds.add(bare_type(text_of(function.node.child_by_field_name("type"))))
        return any(self.unit.fields_of(kind) for kind in kinds - VECTORS.keys())

    def by_its_parameter(self, value: Opaque, parameter: HostParameter, names: Names) -> Value:
        """A number that a function on the way is given and that cannot be followed: any that a caller may give."""
        kind = self.type_named(parameter.type, names)
        if parameter.stars or kind not in (*INTEGERS, *FLOATS, "bool"):
            return value
        return self.parameter(replace(parameter, default=None), names)

    def _by_its_values(self, function: HostCode, argument: Value | None) -> Number | None:
        """What a function of one whole number gives that no expression says, by what it gives for many numbers."""
        if not isinstance(argument, Number) or not argument.whole or argument.is_constant:
            return None
        name = function.parameters[0].name
        results = [self.body(function.body, Names(Names(), {name: plain(n)})) for n in TRIED]
        return power_of_2(results, argument)

    def take_types(self, function: HostCode, names: Names) -> None:
        """The usual type for the type parameters of a template that no call tells."""
        above = function.node.parent
        head = text_of(above)[: function.node.start_byte - above.start_byte] if above is not None else ""
        for name in function.template:
            if name not in names.types and re.search(rf"\b(?:typename|class)\s+{re.escape(name)}\b", head):
                names.types[name] = _USUAL_TYPE
                self.sizes.say(f"{name} of {function.name} is taken to be {_USUAL_TYPE}: nothing tells it")
