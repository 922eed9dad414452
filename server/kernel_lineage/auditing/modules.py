"""A module's Python, worked out statement by statement without running it: no import, no call but those listed here.

`Model.forward` over NumPy is the reference. `ModelNew.forward` is the submission: where it launches a kernel, `launch`
does. What is not understood raises `NotEvaluableError` with its line; nothing is guessed.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernel_lineage.auditing.module_library import bound_names, imported, library_call, read_again
from kernel_lineage.auditing.module_values import (
    BINARY,
    BUILTINS,
    COMPARED,
    MOST_STEPS,
    Dotted,
    Extension,
    Function,
    HostFunction,
    Instance,
    JitKernel,
    Launch,
    Launchable,
)
from kernel_lineage.auditing.tensors import DTypeName, NotEvaluableError, Tensor, dtype_of
from kernel_lineage.auditing.torch_values import Layer, Torch


class _Returned(Exception):  # noqa: N818 - control flow
    def __init__(self, value: Any) -> None:
        self.value = value


class ModuleText:
    """The names of one module. `sizes` replaces whole numbers that it names at its top level."""

    def __init__(
        self,
        text: str,
        torch: Torch,
        launch: Launch | None = None,
        host: Callable[[Extension, str, Sequence[Any]], Any] | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        self.torch, self._launch, self._host = torch, launch, host
        self._steps = 0
        self.names: dict[str, Any] = {}
        self._late: dict[str, NotEvaluableError] = {}
        for statement in ast.parse(text).body:
            if isinstance(
                statement, ast.If
            ):  # `if __name__ == "__main__":` and the like are not the module's names
                continue
            try:
                self._block([statement], self.names)
            except NotEvaluableError as error:
                self._late |= dict.fromkeys(bound_names(statement), error)
            self.names |= {k: v for k, v in (sizes or {}).items() if k in self.names}

    def call(self, name: str, *args: Any) -> Any:
        """Call a function of the module."""
        return self._call(self._name(name, {}), args, {})

    def build(self, name: str, *args: Any) -> Instance:
        """An object of a class of the module."""
        made = self._call(self._name(name, {}), args, {})
        if not isinstance(made, Instance):
            raise NotEvaluableError(f"{name} is no class of the module")
        return made

    def forward(self, model: Instance, *args: Any) -> Any:
        """What a model gives for inputs."""
        return self._call(self._attribute(model, "forward"), args, {})

    # Statements.

    def _block(self, body: Sequence[ast.stmt], scope: dict[str, Any]) -> None:
        for statement in body:
            try:
                self._statement(statement, scope)
            except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
                # A call that Python would refuse, or an argument that has no meaning without torch.
                raise NotEvaluableError(f"line {statement.lineno}: {error}") from error

    def _statement(self, node: ast.stmt, scope: dict[str, Any]) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise NotEvaluableError(f"line {node.lineno}: more than {MOST_STEPS} steps")
        match node:
            case ast.Import() | ast.ImportFrom():
                imported(node, scope)
            case ast.FunctionDef():
                scope[node.name] = self._decorated(node, scope)
            case ast.ClassDef():
                scope[node.name] = node
            case ast.Assign():
                value = self._value(node.value, scope)
                for target in node.targets:
                    self._assign(target, value, scope)
            case ast.AnnAssign():
                if node.value is not None:
                    self._assign(node.target, self._value(node.value, scope), scope)
            case ast.AugAssign():
                old = self._value(read_again(node.target), scope)
                self._assign(
                    node.target, self._binary(node.op, old, self._value(node.value, scope), node), scope
                )
            case ast.Expr():
                if not isinstance(node.value, ast.Constant):
                    self._value(node.value, scope)
            case ast.Return():
                raise _Returned(None if node.value is None else self._value(node.value, scope))
            case ast.If():
                self._block(node.body if self._value(node.test, scope) else node.orelse, scope)
            case ast.For():
                for item in self._value(node.iter, scope):
                    self._assign(node.target, item, scope)
                    self._block(node.body, scope)
            case ast.While():
                while self._value(node.test, scope):
                    self._steps += 1
                    if self._steps > MOST_STEPS:
                        raise NotEvaluableError(f"line {node.lineno}: more than {MOST_STEPS} steps")
                    self._block(node.body, scope)
            case ast.Raise():
                raise NotEvaluableError(f"line {node.lineno}: it raises {ast.unparse(node)[6:60]}")
            case ast.With():
                self._block(node.body, scope)
            case ast.Assert() | ast.Pass() | ast.Delete():
                pass
            case _:
                raise NotEvaluableError(f"line {node.lineno}: a statement `{type(node).__name__.lower()}`")

    def _decorated(self, node: ast.FunctionDef, scope: dict[str, Any]) -> Any:
        names = [ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list]
        if not any(name.rpartition(".")[2] == "jit" for name in names):
            return Function(node, scope)
        fixed: dict[str, Any] = {}
        for decorator, name in zip(node.decorator_list, names, strict=True):
            if name.rpartition(".")[2] == "autotune" and isinstance(decorator, ast.Call):
                configs = (
                    next((k.value for k in decorator.keywords if k.arg == "configs"), None)
                    or decorator.args[0]
                )
                fixed |= self._value(configs, scope)[0]
            elif name.rpartition(".")[2] == "heuristics":
                raise NotEvaluableError(f"line {node.lineno}: triton.heuristics")
        return JitKernel(node.name, fixed)

    def _assign(self, target: ast.expr, value: Any, scope: dict[str, Any]) -> None:
        match target:
            case ast.Name():
                scope[target.id] = value
            case ast.Tuple() | ast.List():
                items = list(value)
                if len(items) != len(target.elts):
                    raise NotEvaluableError(
                        f"line {target.lineno}: {len(items)} values for {len(target.elts)} names"
                    )
                for element, item in zip(target.elts, items, strict=True):
                    self._assign(element, item, scope)
            case ast.Attribute():
                owner = self._value(target.value, scope)
                if not isinstance(owner, Instance):
                    raise NotEvaluableError(
                        f"line {target.lineno}: an attribute of something else than the model"
                    )
                owner.values[target.attr] = value
            case ast.Subscript():
                owner = self._value(target.value, scope)
                index = self._index(target.slice, scope)
                if isinstance(owner, Tensor):
                    owner.values[index] = value.values if isinstance(value, Tensor) else value
                else:
                    owner[index] = value
            case _:
                raise NotEvaluableError(f"line {target.lineno}: an assignment to `{ast.unparse(target)}`")

    # Expressions.

    def _name(self, name: str, scope: Mapping[str, Any]) -> Any:
        for names in (scope, self.names):
            if name in names:
                return names[name]
        if name in self._late:
            raise self._late[name]
        if name in BUILTINS:
            return BUILTINS[name]
        raise NotEvaluableError(f"the name {name}")

    def _value(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node.id, scope)
            case ast.Tuple():
                return tuple(self._items(node.elts, scope))
            case ast.List():
                return self._items(node.elts, scope)
            case ast.Dict():
                return {
                    self._value(k, scope): self._value(v, scope)
                    for k, v in zip(node.keys, node.values, strict=True)
                    if k is not None
                }
            case ast.JoinedStr():
                return ""
            case ast.Lambda():
                return Function(node, scope)
            case ast.Attribute():
                return self._attribute(self._value(node.value, scope), node.attr)
            case ast.BinOp():
                return self._binary(
                    node.op, self._value(node.left, scope), self._value(node.right, scope), node
                )
            case ast.UnaryOp():
                value = self._value(node.operand, scope)
                if isinstance(node.op, ast.Not):
                    return not value
                if isinstance(node.op, ast.USub):
                    return self.torch.operate("neg", (value,), {}) if isinstance(value, Tensor) else -value
                return value
            case ast.BoolOp():
                value = None
                for part in node.values:
                    value = self._value(part, scope)
                    if bool(value) is isinstance(node.op, ast.Or):
                        break
                return value
            case ast.Compare():
                return self._compared(node, scope)
            case ast.IfExp():
                return self._value(node.body if self._value(node.test, scope) else node.orelse, scope)
            case ast.Subscript():
                return self._subscript(node, scope)
            case ast.Call():
                return self._called(node, scope)
            case ast.ListComp() | ast.GeneratorExp() if len(node.generators) == 1:
                return self._listed(node, scope)
            case _:
                raise NotEvaluableError(f"line {node.lineno}: `{ast.unparse(node)[:60]}`")

    def _items(self, nodes: Sequence[ast.expr], scope: dict[str, Any]) -> list[Any]:
        made: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                made += list(self._value(node.value, scope))
            else:
                made.append(self._value(node, scope))
        return made

    def _listed(self, node: ast.ListComp | ast.GeneratorExp, scope: dict[str, Any]) -> list[Any]:
        (loop,), inner, made = node.generators, dict(scope), []
        for item in self._value(loop.iter, scope):
            self._assign(loop.target, item, inner)
            if all(self._value(test, inner) for test in loop.ifs):
                made.append(self._value(node.elt, inner))
        return made

    def _compared(self, node: ast.Compare, scope: dict[str, Any]) -> Any:
        left = self._value(node.left, scope)
        for kind, other in zip(node.ops, node.comparators, strict=True):
            right = self._value(other, scope)
            bare = [v.values if isinstance(v, Tensor) else v for v in (left, right)]
            held = COMPARED[type(kind)](*bare)
            if isinstance(left, Tensor) or isinstance(right, Tensor):
                return self.torch.tensor(held, "bool")
            if not held:
                return False
            left = right
        return True

    def _binary(self, kind: ast.operator, left: Any, right: Any, node: ast.AST) -> Any:
        plain, name = BINARY.get(type(kind), (None, ""))
        if plain is None:
            raise NotEvaluableError(f"line {getattr(node, 'lineno', '?')}: an operator")
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            return self.torch.operate(name, (left, right), {})
        try:
            return plain(left, right)
        except (TypeError, ZeroDivisionError) as error:
            raise NotEvaluableError(f"line {getattr(node, 'lineno', '?')}: {error}") from error

    def _index(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        if isinstance(node, ast.Slice):
            return slice(
                *(None if n is None else self._value(n, scope) for n in (node.lower, node.upper, node.step))
            )
        if isinstance(node, ast.Tuple):
            return tuple(self._index(n, scope) for n in node.elts)
        value = self._value(node, scope)
        return value.values if isinstance(value, Tensor) else value

    def _subscript(self, node: ast.Subscript, scope: dict[str, Any]) -> Any:
        owner = self._value(node.value, scope)
        if isinstance(owner, JitKernel):
            return Launchable(owner, self._value(node.slice, scope))
        index = self._index(node.slice, scope)
        try:
            if isinstance(owner, Tensor):
                return Tensor(owner.values[index], owner.dtype)
            return owner[index]
        except (IndexError, KeyError, TypeError) as error:
            raise NotEvaluableError(f"line {node.lineno}: {ast.unparse(node)[:60]}: {error}") from error

    def _attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, Dotted):
            dotted = f"{owner.name}.{name}"
            if owner.name == "torch" and dtype_of(name) is not None:
                return DTypeName(str(dtype_of(name)))
            if dotted in ("math.pi", "math.inf", "math.e"):
                return getattr(math, name)
            return Dotted(dotted)
        if isinstance(owner, Tensor):
            if name in ("shape", "ndim"):
                return owner.shape if name == "shape" else owner.values.ndim
            facts = {
                "dtype": DTypeName(owner.dtype),
                "device": Dotted("device"),
                "is_cuda": True,
                "data": owner,
            }
            if name in facts:
                return facts[name]
            return self.torch.operate("t", (owner,), {}) if name == "T" else self.torch.method(owner, name)
        if isinstance(owner, Layer):
            if name not in owner.parameters:
                raise NotEvaluableError(f"the attribute .{name} of a layer")
            return owner.parameters[name]
        if isinstance(owner, Extension):
            return HostFunction(owner, name)
        if isinstance(owner, Instance):
            if name in owner.values:
                return owner.values[name]
            methods = (n for n in owner.of.body if isinstance(n, ast.FunctionDef) and n.name == name)
            if (method := next(methods, None)) is not None:
                return Function(method, self.names, owner)
            if name == "register_buffer":
                return lambda key, value, **_k: owner.values.__setitem__(key, value)
            if name in ("eval", "cuda", "to", "half"):
                return lambda *_a, **_k: owner
        if isinstance(owner, int) and name == "bit_length":
            return owner.bit_length
        if isinstance(owner, dict | list | tuple | str) and name in (
            "get",
            "items",
            "append",
            "keys",
            "values",
            "numel",
        ):
            return (lambda: math.prod(owner)) if name == "numel" else getattr(owner, name)
        if isinstance(owner, DTypeName):
            return Dotted(f"dtype.{name}")
        raise NotEvaluableError(f"the attribute .{name} of {type(owner).__name__}")

    def _called(self, node: ast.Call, scope: dict[str, Any]) -> Any:
        if isinstance(node.func, ast.Call) and ast.unparse(node.func.func) == "super":
            return None
        if ast.unparse(node.func).startswith("super("):
            return None
        function = self._value(node.func, scope)
        kwargs = {k.arg: self._value(k.value, scope) for k in node.keywords if k.arg is not None}
        try:
            return self._call(function, self._items(node.args, scope), kwargs)
        except NotEvaluableError as error:
            said = str(error)
            raise type(error)(said if "line " in said else f"line {node.lineno}: {said}") from error

    def _call(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if isinstance(function, Function):
            return self._inner(function, args, kwargs)
        if isinstance(function, Launchable):
            if self._launch is None:
                raise NotEvaluableError("a kernel is launched")
            grid = function.grid
            meta = {**function.kernel.fixed, **kwargs}
            grid = self._call(grid, [meta], {}) if isinstance(grid, Function) else grid
            return self._launch(
                function.kernel, grid if isinstance(grid, tuple | list) else (grid,), args, meta
            )
        if isinstance(function, HostFunction):
            if self._host is None:
                raise NotEvaluableError("a host function of an extension is called")
            return self._host(function.extension, function.name, args)
        if isinstance(function, ast.ClassDef):
            made = Instance(function)
            init = next(
                (n for n in function.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None
            )
            if init is not None:
                self._inner(Function(init, self.names, made), args, kwargs)
            return made
        if isinstance(function, Layer):
            return function.call(*args, **kwargs)
        if isinstance(function, Instance):
            return self.forward(function, *args)
        if isinstance(function, Dotted):
            return library_call(self.torch, function.name, args, kwargs)
        if not callable(function):
            raise NotEvaluableError(f"a call of {type(function).__name__}")
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError, IndexError, KeyError) as error:
            raise NotEvaluableError(str(error)) from error

    def _inner(self, function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        node, scope = function.node, dict(function.scope) if function.scope is not self.names else {}
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        given = [function.bound, *args] if function.bound is not None else list(args)
        late = node.args.defaults
        for name, default in zip(names[len(names) - len(late) :], late, strict=True):
            scope[name] = self._value(default, scope)
        for only, standard in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if standard is not None:
                scope[only.arg] = self._value(standard, scope)
        scope |= dict(zip(names, given, strict=False))
        if node.args.vararg is not None:
            scope[node.args.vararg.arg] = tuple(given[len(names) :])
        scope |= kwargs
        if isinstance(node, ast.Lambda):
            return self._value(node.body, scope)
        try:
            self._block(node.body, scope)
        except _Returned as returned:
            return returned.value
        return None
