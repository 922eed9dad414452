"""What calls in host code give: of the unit's own functions and macros, of tensors, and of the library."""

from __future__ import annotations

import re
from abc import abstractmethod

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_text import at_commas
from kernel_lineage.workloads.following.accessors import is_accessor_method, packed_accessor
from kernel_lineage.workloads.following.bodies import Bodies
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.functions import HostCode, bare_type, words_in
from kernel_lineage.workloads.following.library import library_call
from kernel_lineage.workloads.following.lists import MOST_ELEMENTS, method_of_list
from kernel_lineage.workloads.following.names import Names, fetched, stored
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.tensors import (
    OPTIONS,
    SIZES_OF,
    made_tensor,
    method_of_options,
    method_of_sizes,
    method_of_tensor,
)
from kernel_lineage.workloads.following.torch_work import OPERATORS, TorchWork, filled, in_format, torch_work
from kernel_lineage.workloads.following.types import VECTORS, bytes_of
from kernel_lineage.workloads.following.unit import ClassCode, Unit
from kernel_lineage.workloads.following.values import (
    Buffer,
    FieldReference,
    FunctionName,
    KernelName,
    Lambda,
    NotFollowed,
    Number,
    Opaque,
    Place,
    Pointer,
    Record,
    Reference,
    Tensor,
    Text,
    TypeName,
    Value,
    combined,
    divided,
    plain,
    times,
)

_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast", "checked_cast"})
_CHECKS = re.compile(
    r"(?:TORCH|AT)_(?:INTERNAL_)?(?:CHECK|ASSERT)\w*|assert|TORCH_CHECK_\w+|CHECK_(?:EQ|NE|LT|LE|GT|GE)"
)
_RESIZES = frozenset({"resize", "assign"})
_TO_VARIABLE = frozenset({"cudaMemcpyToSymbol", "cudaMemcpyToSymbolAsync"})
_DISPATCH = re.compile(r"\w*DISPATCH\w*")


