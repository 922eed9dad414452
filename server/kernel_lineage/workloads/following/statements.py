"""Host code followed statement by statement up to the launch of one kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.workloads.following.calls import Calls, Returned, arguments_of, dim3
from kernel_lineage.workloads.following.library import buffer_at, clear
from kernel_lineage.workloads.following.names import Names, fetched
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.types import FLOATS, INTEGERS, bytes_of
from kernel_lineage.workloads.following.unit import (
    HostCode,
    HostParameter,
    Unit,
    bare_type,
    declared_name,
    inside,
    words_in,
)
from kernel_lineage.workloads.following.values import (
    Buffer,
    KernelName,
    NotFollowed,
    Number,
    Opaque,
    Pointer,
    Record,
    Tensor,
    Text,
    TypeName,
    Value,
    plain,
    times,
)
from kernel_lineage.workloads.launch_expressions import BLOCK_SIZES

_STEPS = 20_000
"""Statements that are followed at most."""
_ROUNDS = 64
_USUAL: tuple[tuple[str, float], ...] = (
    ("eps", 1e-5), ("seed", 1234), ("dropout", 0.1), ("beta1", 0.9), ("beta2", 0.999), ("lr", 1e-3),
)  # fmt: skip
_NUMBER = 0.5
_SMALL_NUMBERS: tuple[tuple[str, int], ...] = (
    ("pad", 1), ("stride", 1), ("dilation", 1), ("group", 1), ("kernel", 3), ("ksize", 3), ("seed", 1234),
    ("step", 1), ("device", 0), ("iters", 1), ("mode", 0),
)  # fmt: skip
"""Parameters of which a small number is usual → that."""
_THREADS = 128
_LIST = re.compile(
    r"(?:at::|c10::|torch::)*(?:(?:Sym)?IntArrayRef|IntList"
    r"|(?P<pair>pair)<\s*(?:std::)?(?:int|u?int\d+_t|long|size_t)\s*,.*>"
    r"|(?:vector|ArrayRef|array|List)<\s*(?:std::)?(?:int|u?int\d+_t|long|size_t)\s*(?:,\s*(?P<count>\d+)\s*)?>)"
)
"""Types of parameters that are lists of whole numbers."""


@dataclass(frozen=True, slots=True)
class Given:
    """One argument of a launch."""

    value: Value
    written: str


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch as it was reached."""

    grid: tuple[Value, ...]
    block: tuple[Value, ...]
    shared: Value
    arguments: tuple[Given, ...]
    template: tuple[str, ...]
    function: str


class _Reached(Exception):  # noqa: N818
    def __init__(self, launch: Launched) -> None:
        super().__init__()
        self.launch = launch


class _Left(Exception):  # noqa: N818
    """A loop or a switch is left, or its next round is begun."""


