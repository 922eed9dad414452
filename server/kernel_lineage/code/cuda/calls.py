"""Calls: intrinsics that access memory, arithmetic functions, cooperative groups, macros, and functions to inline."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_gate.expr.terms import Num, Term, Var
from kernel_lineage.code.cuda.assembly import linear_thread
from kernel_lineage.code.cuda.conversions import cast
from kernel_lineage.code.cuda.expressions import Expressions
from kernel_lineage.code.cuda.inlining import inlined, takes
from kernel_lineage.code.cuda.layouts import aggregate, as_integer, struct_of, within
from kernel_lineage.code.cuda.places import loaded
from kernel_lineage.code.cuda.scope import shown
from kernel_lineage.code.integers import common, operated
from kernel_lineage.code.types import DTYPES, vector_of
from kernel_lineage.code.values import (
    INT32,
    UINT32,
    Group,
    Int,
    Lambda,
    Opaque,
    Pointer,
    Record,
    Symbol,
    Value,
    unknown,
    why,
)
from kernel_lineage.kernels.cuda_forms import bare, read_call, text_of
from kernel_lineage.kernels.words import with_meanings

_LOADS = frozenset({"__ldg", "__ldcs", "__ldca", "__ldcg", "__ldlu", "__ldcv"})
_STORES = frozenset({"__stcs", "__stwt", "__stcg", "__stwb"})
_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "bit_cast"})
_COPIES = frozenset({"__pipeline_memcpy_async", "memcpy_async", "memcpy", "__builtin_memcpy"})
_TILES = {"load_matrix_sync": 1, "store_matrix_sync": 0}
_CHOOSE = {"min": terms.minimum, "max": terms.maximum, "umin": terms.minimum, "umax": terms.maximum}
_HARMLESS = re.compile(
    r"__sync\w*|__threadfence\w*|printf|__nanosleep|__trap|__shfl\w*|__reduce\w*|__ballot\w*|__all\w*|__any\w*|__popc|"
    r"__float\w*|__half\w*|__bfloat\w*|__int\w*|__double\w*|__h\w+|__f\w+|__builtin_\w+|make_\w+|f?\w*max\w*|f?\w*min\w*|"
    r"\w*(?:exp|log|sqrt|sin|cos|tan|erf|abs|pow|fma|floor|ceil|round|fmod|isnan|isinf|div|rcp)\w*|__activemask|"
    r"sync|shfl\w*|reduce|ballot|any|all|wait|labeled_partition|clock\w*"
)
_BARRIERS = re.compile(r"__sync(?:threads|warp)\w*|sync|arrive_and_wait|__barrier_sync\w*")
_EXCHANGES = re.compile(r"__shfl\w*|shfl\w*|__reduce_\w*|reduce|inclusive_scan|exclusive_scan")
_VOTES = re.compile(r"__(?:ballot|all|any|match)\w*|ballot|any|all|__activemask")
_DEPTH = 8


@dataclass
class Calls:
    """Reads calls; `statements` runs the body of a function with the expressions that it is given."""

    statements: Callable[[Expressions, Node | None], bool]

    def in_macro(self, at: Expressions, node: Node, use: Callable[[Node], Value]) -> Value | None:
        """What is made of the expression that a macro stands for, where a node is one or a call of one; else None."""
        call = read_call(node) if node.type == "call_expression" else None
        name = call.qualified if call is not None else text_of(node) if node.type == "identifier" else ""
        macro = at.scope.names.macros.get(name) if name not in at.scope.variables else None
        if macro is None or (macro.parameters is None) != (call is None) or not macro.body:
            return None
        arguments = list(call.arguments) if call is not None else []
        return expanded(at, node, macro.body, macro.parameters or (), arguments, use)

    def call(self, at: Expressions, node: Node) -> Value:
        """The value of a call."""
        call = read_call(node)
        function = node.child_by_field_name("function")
        arguments = list(call.arguments)
        if function is None:
            return Opaque()
        if call.receiver:
            return self._member(at, node, arguments)
        if function.type in ("parenthesized_expression", "lambda_expression"):
            called = at.value(function)
            if not isinstance(called, Lambda):
                # `(T)(x)`, which the grammar takes for a call.
                values = [at.value(argument) for argument in arguments]
                return cast(at, node, text_of(function)[1:-1], values[0]) if len(values) == 1 else Opaque()
            return inlined(at, node, called.node, arguments, self.statements, captures=True)
        name, qualified = call.name, call.qualified
        held = at.scope.variables.get(name) if qualified == name else None
        if isinstance(held, Lambda) and at.scope.depth < _DEPTH:
            return inlined(at, node, held.node, arguments, self.statements, captures=True)
        if isinstance(held, Record):
            value = self.method(at, node, held, "operator()", arguments)
            return value or Opaque()
        if name in _CASTS and arguments:
            return cast(at, node, call.template, at.value(arguments[0]))
        if (
            function.type == "primitive_type"
            or name in DTYPES
            or vector_of(name) is not None
            or name == "dim3"
        ):
            return self._constructed(at, node, name, arguments)
        macro = at.scope.names.macros.get(name)
        if macro is not None and macro.parameters is not None:
            return expanded(at, node, macro.body, macro.parameters, arguments)
        if name in at.scope.names.functions and name not in _LOADS | _STORES and at.scope.depth < _DEPTH:
            fitting = [f for f in at.scope.names.functions[name] if takes(f, len(arguments))]
            if len(fitting) == 1:
                return inlined(at, node, fitting[0], arguments, self.statements, template=call.template)
        if struct_of(at.scope, qualified + (f"<{call.template}>" if call.template else "")) is not None:
            return self._constructed(at, node, text_of(function), arguments)
        owner = qualified.rpartition("::")[0]
        if owner and (instance := struct_of(at.scope, owner)) is not None and name in instance[0].methods:
            fitting = [f for f in instance[0].methods[name] if takes(f, len(arguments))]
            if len(fitting) == 1 and at.scope.depth < _DEPTH:
                with within(at, *instance):
                    return inlined(at, node, fitting[0], arguments, self.statements, captures=True)
        return _intrinsic(at, node, name, call.template, arguments)

    def _constructed(self, at: Expressions, node: Node, name: str, arguments: list[Node]) -> Value:
        """`float(x)`, `int2(a, b)` or `S(a)`."""
        values = [at.value(argument) for argument in arguments]
        if (
            len(values) == 1
            and vector_of(name) is None
            and name != "dim3"
            and struct_of(at.scope, name) is None
        ):
            return cast(at, node, name, values[0])
        return aggregate(at, name, values)

    def method(
        self, at: Expressions, node: Node, receiver: Value, name: str, arguments: list[Node]
    ) -> Value | None:
        """What a struct's own function gives; None where it has none of that name."""
        if not isinstance(receiver, Record) or at.scope.depth >= _DEPTH:
            return None
        instance = struct_of(at.scope, receiver.type)
        methods = instance[0].methods.get(name, []) if instance is not None else []
        fitting = [f for f in methods if takes(f, len(arguments))]
        if instance is None or not fitting:
            return None
        with within(at, *instance):
            bound = dict(at.scope.variables) | dict(receiver.members)
            return inlined(at, node, fitting[0], arguments, self.statements, members=bound)

    def _member(self, at: Expressions, node: Node, arguments: list[Node]) -> Value:
        """A method: of a cooperative group, of a struct, or of something that is not seen."""
        function = node.child_by_field_name("function")
        owner = function.child_by_field_name("argument") if function is not None else None
        receiver = at.value(owner) if owner is not None else Opaque()
        name = read_call(node).name
        if isinstance(receiver, Record):
            held = receiver.members.get(name)
            outcome = self.method(at, node, receiver, name, arguments)
            if outcome is not None:
                return outcome
            if held is not None:
                return Opaque()
        values = [at.value(argument) for argument in arguments]
        _noted(at, name)
        if isinstance(receiver, Symbol):
            numbers = [as_integer(at, value) for value in values]
            listed = ", ".join(str(n.term) if n is not None else "…" for n in numbers)
            return Symbol(f"{receiver.path}.{name}({listed})") if None not in numbers else Opaque()
        _check_addresses(at, node, name, values)
        if isinstance(receiver, Group):
            return _of_group(at, node, receiver, name)
        return Opaque(f"`{shown(node)}` on line {at.scope.line(node)}")


