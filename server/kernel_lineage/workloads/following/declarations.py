"""Variables and parameters of host code: what they are when they are declared."""

from __future__ import annotations

import re
from dataclasses import replace

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.workloads.chosen_sizes import usual_number
from kernel_lineage.workloads.following.calls import dim3
from kernel_lineage.workloads.following.casts import is_computed
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.constructors import Constructors
from kernel_lineage.workloads.following.flags import numbers_told_apart
from kernel_lineage.workloads.following.functions import HostParameter, bare_type, declared_name
from kernel_lineage.workloads.following.library import buffer_at
from kernel_lineage.workloads.following.lists import GivenList, element_listed, elements_asked
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.sizes import BLOCK_SIZES, USUAL_THREADS
from kernel_lineage.workloads.following.types import FLOATS, INTEGERS, VECTORS, bytes_of
from kernel_lineage.workloads.following.values import (
    Buffer,
    Lambda,
    NotFollowed,
    Number,
    Opaque,
    Pointer,
    Record,
    Reference,
    Tensor,
    Value,
    made,
    plain,
    times,
)

_USUAL: tuple[tuple[str, float], ...] = (
    ("eps", 1e-5), ("seed", 1234), ("dropout", 0.1), ("beta1", 0.9), ("beta2", 0.999), ("lr", 1e-3),
)  # fmt: skip
_NUMBERS = (0.5, 0.75, 0.25, 0.625, 0.375)
"""What numbers with a fraction are taken to be that nothing tells, one after the other: two that are swapped differ."""
_LIST = re.compile(
    r"(?:at::|c10::|torch::)*(?:(?:Sym)?IntArrayRef|IntList"
    r"|(?P<pair>pair)<\s*(?:std::)?(?:int|u?int\d+_t|long|size_t)\s*,.*>"
    r"|(?:vector|ArrayRef|array|List)<\s*(?:std::)?(?:int|u?int\d+_t|long|size_t)\s*(?:,\s*(?P<count>\d+)\s*)?>)"
)
"""Types of parameters that are lists of whole numbers."""


_INPUT = re.compile(r"(?:std::)?(?:ato(?:i|l|ll)|sto(?:i|l|ll|ul|ull)|strto(?:l|ll|ul|ull))\s*\(")
"""Calls that read a number which the user of a program gives."""
_BYTE = 3
"""A number of one byte that a caller gives."""
_OPTIONAL = re.compile(r"(?:\w+::)*optional<(.*)>")


_POINTERS = re.compile(r"std::array\s*<(?P<element>[^<>]*\*)\s*,(?P<count>[^<>]*)>\s*")
"""The type of an array of pointers."""
_ORDERS = frozenset({"<", "<=", ">", ">="})