class Follower(Calls):
    """Follows one function of a unit until it launches a kernel."""

    def __init__(self, unit: Unit, sizes: Sizes, kernel: str, leading: frozenset[str]) -> None:
        super().__init__(unit, sizes)
        self.kernel, self.leading = kernel, leading
        self.function = ""
        self.blocks = _threads(unit)
        """Names of numbers of threads: they are no sizes of the data."""
        self.steps = 0

    def follow(self, entry: HostCode, taken: Mapping[str, Value] | None = None) -> Launched | None:
        """The first launch that a function comes to; None where it comes to none."""
        self.function = entry.name
        names = Names(Names())
        for parameter in entry.parameters:
            given = (taken or {}).get(parameter.name)
            names.values[parameter.name] = given if given is not None else self.parameter(parameter, names)
        try:
            self.run(entry.body, names)
        except _Reached as reached:
            return reached.launch
        except (Returned, _Left, RecursionError, NotFollowed):
            return None
        return None

    def parameter(self, parameter: HostParameter, names: Names) -> Value:
        """What a caller gives of whom nothing is known."""
        kind, name = self.type_named(parameter.type, names), parameter.name
        if "Tensor" in parameter.type and "vector" not in parameter.type and "List" not in parameter.type:
            return self.sizes.tensor(name)
        if parameter.default is not None:
            value = self.either(parameter.default, names)
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
            number = next((n for part, n in _USUAL if part in name.lower()), _NUMBER)
            self.sizes.say(f"{name} of {self.function} is taken to be {number}: nothing tells it")
            return plain(number)
        if kind in INTEGERS:
            return self._whole(name)
        if kind in self.unit.fields:
            return Record(kind, {f.name: self.parameter(f, names) for f in self.unit.fields[kind]})
        if (numbers := _LIST.fullmatch(kind)) is not None:
            return self._numbers(name, 2 if numbers["pair"] else int(numbers["count"] or 0))
        return Opaque(f"`{name}`")

    def _numbers(self, name: str, count: int) -> Value:
        """A list of whole numbers that a caller gives: of one number where its type does not tell how many."""
        if not count:
            self.sizes.say(f"{name} of {self.function} is taken to hold one number: nothing tells how many")
            return [self._whole(name)]
        return [self._whole(f"{name}_{at}") for at in range(count)]

    def _whole(self, name: str) -> Number:
        if name.lower() in BLOCK_SIZES or name in self.blocks:
            self.sizes.say(f"{name} of {self.function} is taken to be {_THREADS}: nothing tells it")
            return plain(_THREADS)
        usual = next((n for part, n in _SMALL_NUMBERS if part in name.lower()), None)
        if usual is not None and not name.lower().startswith(("row", "ld", "num")):
            self.sizes.say(f"{name} of {self.function} is taken to be {usual}: nothing tells it")
            return plain(usual)
        return self.sizes.free(name)

    def unset(self, kind: str, stars: int, name: str) -> Value:
        if stars:
            return Pointer(Buffer(name, dtype="" if kind == "void" else kind), "" if kind == "void" else kind)
        if kind == "dim3":
            return dim3([])
        if kind in self.unit.fields:
            return Record(kind, {f.name: self.unset(f.type, f.stars, f.name) for f in self.unit.fields[kind]})
        if kind.endswith(("Prop", "Config_t", "_t")) and kind.startswith("cuda"):
            return Record(kind)
        if re.match(r"(?:std::)?(?:vector|array)\b", kind):
            return []
        if kind.endswith("Tensor"):
            return Tensor(Buffer(name))
        return Opaque(f"`{name}`")

    def run(self, node: Node, names: Names) -> None:
        self.steps += 1
        if self.steps > _STEPS:
            raise NotFollowed("more statements than are followed")
        method = getattr(self, f"_do_{node.type}", None)
        try:
            if method is not None:
                method(node, names)
            elif node.type.startswith("preproc_") or node.type in (
                "ERROR",
                "labeled_statement",
                "try_statement",
            ):
                for child in node.named_children:
                    self.run(child, names)
        except NotFollowed:
            if self.steps > _STEPS:
                raise

    def _do_compound_statement(self, node: Node, names: Names) -> None:
        inner = Names(names)
        for child in node.named_children:
            self.run(child, inner)

    def _do_expression_statement(self, node: Node, names: Names) -> None:
        if node.named_child_count:
            self.value(node.named_child(0), names)

    def _do_return_statement(self, node: Node, names: Names) -> None:
        raise Returned(
            self.either(node.named_child(0), names) if node.named_child_count else Opaque("nothing")
        )

    def _do_break_statement(self, _node: Node, _names: Names) -> None:
        raise _Left

    _do_continue_statement = _do_break_statement

    def _do_alias_declaration(self, node: Node, names: Names) -> None:
        kind = bare_type(text_of(node.child_by_field_name("type")))
        names.types[text_of(node.child_by_field_name("name"))] = self.type_named(kind, names)

    def _do_type_definition(self, node: Node, names: Names) -> None:
        kind = bare_type(text_of(node.child_by_field_name("type")))
        names.types[text_of(node.child_by_field_name("declarator"))] = self.type_named(kind, names)

    def _do_declaration(self, node: Node, names: Names) -> None:
        written = text_of(node.child_by_field_name("type"))
        kind = self.type_named(bare_type(written), names)
        fixed = "constexpr" in text_of(node).split("=")[0]
        for declarator in node.children_by_field_name("declarator"):
            name, stars = declared_name(declarator)
            bound = next(
                (c for c in declarator.named_children if c.type == "structured_binding_declarator"), None
            )
            value_node = declarator.child_by_field_name("value")
            if bound is not None:
                self._bind(bound, self.either(value_node, names), names)
                continue
            if not name:
                continue
            if declarator.type == "function_declarator":
                value = self._built(declarator, kind, name, names)
            else:
                value = self._declared(value_node, kind, stars, name, names, written)
            if "array_declarator" in {n.type for n in inside(declarator)} and value_node is None:
                value = (
                    [] if stars or kind in self.unit.fields else self._array(declarator, kind, name, names)
                )
            named = self._named(value, value_node, name, kind, fixed)
            names.values[name] = named

    def _bind(self, bound: Node, value: Value, names: Names) -> None:
        for at, child in enumerate(bound.named_children):
            part = value[at] if isinstance(value, list) and at < len(value) else Opaque(f"`{text_of(child)}`")
            names.values[text_of(child)] = part

    def _built(self, declarator: Node, kind: str, name: str, names: Names) -> Value:
        """What a variable is that is built from names in brackets, which reads like a function's declaration."""
        listed = declarator.child_by_field_name("parameters")
        given = [self._as_expression(n, names) for n in arguments_of(listed)]
        if kind == "dim3":
            return given[0] if len(given) == 1 and isinstance(given[0], Record) else dim3(given)
        vector = re.search(r"vector\s*<(.*)>$", kind)
        if vector is not None:
            return self.constructed(vector[1], given, name, names)
        if kind in self.unit.fields:
            return self.record(kind, given)
        return given[0] if len(given) == 1 else Opaque(f"`{name}`")

    def _as_expression(self, node: Node, names: Names) -> Value:
        try:
            return self.expanded(f"({text_of(node)})", names)
        except NotFollowed as error:
            return Opaque(str(error))

    def _array(self, declarator: Node, kind: str, name: str, names: Names) -> Value:
        """A C array: memory of the host."""
        array = next(n for n in inside(declarator) if n.type == "array_declarator")
        count, one = self.either(array.child_by_field_name("size"), names), bytes_of(kind)
        size = times(count, plain(one)) if isinstance(count, Number) and one is not None else None
        return Buffer(name, size, dtype=kind)

    def _declared(
        self, node: Node | None, kind: str, stars: int, name: str, names: Names, written: str
    ) -> Value:
        vector = re.match(r"(?:std|thrust)::(?:\w+)?vector\s*<(.*)>\s*$", written, re.DOTALL)
        if vector is not None:
            given: list[Value] = []
            if node is not None and node.type in ("argument_list", "initializer_list"):
                given = [self.either(n, names) for n in arguments_of(node)]
                if node.type == "initializer_list":
                    return given
            elif node is not None:
                return self.either(node, names)
            return self.constructed(vector[1], given, name, names)
        if node is None:
            return self.unset(kind, stars, name)
        if node.type in ("argument_list", "initializer_list") and not stars:
            given = [self.either(n, names) for n in arguments_of(node)]
            if kind == "dim3":
                return given[0] if len(given) == 1 and isinstance(given[0], Record) else dim3(given)
            if kind in self.unit.fields:
                if given:
                    return self.record(kind, given)
                empty = self.unset(kind, 0, name)
                if isinstance(empty, Record):
                    clear(empty)
                return empty
            if len(given) == 1 and node.type == "argument_list":
                return given[0]
            return given or self.unset(kind, 0, name)
        value = self.either(node, names)
        if kind == "dim3" and isinstance(value, Number):
            return dim3([value])
        if kind in self.unit.fields and isinstance(value, list):
            return self.record(kind, value)
        if stars and isinstance(value, (Pointer, Buffer)):
            return self.cast(f"{kind}*", value, names)
        if isinstance(value, Number) and value.is_constant and not stars:
            return self.cast(kind, value, names)
        if isinstance(value, Number) and not value.whole and kind in INTEGERS:
            return self.whole_part(value)
        return value

    def _named(self, value: Value, node: Node | None, name: str, kind: str, fixed: bool) -> Value:
        """A number that a program writes out as a dim of the variable's name; memory with the variable's name."""
        buffer = value.buffer if isinstance(value, Tensor) else buffer_at(value)
        if buffer is not None and not buffer.name:
            buffer.name = name
        if not isinstance(value, Number):
            return value
        if value.text in self.sizes.nameless and name not in self.sizes.dims:
            self.sizes.equal.setdefault(value.text, name)
        if not value.is_constant or not value.whole or isinstance(value.value, bool):
            return value
        if fixed or self.function != "main" or kind not in (*INTEGERS, "auto") or name in self.blocks:
            return value
        if name.lower() in BLOCK_SIZES or value.value < 2 or node is None or node.type == "call_expression":
            return value
        return self.sizes.told(name, int(value.value), self.function)

    def _leads(self, node: Node | None) -> bool:
        return node is not None and bool(words_in(node) & self.leading)

    def _do_if_statement(self, node: Node, names: Names) -> None:
        condition = node.child_by_field_name("condition")
        then, otherwise = (node.child_by_field_name(side) for side in ("consequence", "alternative"))
        test = self.either(condition, names)
        known = test if isinstance(test, Number) else None
        if isinstance(test, Pointer):
            known = plain(test.buffer is not None)
        there, here = self._leads(otherwise), self._leads(then)
        if here != there:
            # The side that leads to the launch is taken; what it asks for is kept by the sizes.
            taken = then if here else otherwise
            if (here and known is None) or (
                here and known is not None and known.is_constant and not known.value
            ):
                self._assume(condition, names)
            if known is not None and not known.is_constant:
                self.sizes.require(known, here)
            self._branch(taken, names)
            return
        if known is None:
            if then is not None and _leaves(then):
                taken = otherwise
            else:
                taken = then
        else:
            taken = then if known.value else otherwise
            if not known.is_constant and then is not None and _leaves(then):
                self.sizes.require(known, holds=False)
                taken = otherwise
        self._branch(taken, names)

    def _assume(self, condition: Node | None, names: Names) -> None:
        """Note that a condition holds, where it can be told what it says."""
        if condition is None or condition.named_child_count == 0:
            return
        try:
            self.hold(condition.named_child(condition.named_child_count - 1) or condition, names)
        except NotFollowed as error:
            self.sizes.say(f"`{text_of(condition)}` is taken to hold: nothing tells {error}")

    def _branch(self, node: Node | None, names: Names) -> None:
        if node is not None:
            for child in node.named_children if node.type == "else_clause" else (node,):
                self.run(child, names)

    def _do_for_statement(self, node: Node, names: Names) -> None:
        inner = Names(names)
        first = node.child_by_field_name("initializer")
        if first is not None:
            (self.run if first.type == "declaration" else self.either)(first, inner)
        self._loop(node, node.child_by_field_name("condition"), node.child_by_field_name("update"), inner)

    def _do_while_statement(self, node: Node, names: Names) -> None:
        self._loop(node, node.child_by_field_name("condition"), None, names)

    def _do_do_statement(self, node: Node, names: Names) -> None:
        self._round(node.child_by_field_name("body"), names)

    def _do_for_range_loop(self, node: Node, names: Names) -> None:
        values = self.either(node.child_by_field_name("right"), names)
        body = node.child_by_field_name("body")
        inner = Names(names)
        name, _ = declared_name(node.child_by_field_name("declarator"))
        if isinstance(values, list) and values:
            inner.values[name] = values[0]
        elif not self._leads(body):
            self._forget(body, names)
            return
        self._round(body, inner)

    def _forget(self, body: Node | None, names: Names) -> None:
        """Variables that a loop sets that cannot be followed: their values before it are not those after it."""
        for node in inside(body) if body is not None else ():
            side = {"assignment_expression": "left", "update_expression": "argument"}.get(node.type)
            target = node.child_by_field_name(side) if side is not None else None
            if (
                target is not None
                and target.type == "identifier"
                and names.holder(text_of(target)) is not None
            ):
                names.set(text_of(target), Opaque(f"`{text_of(node)}` in a loop over what nothing tells"))

    def _loop(self, node: Node, condition: Node | None, update: Node | None, names: Names) -> None:
        body = node.child_by_field_name("body")
        if not self._leads(body) and body is not None and self._fills(body, condition, names):
            return
        for _ in range(1 if self._leads(body) else _ROUNDS):
            test = self.either(condition, names)
            holds = bool(test.value) if isinstance(test, Number) else self._leads(body)
            if not holds:
                return
            if not self._round(body, names):
                return
            self.either(update, names)

    def _round(self, body: Node | None, names: Names) -> bool:
        """One round of a loop; whether another one may follow."""
        try:
            if body is not None:
                self.run(body, names)
        except _Left:
            return False
        return True

    def _fills(self, body: Node, condition: Node | None, names: Names) -> bool:
        """Whether a loop sets elements of arrays, and no more; what it fills whole numbers with is kept."""
        sets = [
            n for n in inside(body)
            if n.type == "assignment_expression"
            and (left := n.child_by_field_name("left")) is not None and left.type == "subscript_expression"
        ]  # fmt: skip
        for node in sets:
            left = node.child_by_field_name("left")
            base = self.either(left.child_by_field_name("argument") if left is not None else None, names)
            buffer = buffer_at(base)
            if buffer is None or isinstance(base, list):
                continue
            buffer.cleared = False
            buffer.below = self._below(node.child_by_field_name("right"), condition, names)
        return bool(sets)

    def _below(self, value: Node | None, condition: Node | None, names: Names) -> Number | None:
        """What the values that a loop fills an array with are smaller than."""
        for node in inside(value) if value is not None else ():
            if node.type == "binary_expression" and text_of(node.child_by_field_name("operator")) == "%":
                bound = self.either(node.child_by_field_name("right"), names)
                return bound if isinstance(bound, Number) and bound.whole else None
        found = self.either(value, names)
        if isinstance(found, Number) and found.whole and found.is_constant and found.value >= 0:
            return plain(int(found.value) + 1)
        if value is not None and value.type == "identifier" and condition is not None:
            bound = self.either(condition.child_by_field_name("right"), names)
            return bound if isinstance(bound, Number) else None
        return None

    def _do_switch_statement(self, node: Node, names: Names) -> None:
        value = self.either(node.child_by_field_name("condition"), names)
        body = node.child_by_field_name("body")
        cases = [c for c in body.named_children if c.type == "case_statement"] if body is not None else []
        chosen = next((c for c in cases if self._is_case(c, value, names)), None)
        leading = [c for c in cases if self._leads(c)]
        if leading and (chosen is None or chosen not in leading):
            chosen = leading[0] if chosen is None or not _falls_to(cases, chosen, leading) else chosen
        for case in cases[cases.index(chosen) :] if chosen is not None else ():
            label = case.child_by_field_name("value")
            try:
                for child in case.named_children:
                    if label is None or child.id != label.id:
                        self.run(child, names)
            except _Left:
                return

    def _is_case(self, case: Node, value: Value, names: Names) -> bool:
        label = case.child_by_field_name("value")
        if label is None:
            return True
        found = self.either(label, names)
        if isinstance(found, Number) and isinstance(value, Number):
            return found.value == value.value
        if isinstance(found, (TypeName, Text)) and isinstance(value, (TypeName, Text)):
            return found == value
        return False

    def launched(self, callee: KernelName, node: Node, names: Names) -> Value:
        if callee.name != self.kernel:
            return plain(0)
        chevrons = next(c for c in node.children if c.type == "kernel_call_syntax")
        shape = [c for c in chevrons.named_children if c.type != "comment"]
        grid, block = (self._extents(self.either(n, names), text_of(n)) for n in shape[:2])
        shared = self.either(shape[2], names) if len(shape) > 2 else plain(0)
        listed = node.child_by_field_name("arguments")
        given = tuple(Given(self.either(n, names), text_of(n)) for n in arguments_of(listed))
        raise _Reached(Launched(grid, block, shared, given, callee.template, self.function))

    @staticmethod
    def _extents(value: Value, written: str) -> tuple[Value, ...]:
        if isinstance(value, list):
            value = dim3(value)
        if isinstance(value, Number):
            return (value,)
        if isinstance(value, Record):
            found = [value.fields.get(axis, plain(1)) for axis in "xyz"]
            while (
                len(found) > 1
                and isinstance(found[-1], Number)
                and found[-1].is_constant
                and found[-1].value == 1
            ):
                found.pop()
            return tuple(found)
        return (value if isinstance(value, Opaque) else Opaque(f"`{written}`"),)

    def launched_by_function(self, name: str, given: list[Value], node: Node) -> bool:
        if name in ("cudaLaunchKernel", "cudaLaunchCooperativeKernel") and len(given) >= 4:
            if not isinstance(given[0], KernelName) or given[0].name != self.kernel:
                return True
            listed = given[3]
            values = listed if isinstance(listed, list) else []
            arguments = tuple(
                Given(v if (v := _at(r)) is not None else Opaque("nothing"), "") for r in values
            )
            shared = given[4] if len(given) > 4 else plain(0)
            grid, block = (self._extents(v, text_of(node)) for v in given[1:3])
            raise _Reached(Launched(grid, block, shared, arguments, given[0].template, self.function))
        if name in ("cudaLaunchKernelEx", "cudaLaunchKernelExC") and len(given) >= 2:
            config, callee = _at(given[0]), given[1]
            if (
                not isinstance(callee, KernelName)
                or callee.name != self.kernel
                or not isinstance(config, Record)
            ):
                return True
            values = (
                given[2:] if name == "cudaLaunchKernelEx" else given[2] if isinstance(given[2], list) else []
            )
            arguments = tuple(
                Given(v if (v := _at(r)) is not None else Opaque("nothing"), "") for r in values
            )
            grid, block = (
                self._extents(config.fields.get(f, Opaque(f"`{f}`")), f) for f in ("gridDim", "blockDim")
            )
            shared = config.fields.get("dynamicSmemBytes", plain(0))
            raise _Reached(Launched(grid, block, shared, arguments, callee.template, self.function))
        return False