def _noted(at: Expressions, name: str) -> None:
    """Remember a barrier, an exchange or a vote."""
    for kind, pattern in (("barrier", _BARRIERS), ("exchange", _EXCHANGES), ("vote", _VOTES)):
        if pattern.fullmatch(name):
            at.scope.event(kind, name)
            return


def _intrinsic(at: Expressions, node: Node, name: str, template: str, arguments: list[Node]) -> Value:
    _noted(at, name)
    if name in _LOADS | _STORES and arguments:
        place = at.value(arguments[0])
        for argument in arguments[1:]:
            at.value(argument)
        if not isinstance(place, Pointer):
            at.scope.problem(node, f"`{shown(node)}`: {why(place)}")
            return Opaque()
        if name in _LOADS:
            return loaded(at, node, place, name)
        at.scope.access(node, place, writes=True, via=name)
        return Opaque()
    if name.startswith("atomic") and arguments:
        return _atomic(at, node, name, arguments)
    if name in _COPIES and len(arguments) >= 2:
        return _copied(at, node, name, arguments)
    if name in _TILES and len(arguments) >= 2:
        place = at.value(arguments[_TILES[name]])
        for argument in arguments[2:]:
            at.value(argument)
        at.scope.event("matrix", name)
        if isinstance(place, Pointer):
            at.scope.access(node, place, reads=name.startswith("load"), writes=name.startswith("store"),
                            via=name, why="a warp's threads share a tile as the hardware does")  # fmt: skip
        return Opaque()
    if name == "assert" and arguments:
        at.scope.path = (*at.scope.path, at.truth(arguments[0]))
        return Opaque()
    if re.fullmatch(r"make_(\w+[1-4]|dim3)", name):
        return aggregate(at, name[5:], [at.value(argument) for argument in arguments])
    values = [at.value(argument) for argument in arguments]
    numbers = [as_integer(at, value) for value in values]
    match name, numbers:
        case (("min" | "max" | "umin" | "umax"), [Int() as a, Int() as b]):
            return Int(_CHOOSE[name](a.term, b.term), common(a.type, b.type), a.arithmetic | b.arithmetic)
        case "abs", [Int() as a]:
            return Int(terms.maximum(a.term, terms.sub(Num(0), a.term)), a.type, a.arithmetic)
        case ("this_thread_block", []):
            return Group(None)
        case ("this_grid", []):
            return Group(None, grid=True)
        case "tiled_partition", _ if values and isinstance(values[0], Group):
            size = at.scope.names.snippets.expression(template) if template else None
            extent = at.integer(size) if size is not None else numbers[1] if len(values) > 1 else None
            return (
                Group(extent.term) if isinstance(extent, Int) else Opaque("a group whose size is not known")
            )
        case "__umul24" | "__mul24", [Int() as a, Int() as b]:
            return operated(at.scope.site(node), "*", a, b)
    _check_addresses(at, node, name, values)
    reason = f"the result of `{shown(node)}` on line {at.scope.line(node)}"
    return _result(at, name, numbers, reason)


