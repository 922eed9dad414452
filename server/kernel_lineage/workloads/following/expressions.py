"""What expressions of host code give."""

from __future__ import annotations

import re
from abc import abstractmethod

from tree_sitter import Node

from kernel_gate.expressions import Number as Plain
from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.workloads.following.functions import bare_type, declared_name
from kernel_lineage.workloads.following.literals import DEVICE, number_of
from kernel_lineage.workloads.following.memory_formats import CONTIGUOUS, FORMATS
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.types import SCALAR_KINDS, bytes_of, plain_type
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import (
    Buffer,
    FunctionName,
    KernelName,
    Lambda,
    MemoryFormat,
    NotFollowed,
    Number,
    Opaque,
    Pointer,
    Record,
    Tensor,
    Text,
    Typed,
    TypeName,
    Value,
    combined,
    made,
    plain,
    selected,
    times,
)

_CALLERS_BOUND = 16


def _sets(node: Node, name: str) -> bool:
    """Whether a statement assigns to a variable, or hands its address to a function."""
    if node.type == "assignment_expression":
        return text_of(node.child_by_field_name("left")) == name
    listed = node.child_by_field_name("arguments") if node.type == "call_expression" else None
    return listed is not None and any(text_of(c) == f"&{name}" for c in listed.named_children)