class Calls(Bodies):
    """Follows calls."""

    def __init__(self, unit: Unit, sizes: Sizes) -> None:
        super().__init__(unit, sizes)
        self._expanded: list[str] = []
        """The macros around what is followed: in its own text a macro's name is no macro."""

    @abstractmethod
    def launched(self, callee: KernelName, node: Node, names: Names) -> Value:
        """Note a launch by `<<<…>>>`."""

    @abstractmethod
    def launched_by_function(self, name: str, args: list[Value], node: Node) -> bool:
        """Note a launch by a function of the runtime; whether the function is one."""

    def call(self, node: Node, names: Names) -> Value:
        callee = node.child_by_field_name("function")
        listed = node.child_by_field_name("arguments")
        chevrons = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
        if callee is None:
            raise NotFollowed(f"`{text_of(node)}`")
        if chevrons is not None:
            return self._chevrons(callee, node, names)
        if callee.type == "field_expression":
            return self._method(callee, listed, node, names)
        if callee.type in ("lambda_expression", "parenthesized_expression", "subscript_expression"):
            kind = self.type_named(bare_type(text_of(callee).strip("() ")), names)
            if bytes_of(kind) is not None and len(arguments_of(listed)) == 1:
                # `(u32)(x)`, which the grammar takes for a call.
                return self.cast(text_of(callee)[1:-1], self.value(arguments_of(listed)[0], names), names)
            inner = self.value(callee, names)
            if isinstance(inner, (Lambda, FunctionName)):
                return self._called(inner, listed, names)
            raise NotFollowed(f"`{text_of(node)}`")
        written = text_of(callee)
        last, template = _last_name(callee)
        if last in _CASTS and template is not None:
            first = listed.named_child(0) if listed is not None else None
            return self.cast(text_of(template).strip("<>"), self.value(first, names), names)
        macro = self.unit.macros.get(last)
        is_macro = macro is not None and last not in self._expanded and callee.type == "identifier"
        if is_macro and macro is not None and macro.parameters is not None:
            self._expanded.append(last)
            try:
                return self.in_place_of(macro, listed, names)
            finally:
                self._expanded.pop()
        if _DISPATCH.fullmatch(last) and last not in self.unit.functions:
            return self.dispatched(last, listed, names)
        if _CHECKS.fullmatch(last) and last not in self.unit.functions:
            self.check(last, listed, names)
            return plain(0)
        bound = names.get(last) if callee.type == "identifier" else None
        if isinstance(bound, Lambda):
            return self.lambda_called(bound, listed, names)
        this = names.get("this") if callee.type == "identifier" else None
        if isinstance(this, Record) and self._defined(this, last):
            return self._of_structure(this, last, arguments_of(listed), names)
        given_nodes = arguments_of(listed)
        if isinstance(bound, Number) and not given_nodes:  # a tag that is called
            return bound
        function = self._function(bound.name if isinstance(bound, FunctionName) else last, given_nodes)
        body = self._leading_lambda(given_nodes)
        if function is not None:
            try:
                written_for = self.template(template, names)
                taken = bound.template if isinstance(bound, FunctionName) else written_for
                value = self.inlined(function, given_nodes, taken, names, last)
            except NotFollowed:
                if body is None:
                    raise
            else:
                if body is None:
                    return value
        if body is not None:
            # Who is handed what leads to the launch calls it, in a way that is not followed.
            return self.lambda_called(Lambda(body, names), None, names)
        for at, handed in enumerate(given_nodes):
            for function in self.unit.functions.get(text_of(handed), ()) if last not in names.values else ():
                rest = given_nodes[at + 1 :]
                if function.name in self.leading and len(rest) == len(function.parameters):
                    # Who is handed a function with all its arguments calls it with them.
                    return self.inlined(function, rest, (), names, last)
        return self._library(written, last, template, given_nodes, node, names)

    def _function(self, name: str, nodes: list[Node]) -> HostCode | None:
        """The function of the host that takes so many arguments; None for none."""
        functions = self.unit.functions.get(name, ())
        return next((f for f in functions if f.of_host and takes(f, len(nodes))), None)

    def _called(self, held: Lambda | FunctionName, listed: Node | None, names: Names) -> Value:
        """What a function gives that an element or a field holds. Raises `NotFollowed`."""
        if isinstance(held, Lambda):
            return self.lambda_called(held, listed, names)
        function = self._function(held.name, arguments_of(listed))
        if function is None:
            raise NotFollowed(f"`{held.name}()`")
        return self.inlined(function, arguments_of(listed), held.template, names, held.name)

    def _leading_lambda(self, nodes: list[Node]) -> Node | None:
        """The lambda among arguments that leads to the launch."""
        lambdas = (n for n in nodes if n.type == "lambda_expression")
        return next((n for n in lambdas if words_in(n) & self.leading), None)

    def _chevrons(self, callee: Node, node: Node, names: Names) -> Value:
        inner = callee
        while inner.type in ("parenthesized_expression", "pointer_expression") and inner.named_child_count:
            child = inner.named_child(inner.named_child_count - 1)
            if child is None:
                break
            inner = child
        value = self.value(inner, names)
        if isinstance(value, Opaque):
            raise NotFollowed(value.why)
        if not isinstance(value, KernelName):
            raise NotFollowed(f"`{text_of(callee)}`")
        return self.launched(value, node, names)

    def _library(
        self, written: str, last: str, template: Node | None, nodes: list[Node], node: Node, names: Names
    ) -> Value:
        kind = self.type_named(bare_type(written), names)
        if bytes_of(kind) is not None and nodes and "::" not in written.removeprefix("std::"):
            return self.cast(kind, self.value(nodes[0], names), names)
        callee = node.child_by_field_name("function")
        if callee is not None and not nodes and (tag := self.tag(callee, names)) is not None:
            return tag
        args = [self.either(n, names) for n in nodes]
        if last in _TO_VARIABLE and len(args) > 1:
            offset = args[3] if len(args) > 3 else plain(0)
            self._copied_to(text_of(nodes[0]).lstrip("& ").rsplit("::", 1)[-1], args[1], offset)
        if last == "swap" and len(nodes) == 2:
            return self._swapped(nodes, names)
        if last == "dim3":
            return dim3(args)
        if last in ("vector", "device_vector", "host_vector") and template is not None:
            return self.constructed(text_of(template).strip("<> "), args, "", names)
        if self.launched_by_function(last, args, node):
            return plain(0)
        if re.search(r"(?:^|::)(?:torch|at)::|^(?:torch|at)::", written) or last.endswith("_like"):
            tensor = self.made_by_torch(last, args)
            if tensor is not None:
                return tensor
        if last in ("TensorOptions", "dtype"):
            kinds = [g for g in args if isinstance(g, TypeName)]
            return Record(OPTIONS, {"dtype": kinds[0]} if kinds else {})
        if last == "globalContext":
            return Text(last)
        if last == "IntArrayRef" and args:
            return args[0]
        if last in self.unit.fields:
            return self.record(last, args)
        if (vector := last.removeprefix("make_")) in VECTORS:
            return self.record(vector, args)
        return library_call(last, args, self.sizes)

    def _swapped(self, nodes: list[Node], names: Names) -> Value:
        """What two places hold is exchanged. Raises `NotFollowed` for what is no place."""
        first, second = (self.place_at(node, names) for node in nodes)
        if first is None or second is None:
            raise NotFollowed(f"`swap({', '.join(map(text_of, nodes))})`")
        held = [fetched(place) or Opaque("nothing") for place in (first, second)]
        stored(first, held[1])
        stored(second, held[0])
        return plain(0)

    def _copied_to(self, variable: str, value: Value, offset: Value) -> None:
        """Keep the structure that a variable of device code gets, as it is now; of another value nothing is kept."""
        held = fetched(value) if isinstance(value, Place) else value
        self.sizes.copied.pop(variable, None)
        if isinstance(held, Record) and isinstance(offset, Number) and offset.value == 0:
            self.sizes.copied[variable] = Record(held.type, dict(held.fields))

    def made_by_torch(self, name: str, args: list[Value]) -> Value | None:
        """What a function of torch gives; None for one that makes no tensor."""
        made = made_tensor(name, args, "", self.sizes)
        work = torch_work(name, args, self.sizes) if made is None else filled(name, args, made)
        return self.worked_out(work) if work is not None else made

    def of_tensor(self, tensor: Tensor, name: str, args: list[Value], template: str) -> Value:
        """What a method of a tensor gives. Raises `NotFollowed`."""
        if (copied := in_format(tensor, name, args, self.sizes)) is not None:
            result, work = copied
            if work is not None:
                self.worked_out(work)
            return result
        try:
            return method_of_tensor(tensor, name, args, template, self.sizes)
        except NotFollowed:
            work = torch_work(name, [tensor, *args], self.sizes)
            if work is None:
                raise
            return self.worked_out(work)

    def worked_out(self, work: TorchWork) -> Tensor:
        """What an operation of torch gives."""
        return work.result

    def operated(self, operator: str, left: Value, right: Value, written: str) -> Value:
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            work = torch_work(OPERATORS.get(operator, ""), [left, right], self.sizes)
            if work is not None:
                return self.worked_out(work)
        return super().operated(operator, left, right, written)

    def _updated(self, old: Value, operator: str, by: Value, written: str) -> Value:
        if isinstance(old, Tensor) and operator in OPERATORS:
            work = torch_work(f"{OPERATORS[operator]}_", [old, by], self.sizes)
            if work is not None:
                return self.worked_out(work)
        return super()._updated(old, operator, by, written)

    def constructed(self, element: str, args: list[Value], name: str, names: Names) -> Value:
        """A vector of the host or the device: memory where it has a length, else a list."""
        kind = self.type_named(bare_type(element), names)
        one = bytes_of(kind)
        if element.rstrip().endswith("*") and args and isinstance(args[0], Number):
            return self.pointers(args[0], kind, element.count("*"), name)
        if args and isinstance(args[0], Number) and one is not None:
            filled = args[1].value if len(args) > 1 and isinstance(args[1], Number) else 0
            return Buffer(name, times(args[0], plain(one)), dtype=kind, cleared=filled == 0)
        if len(args) == 1 and isinstance(args[0], Opaque) and one is not None:
            return Buffer(name, dtype=kind, untold=args[0].why)
        return list(args[0]) if args and isinstance(args[0], list) else list(args)

    def pointers(self, count: Value, kind: str, stars: int, name: str) -> list[Value]:
        """An array of pointers that point to nothing yet; without elements where nothing tells how many."""
        is_told = isinstance(count, Number) and count.is_constant and count.value <= MOST_ELEMENTS
        number = int(count.value) if isinstance(count, Number) and is_told else 0
        return [self.unset(kind, stars, f"{name}_{at}") for at in range(number)]

    def _method(self, callee: Node, listed: Node | None, node: Node, names: Names) -> Value:
        base = self.value(callee.child_by_field_name("argument"), names)
        if isinstance(base, Place):
            base = fetched(base) or base
        field = callee.child_by_field_name("field")
        name, template = _last_name(field) if field is not None else ("", None)
        args = [self.either(n, names) for n in arguments_of(listed)]
        if isinstance(base, Lambda) and name == "operator()":
            return self.lambda_called(base, listed, names, template)
        if isinstance(base, Number) and name in ("has_value", "value"):
            return plain(True) if name == "has_value" else base
        if isinstance(base, Tensor) and is_accessor_method(name) and template is not None:
            parts = self.template(template, names)
            return packed_accessor(base, name, parts, self.type_named(bare_type(parts[0]), names), self.sizes)
        if isinstance(base, Tensor):
            kind = text_of(template).strip("<> ") if template is not None else ""
            return self.of_tensor(base, name, args, self.type_named(bare_type(kind), names))
        if isinstance(base, Record) and base.type == OPTIONS:
            return method_of_options(base, name, args)
        if isinstance(base, Record) and base.type == SIZES_OF:
            return method_of_sizes(base, name, args, self.sizes)
        if isinstance(base, Buffer) and name in ("data", "get", "begin"):
            return Pointer(base, base.dtype)
        if isinstance(base, Buffer) and name in ("size", "empty") and base.size is not None:
            count = divided(base.size, plain(bytes_of(base.dtype) or 1))
            return count if name == "size" else combined("==", count, plain(0))
        if name in _RESIZES and (isinstance(base, Buffer) or base == []):
            return self.resized(callee.child_by_field_name("argument"), base, args, names)
        if isinstance(base, list):
            return method_of_list(base, name, args)
        if isinstance(base, Pointer) and base.buffer is None and name in ("has_value", "defined"):
            return plain(False)
        if isinstance(base, Pointer) and name in ("get", "data"):
            return base
        if isinstance(base, TypeName):
            return base
        if isinstance(base, Text) and base.text == "globalContext":
            return plain(False)
        if isinstance(base, Record):
            held = base.fields.get(name)
            if isinstance(held, (Lambda, FunctionName)):
                return self._called(held, listed, names)
            return self._of_structure(base, name, arguments_of(listed), names)
        raise NotFollowed(f"`{text_of(node)}`")

    def resized(self, written: Node | None, base: Value, args: list[Value], names: Names) -> Value:
        """Let a vector of the host have as many elements as it is told, and other ones. Raises `NotFollowed`."""
        if not args or not isinstance(args[0], Number):
            raise NotFollowed(f"the size of `{text_of(written)}`")
        held = base if isinstance(base, Buffer) else Buffer(text_of(written))
        one = bytes_of(held.dtype)
        held.size = times(args[0], plain(one)) if one is not None else None
        held.cleared, held.below = False, None
        if held is not base:
            self.store(written, held, names)
        return plain(0)

    def _of_structure(self, base: Record, name: str, nodes: list[Node], names: Names) -> Value:
        """What a structure's own function gives: its body is followed with the fields. Raises `NotFollowed`."""
        functions = [f for f in self._defined(base, name) if takes(f, len(nodes))]
        if len({text_of(f.body) for f in functions}) != 1:
            raise NotFollowed(f"`{name}()` of `{base.type}`")
        function, inner = functions[0], Names(self.unit_names(names))
        self.enter(base, inner)
        arguments: list[Node | None] = [*nodes, *[None] * len(function.parameters)]
        for parameter, node in zip(function.parameters, arguments, strict=False):
            value = self.either(node if node is not None else parameter.default, names)
            is_variable = node is not None and node.type == "identifier"
            inner.references.pop(parameter.name, None)
            if parameter.reference and is_variable and names.holder(text_of(node)) is not None:
                inner.references[parameter.name] = Reference(names, text_of(node))
                continue
            inner.values[parameter.name] = (
                self.by_its_parameter(value, parameter, inner)
                if isinstance(value, Opaque) and name in self.leading
                else value
            )
        value = self.body(function.body, inner)
        returned = self.type_named(bare_type(text_of(function.node.child_by_field_name("type"))), inner)
        return (
            self.cast(returned, value, inner) if isinstance(value, Number) and bytes_of(returned) else value
        )

    def enter(self, base: Record, inner: Names) -> None:
        """Give the names of a method its object's: fields, but for those that its parameters hide, static members and
        types.
        """
        code = self._class_of(base)
        arguments = base.type.partition("<")[2].rpartition(">")[0]
        inner.types |= dict(
            zip(code.template if code is not None else (), at_commas(arguments), strict=False)
        )
        of_class = self.members(base.type)
        if of_class is not None:
            inner.values |= of_class.values
            inner.types |= of_class.types
        hidden = inner.values.keys()
        inner.references |= {f: FieldReference(base, f) for f in base.fields if f not in hidden}
        inner.values["this"] = base

    def _class_of(self, base: Record) -> ClassCode | None:
        return self.unit.classes.get(base.type.partition("<")[0].rpartition("::")[2].strip())

    def _defined(self, base: Record, name: str) -> list[HostCode]:
        """The functions of the host that a structure defines by a name."""
        kind = base.type.partition("<")[0].rpartition("::")[2].strip()
        return self.unit.own_methods.get(kind, {}).get(name, [])

    def _this(self, node: Node, names: Names) -> Value:
        value = names.get(text_of(node))
        if value is None:
            raise NotFollowed("`this`")
        return value


def dim3(extents: list[Value]) -> Record:
    """A `dim3` of up to three extents."""
    return Record("dim3", dict(zip("xyz", extents, strict=False)))


def takes(function: HostCode, count: int) -> bool:
    """Whether a function may be called with so many arguments."""
    required = sum(p.default is None for p in function.parameters)
    return required <= count <= len(function.parameters)


def _last_name(node: Node) -> tuple[str, Node | None]:
    """The last component of a name, and its template arguments."""
    while node.type in ("qualified_identifier", "dependent_name"):
        inner = node.child_by_field_name("name") or next(reversed(node.named_children), None)
        if inner is None:
            break
        node = inner
    if node.type in ("template_function", "template_method", "template_type"):
        return text_of(node.child_by_field_name("name")), node.child_by_field_name("arguments")
    return text_of(node), None