def _at(value: Value) -> Value | None:
    from kernel_lineage.workloads.following.values import FieldReference, Reference

    return fetched(value) if isinstance(value, (Reference, FieldReference)) else value


def _leaves(node: Node) -> bool:
    """Whether a branch ends the function or the program."""
    text = text_of(node)
    return re.search(r"\b(?:return|throw|exit|abort|TORCH_CHECK|AT_ERROR|goto)\b", text) is not None


def _falls_to(cases: list[Node], chosen: Node, leading: list[Node]) -> bool:
    """Whether a case without statements of its own goes on into one that leads to the launch."""
    at = cases.index(chosen)
    while at < len(cases) and not any(c.type.endswith("statement") for c in cases[at].named_children):
        at += 1
    return at < len(cases) and cases[at] in leading


def _threads(unit: Unit) -> set[str]:
    """Names that blocks are written with, and names that those are set to."""
    found: set[str] = set()
    for node in inside(unit.root):
        if node.type == "kernel_call_syntax":
            shape = [c for c in node.named_children if c.type != "comment"]
            if len(shape) > 1:
                found |= set(re.findall(r"[A-Za-z_]\w*", text_of(shape[1])))
    for node in inside(unit.root):
        if node.type == "init_declarator" and declared_name(node)[0] in found:
            value = node.child_by_field_name("value")
            if value is not None:
                found |= set(re.findall(r"[A-Za-z_]\w*", text_of(value)))
    return found - {"dim3", "x", "y", "z", "N", "n"}