class Expressions:
    """Follows the expressions of one unit."""

    function = ""
    """The function that is followed from."""

    def __init__(self, unit: Unit, sizes: Sizes) -> None:
        self.unit, self.sizes = unit, sizes
        self._constants: set[str] = set()

    @abstractmethod
    def call(self, node: Node, names: Names) -> Value:
        """What a call gives."""

    @abstractmethod
    def of_type(self, value: Value, kind: str) -> Value:
        """A value where a type is asked for: what braces hold is a structure of it."""

    @abstractmethod
    def leads(self, node: Node | None) -> bool:
        """Whether a piece of code leads to the launch."""

    def number(self, node: Node | None, names: Names) -> Number:
        """A number. Raises `NotFollowed`."""
        value = self.value(node, names)
        if isinstance(value, Number):
            return value
        if isinstance(value, Opaque):
            raise NotFollowed(value.why)
        raise NotFollowed(f"`{text_of(node)}`")

    def value(self, node: Node | None, names: Names) -> Value:
        """What an expression gives. Raises `NotFollowed` for one that cannot be followed."""
        if node is None:
            raise NotFollowed("nothing")
        method = getattr(self, f"_{node.type}", None)
        if method is None:
            raise NotFollowed(f"`{text_of(node)}`")
        result: Value = method(node, names)
        return result

    def decided(self, number: Number) -> Plain:
        """What a number is at the sizes that are taken, where the text has to be one of several."""
        return number.value

    def either(self, node: Node | None, names: Names) -> Value:
        """The same; an opaque value where it cannot be followed."""
        try:
            return self.value(node, names)
        except NotFollowed as error:
            return Opaque(str(error))

    def _number_literal(self, node: Node, _names: Names) -> Value:
        try:
            return number_of(text_of(node))
        except ValueError as error:
            raise NotFollowed(f"`{text_of(node)}`") from error

    def _string_literal(self, node: Node, _names: Names) -> Value:
        return Text(text_of(node).strip('"'))

    _concatenated_string = _raw_string_literal = _char_literal = _string_literal

    def _true(self, _node: Node, _names: Names) -> Value:
        return plain(True)

    def _false(self, _node: Node, _names: Names) -> Value:
        return plain(False)

    def _null(self, _node: Node, _names: Names) -> Value:
        return Pointer(None)

    _nullptr = _null

    def _parenthesized_expression(self, node: Node, names: Names) -> Value:
        inner = [c for c in node.named_children if c.type != "comment"]
        return self.value(inner[-1] if inner else None, names)

    _condition_clause = _parenthesized_expression

    def _declaration(self, node: Node, names: Names) -> Value:
        """A condition that names what it asks: `if (cudaError_t error = cudaMalloc(…))`."""
        value = self.value(node.child_by_field_name("value"), names)
        name, _ = declared_name(node.child_by_field_name("declarator"))
        names.set(name, value)
        return value

    def _comma_expression(self, node: Node, names: Names) -> Value:
        self.either(node.child_by_field_name("left"), names)
        return self.value(node.child_by_field_name("right"), names)

    def _identifier(self, node: Node, names: Names) -> Value:
        return self.named(text_of(node), names)

    _type_identifier = _field_identifier = _namespace_identifier = _identifier

    def named(self, name: str, names: Names) -> Value:
        """What a name stands for. Raises `NotFollowed`."""
        value = names.get(name)
        if value is not None:
            return value
        if name in ("NULL", "nullopt"):
            return Pointer(None)
        if name == "nullptr":
            return Pointer(None)
        if name == "C10_WARP_SIZE":
            return plain(DEVICE["warpSize"])
        if name == "LEGACY_CONTIGUOUS_MEMORY_FORMAT":
            return CONTIGUOUS
        if name in self.unit.kernels:
            return KernelName(name)
        if name in self.unit.constants and name not in self._constants:
            self._constants.add(name)
            try:
                value = self.value(self.unit.constants[name], names)
            finally:
                self._constants.discard(name)
            if self.function != "main" and name in self.unit.variables:
                outside = self.unit_names(names)
                outside.values[name] = value
                self._set_elsewhere(name, outside)
                return outside.values[name]
            return self._sized(name, value)
        macro = self.unit.macros.get(name)
        if macro is not None and macro.parameters is None:
            return self._sized(name, self.expanded(macro.body, names))
        if name in self.unit.globals:
            kind, stars = self.unit.globals[name]
            outside = self.unit_names(names)
            outside.values[name] = self.unset(self.type_named(kind, names), stars, name)
            if isinstance(outside.values[name], Opaque):
                self._set_elsewhere(name, outside)
            return outside.values[name]
        if name.startswith(("cudaSuccess", "CUDA_SUCCESS")):
            return plain(0)
        if name in SCALAR_KINDS:
            return TypeName(SCALAR_KINDS[name])
        if name in self.unit.functions:
            return FunctionName(name)
        if name.startswith("cuda"):
            return Text(name)
        raise NotFollowed(f"`{name}`")

    def _sized(self, name: str, value: Value) -> Value:
        """A macro or constant: a dim, where it is a whole number that only the host calculates with."""
        if not isinstance(value, Number) or not value.is_constant or type(value.value) is not int:
            return value
        is_free = name in self.sizes.compiled or name in self.unit.free_constants()
        return self.sizes.of_constant(name, value.value, self.function) if is_free else value

    def _set_elsewhere(self, name: str, outside: Names) -> None:
        """Give a variable outside of functions what the only statement of the unit that sets it gives it."""
        nodes = [
            node
            for functions in self.unit.functions.values()
            for function in functions
            if function.of_host and name in function.words
            for node in inside(function.body)
            if _sets(node, name)
        ]
        if len(nodes) == 1:
            self.either(nodes[0], outside)

    @staticmethod
    def unit_names(names: Names) -> Names:
        """The names outside of functions."""
        while names.around is not None:
            names = names.around
        return names

    @abstractmethod
    def unset(self, kind: str, stars: int, name: str) -> Value:
        """A variable that is declared without a value."""

    @abstractmethod
    def expanded(self, body: str, names: Names) -> Value:
        """What a macro's body gives where it is used."""

    def type_named(self, name: str, names: Names) -> str:
        """A type at the end of its aliases."""
        for _ in range(_CALLERS_BOUND):
            target = names.type_of(name) or self.unit.types.get(name, "")
            if not target or target == name:
                macro = self.unit.macros.get(name)
                if macro is None or macro.parameters is not None or not macro.body:
                    break
                target = bare_type(macro.body)
            name = target
        return plain_type(name)

    def _qualified_identifier(self, node: Node, names: Names) -> Value:
        last = node
        while last.type == "qualified_identifier":
            inner = last.child_by_field_name("name")
            if inner is None:
                break
            last = inner
        if last.type == "template_function":
            return self.value(last, names)
        name = text_of(last)
        written = text_of(node).replace(" ", "")
        if name in SCALAR_KINDS and re.search(r"(?:at|torch|c10|ScalarType)::", written):
            return TypeName(SCALAR_KINDS[name])
        if "MemoryFormat::" in written and name in FORMATS:
            return FORMATS[name]
        if (
            limit := re.fullmatch(r"std::numeric_limits<(.*)>::(max|lowest|min|infinity|epsilon)", written)
        ) is not None:
            raise NotFollowed(f"`{limit[0]}`")
        return self.named(name, names)

    def _template_function(self, node: Node, names: Names) -> Value:
        name = text_of(node.child_by_field_name("name"))
        if name not in self.unit.kernels and name not in self.unit.functions:
            raise NotFollowed(f"`{text_of(node)}`")
        kind = KernelName if name in self.unit.kernels else FunctionName
        return kind(name, self.template(node.child_by_field_name("arguments"), names))

    def template(self, listed: Node | None, names: Names) -> tuple[str, ...]:
        """The arguments of a template, types and numbers as they come out."""
        texts = []
        for child in listed.named_children if listed is not None else ():
            written = text_of(child)
            kind = self.type_named(bare_type(written), names)
            if names.get(written) is None and bytes_of(kind) is not None:
                texts.append(kind)
                continue
            value = self.either(child.named_child(0) if child.type == "type_descriptor" else child, names)
            if isinstance(value, Number):
                constant = self.decided(value)
                texts.append(
                    ("true" if constant else "false") if isinstance(constant, bool) else str(constant)
                )
                if not value.is_constant:
                    self.sizes.say(
                        f"the template's `{written}` is {constant}, as it is at the sizes that are taken"
                    )
                    # Another size is another instance of the template.
                    is_truth = isinstance(constant, bool)
                    same = value if is_truth else combined("==", value, plain(constant))
                    self.sizes.require(same, not is_truth or bool(constant))
            else:
                named = kind if kind != bare_type(written) else written
                text = value.name if isinstance(value, TypeName) else named
                texts.append(names.with_types(text) if "<" in text else text)
        return tuple(texts)

    def _type_descriptor(self, node: Node, names: Names) -> Value:
        return TypeName(self.type_named(bare_type(text_of(node)), names))

    _primitive_type = _sized_type_specifier = _type_descriptor

    def _binary_expression(self, node: Node, names: Names) -> Value:
        left = self.value(node.child_by_field_name("left"), names)
        operator = text_of(node.child_by_field_name("operator"))
        if isinstance(left, Tensor) and operator in ("&&", "||"):
            left = plain(True)
        if (
            isinstance(left, Number)
            and operator in ("&&", "||")
            and left.is_constant
            and bool(left.value) == (operator == "||")
        ):
            return plain(bool(left.value))
        right = self.value(node.child_by_field_name("right"), names)
        if isinstance(right, Tensor) and operator in ("&&", "||"):
            right = plain(True)
        return self.operated(operator, left, right, text_of(node))

    def operated(self, operator: str, left: Value, right: Value, written: str) -> Value:
        """What an operator gives of two values. Raises `NotFollowed`."""
        if isinstance(left, Number) and isinstance(right, Number):
            return combined(operator, left, right)
        if isinstance(left, Buffer):
            left = Pointer(left, left.dtype)
        if isinstance(left, Pointer) and left.buffer is None and isinstance(right, Number):
            raise NotFollowed(f"`{written}`")
        if isinstance(left, Pointer) and isinstance(right, Number) and operator in ("+", "-"):
            offset = right if operator == "+" else times(right, plain(-1))
            return Pointer(left.buffer, left.dtype, combined("+", left.offset or plain(0), offset))
        for side in (left, right):
            if isinstance(side, Opaque):
                raise NotFollowed(side.why)
        if operator in ("==", "!="):
            equal = self._equal(left, right)
            if equal is not None:
                return plain(equal == (operator == "=="))
        raise NotFollowed(f"`{written}`")

    def _equal(self, left: Value, right: Value) -> bool | None:
        """Whether two values that are not both numbers are the same; None where that is not known."""
        if isinstance(left, Typed) or isinstance(right, Typed):
            return True
        if isinstance(left, Pointer) and isinstance(right, Pointer):
            is_open = any(p.buffer is None and self.unit.may_be_set(p.place) for p in (left, right))
            return None if is_open else left.buffer is right.buffer
        pair = [
            v.name if isinstance(v, (TypeName, MemoryFormat)) else v.text if isinstance(v, Text) else None
            for v in (left, right)
        ]
        return pair[0] == pair[1] if None not in pair else None

    def _unary_expression(self, node: Node, names: Names) -> Value:
        operator = text_of(node.child_by_field_name("operator"))
        value = self.value(node.child_by_field_name("argument"), names)
        if operator == "!" and isinstance(value, Pointer):
            return plain(value.buffer is None)
        if operator == "!" and isinstance(value, Tensor):
            return plain(False)
        if not isinstance(value, Number):
            raise NotFollowed(f"`{text_of(node)}`")
        if operator == "-":
            return times(value, plain(-1))
        if operator == "!":
            return (
                plain(not value.value) if value.is_constant else made(not value.value, f"not ({value.text})")
            )
        if operator == "~" and value.is_constant:
            return plain(~int(value.value))
        if operator == "+":
            return value
        raise NotFollowed(f"`{text_of(node)}`")

    def _conditional_expression(self, node: Node, names: Names) -> Value:
        test = self.value(node.child_by_field_name("condition"), names)
        sides = [node.child_by_field_name(side) for side in ("consequence", "alternative")]
        if isinstance(test, (Pointer, Tensor)):  # a tensor that may be left out, and is there
            return self.value(sides[0 if test.buffer is not None else 1], names)
        if not isinstance(test, Number):
            raise NotFollowed(f"`{text_of(node)}`")
        if test.is_constant:
            return self.value(sides[0 if test.value else 1], names)
        then, otherwise = (self.either(side, names) for side in sides)
        if isinstance(then, Number) and isinstance(otherwise, Number):
            return selected(test, then, otherwise)
        leading = [self.leads(side) for side in sides]
        is_first = leading[0] if leading[0] != leading[1] else bool(self.decided(test))
        self.sizes.require(test, is_first)
        return self.value(sides[0 if is_first else 1], names)

    def _initializer_list(self, node: Node, names: Names) -> Value:
        """Braces as a list; a structure whose type is told around it, "" here, where they name its fields."""
        pairs = [c for c in node.named_children if c.type == "initializer_pair"]
        if pairs and len(pairs) == sum(c.type != "comment" for c in node.named_children):
            named = {text_of(p.child_by_field_name("designator")).lstrip(". "): p for p in pairs}
            return Record(
                "", {n: self.either(p.child_by_field_name("value"), names) for n, p in named.items()}
            )
        return [self.either(c, names) for c in node.named_children if c.type != "comment"]

    def _compound_literal_expression(self, node: Node, names: Names) -> Value:
        """Braces in the place of an expression, as in `<<<n, {32, 8}>>>`, are read as ones whose type is missing."""
        kind = node.child_by_field_name("type")
        value = self.value(node.child_by_field_name("value"), names)
        if kind is None or kind.is_missing:
            return value
        name = self.type_named(bare_type(text_of(kind)), names)
        fields = self.unit.fields_of(name)
        if isinstance(value, Record):
            return self.of_type(value, name)
        if not isinstance(value, list) or not (fields or self.unit.is_empty(name)):
            raise NotFollowed(f"`{text_of(node)}`")
        return Record(name, {f.name: v for f, v in zip(fields, value, strict=False)})

    def _lambda_expression(self, node: Node, names: Names) -> Value:
        return Lambda(node, names)

    def _call_expression(self, node: Node, names: Names) -> Value:
        return self.call(node, names)
