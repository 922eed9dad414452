"""Reading the host code of a Triton kernel as far as its launch, with sizes as symbols.

Functions of the repository are followed; a condition is decided by the sizes that the dims have; where it cannot be,
what both branches agree on is kept. Whatever is not understood is an `Unknown` that says which expression it was.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from kernel_gate.expressions import Number
from kernel_lineage.rewrite.drafting.triton.modules import HostModule, Modules
from kernel_lineage.rewrite.drafting.triton.objects import Class, Function, Instance, Names, Reached, Stopped
from kernel_lineage.rewrite.drafting.triton.operations import (
    arithmetic,
    builtin_function,
    compare,
    external_name,
    unpacked,
)
from kernel_lineage.rewrite.drafting.triton.torch_calls import attribute, dtype_named, method, torch_function
from kernel_lineage.rewrite.drafting.triton.values import (
    Dtype,
    External,
    Open,
    Size,
    Tensor,
    Unknown,
    is_number,
    size_of,
    tree_of,
    value_at,
)

_DEPTH = 12
_STEPS = 20_000
_SAME_TENSOR = frozenset({"contiguous", "clone", "detach", "cuda", "requires_grad_"})
_WITHOUT_SHAPE = frozenset({"stride", "dtype", "device", "is_contiguous", "is_cuda", "element_size"})
_SAME_OBJECT = frozenset({"to", "cuda", "half", "bfloat16", "float", "eval", "train", "requires_grad_"})


class _Returned(Exception):  # noqa: N818
    def __init__(self, value: object) -> None:
        super().__init__("return")
        self.value = value


@dataclass(slots=True)
class Reader:
    """One way through the host code."""

    modules: Modules
    target: ast.Call
    """The launch."""
    sizes: dict[str, Number]
    """Dims and their sizes; conditions are decided by them."""
    tensor_of: Callable[[str, bool], Tensor | None]
    """What a parameter is of which the caller is not known, and whether its shape is asked for; None for no tensor."""
    extents_are_dims: bool = False
    """Whether numbers in shapes become dims, as in tests, where they are examples of sizes."""
    called_as: dict[str, str] = field(default_factory=dict)
    """Dim made of a number → the first name that the code gives it."""
    decided: list[str] = field(default_factory=list)
    perhaps: list[list[object]] = field(default_factory=list)
    """For each function that is being read: what it returns where a condition is not known."""
    applied: list[tuple[Instance, object]] = field(default_factory=list)
    """For each autograd function that was applied: its context, and what it gave."""
    steps: int = 0
    depth: int = 0

    def run(self, function: ast.FunctionDef, module: HostModule, names: Names) -> object:
        """What a function returns. Raises `Reached` at the launch."""
        if self.depth >= _DEPTH:
            return Unknown(f"{function.name}(…)")
        self.depth += 1
        self.perhaps.append([])
        try:
            self._block(function.body, module, names)
            self.perhaps[-1].append(None)
        except _Returned as returned:
            self.perhaps[-1].append(returned.value)
        except Stopped:
            if not self.perhaps[-1]:
                raise
        finally:
            self.depth -= 1
            ends = self.perhaps.pop()
        return ends[0] if all(e == ends[0] for e in ends) else Unknown(f"{function.name}(…)")

    def backward(self) -> None:
        """What autograd does behind a test that calls `backward`: gradients have the shapes of what was given."""
        for context, result in reversed(self.applied):
            function = context.of.module.functions.get(f"{context.of.name}.backward")
            if function is not None:
                given = [context, *(result if isinstance(result, tuple) else (result,))]
                names = bound(function.args, given, {}, self, context.of.module)
                try:
                    self.run(function, context.of.module, names)
                except Stopped:
                    continue

    def _block(self, body: list[ast.stmt], module: HostModule, names: Names) -> None:
        for statement in body:
            self.steps += 1
            if self.steps > _STEPS:
                raise Stopped("too many steps")
            self._statement(statement, module, names)

    def _statement(self, statement: ast.stmt, module: HostModule, names: Names) -> None:
        match statement:
            case ast.Assign(targets=targets, value=value):
                found = self.evaluate(value, module, names)
                for target in targets:
                    self._assign(target, found, names, module)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self.evaluate(value, module, names), names, module)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                whole = ast.BinOp(ast.Name(name, ast.Load()), op, value)
                self._assign(target, self.evaluate(whole, module, names), names, module)
            case ast.Expr(value=value):
                self.evaluate(value, module, names)
            case ast.Assert(test=test):
                self.evaluate(test, module, names)
            case ast.Return(value=value):
                raise _Returned(self.evaluate(value, module, names) if value is not None else None)
            case ast.Raise():
                raise Stopped("raises")
            case ast.If():
                self._if(statement, module, names)
            case ast.For(target=target, iter=iterated, body=body):
                over = self.evaluate(iterated, module, names)
                first = over[0] if isinstance(over, (tuple, list, range)) and over else Unknown("a loop")
                self._assign(target, first, names, module)
                self._block(body, module, names)
            case ast.While(body=body) | ast.With(body=body):
                self._block(body, module, names)
            case ast.Try(body=body, finalbody=final):
                self._block([*body, *final], module, names)
            case ast.FunctionDef(name=name):
                names[name] = Function(statement, module, names)

    def _if(self, statement: ast.If, module: HostModule, names: Names) -> None:
        holds = self.truth(self.evaluate(statement.test, module, names))
        branches = (statement.body, statement.orelse)
        at_launch = [any(n is self.target for s in b for n in ast.walk(s)) for b in branches]
        if any(at_launch):
            if holds is None or not at_launch[0 if holds else 1]:
                self.decided.append(f"launched where `{ast.unparse(statement.test)}` is {at_launch[0]}")
            holds = at_launch[0]
        if holds is not None:
            self._block(branches[0] if holds else branches[1], module, names)
            return
        ends: list[Names] = []
        for branch in branches:
            inner = dict(names)
            try:
                self._block(branch, module, inner)
                ends.append(inner)
            except Stopped:
                continue
            except _Returned as returned:
                self.perhaps[-1].append(returned.value)
        if not ends:
            raise Stopped("every branch ends")
        why = Unknown(f"`{ast.unparse(statement.test)}`")
        merged = ends[0]
        for other in ends[1:]:
            for name in {*merged, *other}:
                if merged.get(name, why) != other.get(name, why):
                    merged[name] = why
        names.update(merged)

    def _assign(self, target: ast.expr, value: object, names: Names, module: HostModule) -> None:
        match target:
            case ast.Name(id=name):
                if isinstance(value, Tensor) and not value.name:
                    value = replace(value, name=name)
                if isinstance(value, Size) and name.isidentifier():
                    self.called_as.setdefault(value.text, name)
                names[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part, found in zip(parts, unpacked(value, parts), strict=True):
                    inner = part.value if isinstance(part, ast.Starred) else part
                    self._assign(inner, found, names, module)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if isinstance(names.get(name), Instance):
                held = names[name]
                if isinstance(held, Instance):
                    held.attributes[attr] = value
                    if isinstance(value, Tensor) and not value.name:
                        held.attributes[attr] = replace(value, name=attr)
            case ast.Subscript(value=ast.Name(id=name), slice=key):
                held, at = names.get(name), self.evaluate(key, module, names)
                if isinstance(held, dict) and isinstance(at, (str, int)):
                    names[name] = {**held, at: value}

    def truth(self, value: object) -> bool | None:
        """Whether a value is true; None when that is not known."""
        if isinstance(value, Size):
            number = value_at(value, self.sizes)
            return None if number is None else bool(number)
        if isinstance(value, (Open, Unknown, External)):
            return None
        return bool(value) if not isinstance(value, (Tensor, Dtype, Function)) else True

    def evaluate(self, node: ast.expr, module: HostModule, names: Names) -> object:
        """What an expression stands for."""
        match node:
            case ast.Constant(value=constant):
                return constant
            case ast.Name(id=name):
                return names[name] if name in names else self._global(name, module)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                found = [e for part in parts for e in self._spread(part, module, names)]
                return tuple(found) if isinstance(node, ast.Tuple) else found
            case ast.Dict(keys=keys, values=items):
                pairs = zip(keys, items, strict=True)
                found_keys = [(self.evaluate(k, module, names), v) for k, v in pairs if k is not None]
                told = [(k, v) for k, v in found_keys if isinstance(k, (str, int, Dtype))]
                return {k: self.evaluate(v, module, names) for k, v in told}
            case ast.Attribute(value=value, attr=attr):
                return self._attribute(self.evaluate(value, module, names), attr, node)
            case ast.Subscript(value=value, slice=index):
                return self._item(self.evaluate(value, module, names), index, module, names, node)
            case ast.Call():
                return self._call(node, module, names)
            case ast.BinOp(left=left, op=op, right=right):
                return arithmetic(node, op, *(self.evaluate(e, module, names) for e in (left, right)))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                holds = self.truth(self.evaluate(operand, module, names))
                return Unknown(f"`{ast.unparse(node)}`") if holds is None else not holds
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                number = self.evaluate(operand, module, names)
                return size_of(ast.UnaryOp(ast.USub(), tree_of(number))) if is_number(number) else number
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return compare(
                    node, op, self.evaluate(left, module, names), self.evaluate(right, module, names)
                )
            case ast.BoolOp(op=op, values=values):
                return self._either(isinstance(op, ast.Or), values, module, names)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                holds = self.truth(self.evaluate(test, module, names))
                if holds is None:
                    return Unknown(f"`{ast.unparse(test)}`")
                return self.evaluate(body if holds else orelse, module, names)
            case ast.Lambda():
                return Function(node, module, dict(names))
            case ast.ListComp(elt=element, generators=loops):
                return list(self._comprehended(element, loops, module, dict(names)))
        return Unknown(f"`{ast.unparse(node)}`")

    def _spread(self, part: ast.expr, module: HostModule, names: Names) -> Iterator[object]:
        if not isinstance(part, ast.Starred):
            yield self.evaluate(part, module, names)
            return
        value = self.evaluate(part.value, module, names)
        yield from value if isinstance(value, (tuple, list)) else (Unknown(f"`{ast.unparse(part)}`"),)

    def _comprehended(
        self, element: ast.expr, loops: list[ast.comprehension], module: HostModule, names: Names
    ) -> Iterator[object]:
        if not loops:
            yield self.evaluate(element, module, names)
            return
        over = self.evaluate(loops[0].iter, module, names)
        for item in over if isinstance(over, (tuple, list, range)) else ():
            self._assign(loops[0].target, item, names, module)
            tests = [self.truth(self.evaluate(t, module, names)) for t in loops[0].ifs]
            if all(t is not False for t in tests):
                yield from self._comprehended(element, loops[1:], module, names)

    def _global(self, name: str, module: HostModule) -> object:
        place = self.modules.defining(module, name)
        if place is not None:
            there, inner = place
            if inner in there.functions:
                return Function(there.functions[inner], there)
            if f"{inner}.forward" in there.functions:
                return Class(inner, there)
            if self.depth < _DEPTH:
                self.depth += 1
                try:
                    return self.evaluate(there.values[inner], there, {})
                finally:
                    self.depth -= 1
        base, inner = module.imports.get(name, ("", name))
        dotted = f"{base}.{inner}" if inner and base else base or inner
        return (
            dtype_named(dotted)
            if dotted.startswith(("torch.", "triton.")) and dtype_named(dotted)
            else External(dotted)
        )

    def _attribute(self, value: object, attr: str, node: ast.Attribute) -> object:
        value = self._opened(value, attr)
        if isinstance(value, Instance):
            return value.attributes.get(attr, External(f"{value.of.name}.{attr}"))
        if isinstance(value, Tensor):
            return attribute(value, attr)
        if isinstance(value, External) and (value.name, attr) == ("device", "type"):
            return "cuda"
        if isinstance(value, External):
            return external_name(f"{value.name}.{attr}")
        if attr == "value" and isinstance(value, (int, float)):
            return value
        return Unknown(f"`{ast.unparse(node)}`")

    def _opened(self, value: object, attr: str) -> object:
        """A parameter that is used as a tensor, as that tensor; its shape is asked for where the use needs it."""
        if not isinstance(value, Open):
            return value
        return self.tensor_of(value.name, attr not in _WITHOUT_SHAPE) or value

    def _item(
        self, value: object, index: ast.expr, module: HostModule, names: Names, node: ast.expr
    ) -> object:
        if isinstance(value, (tuple, list)) and isinstance(index, ast.Slice):
            ends = [
                self.evaluate(e, module, names) if e is not None else None for e in (index.lower, index.upper)
            ]
            told = [e for e in ends if e is None or isinstance(e, int)]
            if len(told) == len(ends):
                return value[slice(*told)]
        at = self.evaluate(index, module, names) if not isinstance(index, ast.Slice) else None
        try:
            if isinstance(value, (tuple, list)) and isinstance(at, int):
                return value[at]
            if isinstance(value, dict) and isinstance(at, (str, int, Dtype)):
                return value[at]
        except (IndexError, KeyError):
            pass
        return value if isinstance(value, Unknown) else Unknown(f"`{ast.unparse(node)}`")

    def _either(self, disjunction: bool, values: list[ast.expr], module: HostModule, names: Names) -> object:
        unknown: object = None
        for node in values:
            value = self.evaluate(node, module, names)
            holds = self.truth(value)
            if holds is disjunction:
                return value
            unknown = unknown or (value if holds is None else None)
        if unknown is not None:
            return unknown if isinstance(unknown, Unknown) else Unknown(f"`{ast.unparse(values[0])}`")
        return not disjunction

    def _call(self, node: ast.Call, module: HostModule, names: Names) -> object:
        if node is self.target:
            raise Reached(names, module)
        given = [e for a in node.args for e in self._spread(a, module, names)]
        named = {k.arg: self.evaluate(k.value, module, names) for k in node.keywords if k.arg}
        for keyword in node.keywords:
            more = self.evaluate(keyword.value, module, names) if keyword.arg is None else None
            named.update(
                {k: v for k, v in more.items() if isinstance(k, str)} if isinstance(more, dict) else {}
            )
        if isinstance(node.func, ast.Attribute):
            of = self.evaluate(node.func.value, module, names)
            if isinstance(of, Class) and node.func.attr == "apply":
                forward = Function(of.module.functions[f"{of.name}.forward"], of.module)
                context = Instance(of)
                result = self._enter(forward, [context, *given], named)
                self.applied.append((context, result))
                return result
            if isinstance(of, Instance) and node.func.attr == "save_for_backward":
                of.attributes["saved_tensors"] = tuple(given)
                return None
            if isinstance(of, Instance) and node.func.attr in _SAME_OBJECT:
                return of
            if isinstance(of, Open) and node.func.attr in _SAME_TENSOR:
                return of
            of = self._opened(of, node.func.attr)
            if isinstance(of, Tensor):
                return method(of, node.func.attr, given, named)
        function = self.evaluate(node.func, module, names)
        if isinstance(function, Class):
            made = Instance(function)
            if f"{function.name}.__init__" in function.module.functions:
                self._method(made, "__init__", given, named)
            return made
        if isinstance(function, Instance):
            return self._method(function, "forward", given, named)
        if isinstance(function, Function):
            return self._enter(function, given, named)
        if isinstance(function, External):
            if function.name.endswith("_like"):
                given = [self._opened(g, "shape") for g in given]
            return self._external(function.name, given, named)
        return function if isinstance(function, Unknown) else Unknown(f"`{ast.unparse(node)}`")

    def _method(self, of: Instance, name: str, given: list[object], named: Mapping[str, object]) -> object:
        function = Function(of.of.module.functions[f"{of.of.name}.{name}"], of.of.module)
        return self._enter(function, [of, *given], named)

    def _enter(self, function: Function, given: list[object], named: Mapping[str, object]) -> object:
        names = {**function.around, **bound(function.node.args, given, named, self, function.module)}
        if isinstance(function.node, ast.Lambda):
            return self.evaluate(function.node.body, function.module, names)
        return self.run(function.node, function.module, names)

    def _external(self, name: str, given: list[object], named: Mapping[str, object]) -> object:
        found = builtin_function(name, given, named)
        if not isinstance(found, Unknown):
            return found
        if self.extents_are_dims and self.depth <= 1 and name.startswith("torch."):
            given = [self._example(g) for g in given]
            named = {k: self._example(v) if k == "size" else v for k, v in named.items()}
        return torch_function(name, given, named)

    def example_of(self, extent: int | Size) -> int | Size:
        """An extent, as a dim where a number that was made a dim stands in it."""
        return Size(f"d{extent}") if f"d{extent}" in self.sizes else extent

    def _example(self, value: object) -> object:
        """A number of a test as a dim of its own; the same number is the same dim."""
        if isinstance(value, (tuple, list)):
            return tuple(self._example(v) for v in value)
        if type(value) is int and value > 1:
            name = f"d{value}"
            self.sizes[name] = value
            return Size(name)
        return value


def bound(
    arguments: ast.arguments,
    given: list[object],
    named: Mapping[str, object],
    reader: Reader,
    module: HostModule,
) -> Names:
    """The parameters of a function by what a call gives; one that it does not give has its default, or is open."""
    listed = [*arguments.posonlyargs, *arguments.args]
    defaults: dict[str, ast.expr | None] = dict(
        zip([a.arg for a in listed][len(listed) - len(arguments.defaults) :], arguments.defaults, strict=True)
    )
    defaults.update({a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)})
    names: Names = {}
    for position, argument in enumerate([*listed, *arguments.kwonlyargs]):
        name, default = argument.arg, defaults.get(argument.arg)
        if position < min(len(given), len(listed)):
            names[name] = given[position]
        elif name in named:
            names[name] = named[name]
        elif default is not None:
            names[name] = reader.evaluate(default, module, {})
        else:
            names[name] = Open(name)
    if arguments.vararg is not None:
        names[arguments.vararg.arg] = tuple(given[len(listed) :])
    if arguments.kwarg is not None:
        names[arguments.kwarg.arg] = {k: v for k, v in named.items() if k not in names}
    return names