class Declarations(Constructors):
    """Follows declarations."""

    def parameter(self, parameter: HostParameter, names: Names) -> Value:
        """What a caller gives of whom nothing is known."""
        kind, name = self.type_named(parameter.type, names), parameter.name
        if not name:
            return Opaque("a parameter that has no name")
        optional = _OPTIONAL.fullmatch(parameter.type)
        if optional is not None:
            self.sizes.say(f"{name}, which {self.function} may do without, is taken to be there")
            return self.parameter(replace(parameter, type=optional[1], default=None), names)
        element = element_listed(parameter.type) or element_listed(kind)
        if element:
            return self._listed(replace(parameter, type=element, default=None), names)
        if "Tensor" in parameter.type and "vector" not in parameter.type and "List" not in parameter.type:
            return self.sizes.tensor(name)
        value = self._default(parameter, names)
        flag = self._flag(parameter, kind) if value is None and not parameter.stars else None
        if flag is not None:
            self.sizes.say(f"{name} of {self.function} is taken to be {flag}: nothing tells it")
            return plain(flag)
        if isinstance(value, Number) and (
            not value.whole or isinstance(value.value, bool) or value.value < 16
        ):
            self.sizes.say(f"{name} is {value.text}, as {self.function} has it by default")
            return value
        if parameter.stars:
            return self.unset(kind, parameter.stars, name)
        if kind == "bool":
            self.sizes.say(f"{name} of {self.function} is taken to be true: nothing tells it")
            return plain(True)
        if kind in FLOATS or kind in ("at::Scalar", "Scalar"):
            usual = next((n for part, n in _USUAL if part in name.lower()), None)
            number = usual if usual is not None else self.sizes.another(name, _NUMBERS)
            self.sizes.say(f"{name} of {self.function} is taken to be {number}: nothing tells it")
            if self.sizes.named is None:
                return plain(number)
            self.sizes.named[name] = number
            return made(number, name)
        if kind in INTEGERS and bytes_of(kind) == 1:
            # No size is counted in one byte: a dim would not fit.
            self.sizes.say(f"{name} of {self.function} is taken to be {_BYTE}: nothing tells it")
            return plain(_BYTE)
        if kind in INTEGERS:
            return self._whole(name)
        if kind in self.unit.enums:
            self.sizes.say(f"{name} of {self.function} is taken to be the first of {kind}: nothing tells it")
            return plain(0)
        if fields := self.unit.fields_of(kind):
            # The axes of a vector say nothing without its name, nor do the fields of one of several.
            front = f"{name}_" if kind in VECTORS or self._has_several(parameter.type) else ""
            return Record(
                kind, {f.name: self.parameter(replace(f, name=front + f.name), names) for f in fields}
            )
        if (numbers := _LIST.fullmatch(kind)) is not None:
            return self._numbers(name, 2 if numbers["pair"] else int(numbers["count"] or 0))
        return Opaque(f"`{name}`")

    def _flag(self, parameter: HostParameter, kind: str) -> int | None:
        """What a parameter is by which the function chooses what it does; None for one of another kind."""
        if kind not in INTEGERS and kind not in self.unit.enums:
            return None
        functions = self.unit.functions.get(self.function, ())
        numbers = numbers_told_apart(parameter.name, functions, self.unit)
        return self.sizes.chooses(parameter.name, numbers) if numbers else None

    def _listed(self, element: HostParameter, names: Names) -> Value:
        """A list of tensors that a caller gives; `element` is what each of them is, with the list's name."""
        functions = self.unit.functions.get(self.function, [])
        self.sizes.say(
            f"{element.name} of {self.function} is taken to hold as many tensors as are asked for by their numbers"
        )

        def made(at: int) -> Value:
            return self.parameter(
                replace(element, name=f"{element.name}_{at}" if at else element.name), names
            )

        return GivenList(made, elements_asked(element.name, functions))

    def _default(self, parameter: HostParameter, names: Names) -> Value | None:
        """What a caller may leave out, of the function itself or of what binds it."""
        if parameter.default is not None:
            return self.either(parameter.default, names)
        bound = self.unit.defaults.get(self.function, {})
        for function in self.unit.functions.get(self.function, ()) if bound else ():
            for at, other in enumerate(function.parameters):
                if other is parameter and at in bound:
                    return self.expanded(f"({bound[at]})", names)
        return None

    def _has_several(self, kind: str) -> bool:
        """Whether the function that is entered has several parameters of a type, or of one template."""
        functions = self.unit.functions.get(self.function, ())
        return any([_template(p.type) for p in f.parameters].count(_template(kind)) > 1 for f in functions)

    def _numbers(self, name: str, count: int) -> Value:
        """A list of whole numbers that a caller gives: of one number where its type does not tell how many."""
        if not count:
            self.sizes.say(f"{name} of {self.function} is taken to hold one number: nothing tells how many")
            return [self._whole(name)]
        return [self._whole(f"{name}_{at}") for at in range(count)]

    def _whole(self, name: str) -> Number:
        if name.lower() in BLOCK_SIZES or name in self.sizes.threads:
            threads = self.sizes.usual_threads.get(name, USUAL_THREADS)
            self.sizes.say(f"{name} of {self.function} is taken to be {threads}: nothing tells it")
            return plain(threads)
        if (usual := usual_number(name)) is not None and not self._is_compared(name):
            self.sizes.say(f"{name} of {self.function} is taken to be {usual}: nothing tells it")
            return plain(usual)
        return self.sizes.free(name)

    def _is_compared(self, name: str) -> bool:
        """Whether the function that is entered holds a number against another one by name: `if (stride < len)`."""
        sides = (
            [node.child_by_field_name(side) for side in ("left", "right")]
            for function in self.unit.functions.get(self.function, ())
            for node in inside(function.body)
            if node.type == "binary_expression" and text_of(node.child_by_field_name("operator")) in _ORDERS
        )
        return any(
            name in map(text_of, pair)
            and all(side is not None and side.type == "identifier" for side in pair)
            for pair in sides
        )

    def unset(self, kind: str, stars: int, name: str) -> Value:
        if stars:
            return Pointer(Buffer(name, dtype="" if kind == "void" else kind), "" if kind == "void" else kind)
        if kind == "dim3":
            return dim3([])
        if fields := self.unit.fields_of(kind):
            return Record(
                kind,
                {
                    f.name: self.unset(f.type, f.stars, f.name) if f.initial is None else self.initial(f)
                    for f in fields
                },
            )
        is_of_library = kind.endswith(("Prop", "Config_t", "_t")) and kind.startswith("cuda")
        if is_of_library or self.unit.is_empty(kind):
            return Record(kind)
        if re.match(r"(?:std::)?(?:vector|array)\b", kind):
            return []
        if kind.endswith("Tensor"):
            return Tensor(Buffer(name))
        return Opaque(f"`{name}`")

    def _do_declaration(self, node: Node, names: Names) -> None:
        written = text_of(node.child_by_field_name("type"))
        kind = self.type_named(bare_type(written), names)
        head = text_of(node).split("=")[0]
        fixed = "const" in head and self.frames[-1].function.name != "main"
        for declarator in node.children_by_field_name("declarator"):
            name, stars = declared_name(declarator)
            bound = next(
                (c for c in declarator.named_children if c.type == "structured_binding_declarator"), None
            )
            value_node = declarator.child_by_field_name("value")
            if bound is not None:
                self.take_apart(bound, self.either(value_node, names), names)
                continue
            if not name:
                continue
            is_array = any(n.type == "array_declarator" for n in inside(declarator))
            if declarator.type == "function_declarator":
                value = self._built(declarator, kind, name, names)
            else:
                is_list = is_array and value_node is not None and value_node.type == "initializer_list"
                value = (
                    self.either(value_node, names)
                    if is_list
                    else self._declared(value_node, kind, stars, name, names, written)
                )
                value = self.of_elements(value, value_node, names)
            if is_array and value_node is None:
                value = self._array(declarator, kind, stars, name, names)
            named = self._named(value, value_node, name, kind, fixed, names)
            names.values[name] = named
            self.held_by(name, named)
            if value_node is not None and any(n.type == "reference_declarator" for n in inside(declarator)):
                self._refer(name, value_node, names)

    def _refer(self, name: str, value: Node, names: Names) -> None:
        """Let a name stand for the place that it is a reference to, if it is one."""
        place = self.place_at(value, names)
        if place is not None and place != Reference(names, name):
            names.values.pop(name, None)
            names.references[name] = place

    def take_apart(self, bound: Node, value: Value, names: Names) -> None:
        value = [*value.fields.values()] if isinstance(value, Record) else value
        for at, child in enumerate(bound.named_children):
            part = value[at] if isinstance(value, list) and at < len(value) else Opaque(f"`{text_of(child)}`")
            names.values[text_of(child)] = part

    def _built(self, declarator: Node, kind: str, name: str, names: Names) -> Value:
        """What a variable is that is built from names in brackets, which reads like a function's declaration."""
        listed = declarator.child_by_field_name("parameters")
        args = [self._as_expression(n, names) for n in arguments_of(listed)]
        if kind == "dim3":
            return args[0] if len(args) == 1 and isinstance(args[0], Record) else dim3(args)
        vector = re.search(r"vector\s*<(.*)>$", kind)
        if vector is not None:
            return self.constructed(vector[1], args, name, names)
        if self.unit.fields_of(kind):
            return self.record(kind, args)
        return args[0] if len(args) == 1 else Opaque(f"`{name}`")

    def _as_expression(self, node: Node, names: Names) -> Value:
        try:
            return self.expanded(f"({text_of(node)})", names)
        except NotFollowed as error:
            return Opaque(str(error))

    def _array(self, declarator: Node, kind: str, stars: int, name: str, names: Names) -> Value:
        """A C array: memory of the host; of pointers or structures a list."""
        array = next(n for n in inside(declarator) if n.type == "array_declarator")
        count, one = self.either(array.child_by_field_name("size"), names), bytes_of(kind)
        if stars:
            return self.pointers(count, kind, stars, name)
        if kind in self.unit.fields and kind not in VECTORS:
            return []
        size = times(count, plain(one)) if isinstance(count, Number) and one is not None else None
        return Buffer(name, size, dtype=kind)

    def _declared(
        self, node: Node | None, kind: str, stars: int, name: str, names: Names, written: str
    ) -> Value:
        vector = re.match(r"(?:std|thrust)::(?:\w+)?vector\s*<(.*)>\s*$", written, re.DOTALL)
        if vector is not None:
            args: list[Value] = []
            if node is not None and node.type in ("argument_list", "initializer_list"):
                args = [self.either(n, names) for n in arguments_of(node)]
                if node.type == "initializer_list":
                    return args
            elif node is not None:
                return self.either(node, names)
            return self.constructed(vector[1], args, name, names)
        if node is None and (array := _POINTERS.fullmatch(written)) is not None:
            count = self.expanded(f"({array['count']})", names)
            return self.pointers(count, bare_type(array["element"]), array["element"].count("*"), name)
        if node is None:
            return self.unset(kind, stars, name)
        named = self.either(node, names) if node.type == "initializer_list" and not stars else None
        if isinstance(named, Record):
            return self.of_type(named, kind)
        if node.type in ("argument_list", "initializer_list") and not stars:
            args = [self.either(n, names) for n in arguments_of(node)]
            if kind == "dim3":
                return args[0] if len(args) == 1 and isinstance(args[0], Record) else dim3(args)
            if self.unit.fields_of(kind):
                if args:
                    return self.record(kind, args)
                return self.zeroed(kind, name)
            if len(args) == 1 and node.type == "argument_list":
                return args[0]
            return args or self.unset(kind, 0, name)
        value = self.either(node, names)
        if kind == "dim3" and isinstance(value, Number):
            return dim3([value])
        if not stars and isinstance(value, list):
            return self.of_type(value, kind)
        if stars and isinstance(value, (Pointer, Buffer)):
            return self.cast(f"{kind}*", value, names)
        if isinstance(value, Number) and value.is_constant and not stars:
            return self.cast(kind, value, names)
        if isinstance(value, Number) and not value.whole and kind in INTEGERS:
            return self.whole_part(value)
        return value

    def _is_variable(self, node: Node, names: Names) -> bool:
        return node.type == "identifier" and names.holder(text_of(node)) is not None

    def _named(
        self, value: Value, node: Node | None, name: str, kind: str, fixed: bool, names: Names
    ) -> Value:
        """A number that a program writes out as a dim of the variable's name; memory with the variable's name."""
        buffer = value.buffer if isinstance(value, Tensor) else buffer_at(value)
        if buffer is not None and not buffer.name:
            buffer.name = name
        if isinstance(value, Pointer) and value.buffer is None and not value.place:
            value = replace(value, place=name)
        if isinstance(value, Opaque) and kind in INTEGERS and node is not None:
            return self.sizes.free(name) if _INPUT.match(text_of(node)) else value
        if not isinstance(value, Number):
            return value
        if value.text in self.sizes.nameless and name not in self.sizes.dims:
            self.sizes.equal.setdefault(value.text, name)
        if value.text in self.sizes.lists:
            return self.sizes.again(value.text, name, self.function)
        if not value.is_constant or not value.whole or isinstance(value.value, bool):
            return value
        if fixed or self.function != "main" or kind not in (*INTEGERS, "auto") or value.value < 2:
            return value
        if node is None:
            return value
        sides = [node.child_by_field_name(side) for side in ("consequence", "alternative")]
        parts = [n for side in sides if side is not None for n in (side, *inside(side))] or [*inside(node)]
        # `argc > 1 ? atoi(argv[1]) : 4096` is written out, too: it is what it is where the user gives none.
        asked = any(self._asks(n, names) for n in (node, *inside(node)) if n.type == "call_expression")
        if not asked and any(is_computed(n) or self._is_variable(n, names) for n in parts):
            return value
        return self.sizes.dim_in_code(name, int(value.value), self.function)

    def _asks(self, call: Node, names: Names) -> bool:
        """Whether a call gives what the user of a program gives, itself or by a function of the program."""
        callee = text_of(call.child_by_field_name("function"))
        function = names.get(callee) if callee.isidentifier() else None
        bodies = [function.node] if isinstance(function, Lambda) else []
        bodies += [code.body for code in self.unit.functions.get(callee, ())]
        return _INPUT.match(text_of(call)) is not None or any(_INPUT.search(text_of(b)) for b in bodies)


def _template(kind: str) -> str:
    """The name of a type without its namespaces and a template's arguments."""
    return kind.partition("<")[0].rpartition("::")[2]