def _check_addresses(at: Expressions, node: Node, name: str, values: list[Value]) -> None:
    """Note that a function which is not seen may touch memory."""
    touches = any(isinstance(value, Pointer) and value.space != "local" for value in values)
    if touches and not _HARMLESS.fullmatch(name):
        at.scope.problem(node, f"`{shown(node)}`: `{name}` is given an address and is not modelled")


def _result(at: Expressions, name: str, numbers: list[Int | None], reason: str) -> Value:
    """What a function gives whose definition is not seen: by its arguments, unless threads exchange values in it."""
    if _EXCHANGES.fullmatch(name):
        lane = numbers[2] if len(numbers) > 2 and name in ("__shfl_sync", "__shfl") else None
        if lane is None or not isinstance(lane.term, Num) or numbers[1] is None:
            return Opaque(reason)
        return unknown(at.scope.model, name, numbers[1].type, reason, ())
    whole = [n.term for n in numbers if n is not None]
    if numbers and len(whole) == len(numbers) and not _VOTES.fullmatch(name):
        return unknown(at.scope.model, name, INT32, reason, tuple(whole))
    return Opaque(reason)


def _atomic(at: Expressions, node: Node, name: str, arguments: list[Node]) -> Value:
    place = at.value(arguments[0])
    for argument in arguments[1:]:
        at.value(argument)
    if isinstance(place, Pointer):
        at.scope.access(node, place, reads=True, writes=True, atomic=True, via=name)
        return unknown(
            at.scope.model, name, INT32, f"the result of `{shown(node)}` on line {at.scope.line(node)}"
        )
    at.scope.problem(node, f"`{shown(node)}`: {why(place)}")
    return Opaque()


def _copied(at: Expressions, node: Node, name: str, arguments: list[Node]) -> Value:
    """`memcpy(to, from, n)` and the asynchronous ones, of a number of bytes for each thread or for a group."""
    values = [at.value(argument) for argument in arguments]
    at.scope.event("copy", name)
    grouped = isinstance(values[0], Group)
    to, source, *rest = values[1:] if grouped else values
    count = as_integer(at, rest[0]) if rest else None
    nbytes = count.term.value if count is not None and isinstance(count.term, Num) else 0
    for place, writes in ((source, False), (to, True)):
        if isinstance(place, Pointer):
            exact = nbytes and not grouped
            at.scope.access(node, at.scope.sized(place, nbytes) if exact else place, reads=not writes,
                            writes=writes, via=name,
                            why="" if exact else "how a group shares a copy is not modelled")  # fmt: skip
        elif not isinstance(place, Pointer) and why(place):
            at.scope.problem(node, f"`{shown(node)}`: {why(place)}")
    return Opaque()


def _of_group(at: Expressions, node: Node, group: Group, method: str) -> Value:
    rank, threads = linear_thread(at.scope.setting.launch.block)
    size = group.size if group.size is not None else threads
    if group.grid:
        launch = at.scope.setting.launch
        blocks = [
            Num(0) if e == Num(1) else Var(f"blockIdx.{a}") for a, e in zip("xyz", launch.grid, strict=True)
        ]
        first = terms.add(
            blocks[0], terms.mul(launch.grid[0], terms.add(blocks[1], terms.mul(launch.grid[1], blocks[2])))
        )
        count: Term = terms.mul(launch.grid[0], terms.mul(launch.grid[1], launch.grid[2]))
        rank, size = terms.add(rank, terms.mul(first, threads)), terms.mul(threads, count)
    match method:
        case "thread_rank":
            return Int(terms.mod(rank, size) if group.size is not None else rank, UINT32)
        case "size" | "num_threads":
            return Int(size, UINT32)
        case "meta_group_rank":
            return Int(terms.floor_div(rank, size), UINT32)
        case "meta_group_size":
            return Int(terms.ceil_div(threads, size), UINT32)
        case "group_index" | "thread_index" | "dim_threads" | "group_dim":
            builtin = {"group_index": "blockIdx", "thread_index": "threadIdx"}.get(method, "blockDim")
            return Record("dim3", {axis: at.builtin(builtin, axis) for axis in "xyz"})
    return Opaque(f"`{shown(node)}` on line {at.scope.line(node)}")


def substituted_text(body: str, parameters: tuple[str, ...], arguments: list[Node]) -> str:
    """A macro's body with its arguments."""
    texts = list(map(text_of, arguments))
    bindings = dict(zip(parameters, texts, strict=False))
    if parameters and parameters[-1].endswith("..."):
        bindings["__VA_ARGS__"] = ", ".join(texts[len(parameters) - 1 :])
    text = re.sub(r"(?<!#)#\s*([A-Za-z_]\w*)", '""', body)
    text = with_meanings(text, bindings)
    return re.sub(r"\s*##\s*", "", text)


def expanded(
    at: Expressions,
    node: Node,
    body: str,
    parameters: tuple[str, ...],
    arguments: list[Node],
    use: Callable[[Node], Value] | None = None,
) -> Value:
    """A macro as the expression that it stands for: its value, or what `use` makes of the expression."""
    expression = at.scope.names.snippets.expression(substituted_text(body, parameters, arguments))
    if expression is None or at.scope.depth >= _DEPTH:
        at.scope.problem(node, f"the macro `{shown(node)}` is no expression")
        return Opaque()
    scope, inner = at.scope, bare(expression)
    before = scope.at_line, scope.stands_for
    scope.stands_for = (inner.id if inner is not None else -1, scope.called_at(node))
    scope.at_line = scope.line(node)
    scope.depth += 1
    try:
        return at.value(expression) if use is None else use(expression)
    finally:
        scope.at_line, scope.stands_for = before
        scope.depth -= 1
